package direct

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// shared is the cluster of all tests here. Decisions within the sync period follow from new samples or events.
var shared = harness.Shared{Flags: flags}

var flags = []string{"--resource-metrics-source=auto", "--horizontal-pod-autoscaler-sync-period=60s"}

func TestMain(m *testing.M) { shared.Main(m) }
