package oracle

import (
	"flag"
	"os"
	"strconv"
	"testing"
	"time"
)

var pastedSteps = flag.Int("pasted-steps", 2000, "how many steps to compare with the HPA's spec in a WorkloadAutoscaler")

// TestPastedSpec compares a WorkloadAutoscaler that has an HPA's spec with upstream's HPA: decisions,
// status and events are equal but where they differ on purpose.
func TestPastedSpec(t *testing.T) {
	tallies := make([]*Tally, shards)
	done.Store(0)
	defer report(time.Tick(10*time.Second), *pastedSteps)()
	t.Run("shards", func(t *testing.T) {
		for i := range tallies {
			tallies[i] = NewTally()
			t.Run(strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				shardPasted(t, tallies[i], uint64(i))
			})
		}
	})
	all := NewTally()
	for _, tally := range tallies {
		all.Add(tally)
	}
	all.PrintPasted(os.Stdout)
	for _, text := range all.Unexplained {
		t.Error(text)
	}
}

func shardPasted(t *testing.T, tally *Tally, number uint64) {
	if *timeline >= 0 {
		if number == 0 {
			RecordAlone(t, *seed, uint64(*timeline)).ComparePasted(t, tally)
		}
		return
	}
	for ; tally.Steps < *pastedSteps/shards && len(tally.Unexplained) < 3; number += shards {
		line := RecordAlone(t, *seed, number)
		odd := line.ComparePasted(t, tally)
		done.Add(int64(len(line.Situations)))
		if odd >= 0 {
			save(t, line, odd)
		}
	}
}

// TestPastedDifferencesAreNoticed: a WorkloadAutoscaler with another spec than the HPA's does differ.
func TestPastedDifferencesAreNoticed(t *testing.T) {
	line, tally := RecordAlone(t, 1, 0), NewTally()
	for _, s := range line.Situations {
		s.Spec.MaxReplicas = 2
	}
	if line.ComparePasted(t, tally) < 0 {
		t.Errorf("no step of %d differs", tally.Steps)
	}
}
