package own_test

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

// world adds helpers of these tests to a cluster with a controller.
type world struct{ *horizontaltest.World }

func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	horizontaltest.InWorld(t, func(t *testing.T, w *horizontaltest.World) { test(t, &world{w}) })
}
