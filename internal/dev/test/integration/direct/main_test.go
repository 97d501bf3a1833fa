package direct

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// shared is the cluster of all tests here. What happens within the sync period happens because something became known.
var shared = harness.Shared{Flags: flags}

var flags = []string{"--resource-metrics-source=auto", "--horizontal-pod-autoscaler-sync-period=60s"}

func TestMain(m *testing.M) { shared.Main(m) }
