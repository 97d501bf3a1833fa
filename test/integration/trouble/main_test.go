package trouble

import (
	"flag"
	"testing"

	"github.com/plimsoll-dev/plimsoll/test/integration/harness"
)

// shared is the cluster of all tests here.
var shared harness.Shared

func TestMain(m *testing.M) {
	flag.Parse()
	// The tests wait most of the time: many side by side cost little. That many fit on a machine of two CPUs.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	shared.Main(m)
}
