package faults

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// shared is the cluster of all tests here. They wait most of the time, so that many side by side cost little. That many
// fit on a machine of two CPUs: some start a cluster of their own, or make answers of megabytes.
var shared = harness.Shared{Parallel: 8}

func TestMain(m *testing.M) { shared.Main(m) }
