package timing

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// Names of nodes differ in their last digits alone, and so do some UIDs.
func TestPhasesAreSpread(t *testing.T) {
	const period, parts, each = 15 * time.Second, 15, 1000
	for _, form := range []string{"node-%d", "%d.nodes.example.com", "6a5cbbf0-8a1d-4d1e-9d0c-%012d"} {
		counts := [parts]int{}
		for i := range parts * each {
			phase := Phase(fmt.Sprintf(form, i), period)
			if phase < 0 || phase >= period {
				t.Fatalf("a phase of %s", phase)
			}
			counts[phase*parts/period]++
		}
		for part, n := range counts {
			if n < each*85/100 || n > each*115/100 {
				t.Errorf(form+": %d names in part %d of the period, %d would be even", 0, n, part, each)
			}
		}
	}
}

func TestNext(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		period := time.Duration(rapid.Int64Range(1, 1e10).Draw(t, "period"))
		phase := time.Duration(rapid.Int64Range(0, int64(period)-1).Draw(t, "phase"))
		after := noon.Add(time.Duration(rapid.Int64Range(-1e18, 1e12).Draw(t, "after")))
		first := Next(after, phase, period)
		if wait := first.Sub(after); wait < 0 || wait >= period {
			t.Fatalf("a wait of %s in a period of %s", wait, period)
		}
		if at := (time.Duration(first.UnixNano())%period + period) % period; at != phase {
			t.Fatalf("%s into the period, want %s", at, phase)
		}
		if again := Next(first, phase, period); !again.Equal(first) {
			t.Fatalf("from %s to %s", first, again)
		}
		if second := Next(first.Add(1), phase, period); second.Sub(first) != period {
			t.Fatalf("%s apart", second.Sub(first))
		}
	})
}
