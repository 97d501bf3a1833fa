package oracle

import (
	"flag"
	"io"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

var (
	steps     = flag.Int("steps", 3000, "how many steps to compare")
	seed      = flag.Uint64("seed", 1, "the seed of the timelines")
	timeline  = flag.Int("timeline", -1, "compare this one alone")
	attribute = flag.Int("attribute", 20, "attribute the differences of one in so many timelines to divergences")
)

func init() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	// The default handlers slow down by a clock that the bubbles do not share.
	runtime.ErrorHandlers = nil
}

// TestOracle compares Plimsoll with upstream: equal with every divergence off,
// and with them on different only where one of them says so.
func TestOracle(t *testing.T) {
	tally := NewTally()
	for number := uint64(0); tally.Steps < *steps && len(tally.Unexplained) < 10; number++ {
		if *timeline >= 0 {
			number = uint64(*timeline)
		}
		line := Record(t, *seed, number)
		line.Compare(t, tally)
		if number%uint64(*attribute) == 0 || *timeline >= 0 {
			line.Attribute(t, tally)
		}
		if *timeline >= 0 {
			break
		}
	}
	for _, text := range tally.Unexplained {
		t.Error(text)
	}
	tally.Print(os.Stdout)
}
