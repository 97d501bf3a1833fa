package explain

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// shared is the cluster of all tests here. The passes over VerticalPodAutoscalers take seconds, not minutes.
var shared = harness.Shared{
	Definitions: true, Flags: []string{"--recommender-interval=2s", "--updater-interval=2s"},
}

func TestMain(m *testing.M) { shared.Main(m) }
