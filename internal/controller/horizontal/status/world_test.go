package status_test

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

type world = horizontaltest.World

func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	horizontaltest.InWorld(t, test)
}
