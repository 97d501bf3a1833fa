package metric

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// TestExcess: pods request 1000m each; the target is 500m, or half of that.
func TestExcess(t *testing.T) {
	type pod struct {
		readyFor time.Duration
		used     int64
	}
	const second = time.Second
	for name, tt := range map[string]struct {
		why  string
		pods []pod
		want int64
	}{
		"only warm ones": {"nothing is limited", []pod{{time.Hour, 2000}, {45 * second, 2000}}, 0},
		"one that starts": {"600m are its share, as each of the others has",
			[]pod{{time.Hour, 600}, {time.Hour, 600}, {10 * second, 2000}}, 1400},
		"just before it is warm": {"30 s of start and a window are not over", []pod{{time.Hour, 600}, {45*second - 1, 2000}},
			1400},
		"below its share": {"less is less", []pod{{time.Hour, 600}, {10 * second, 100}}, 0},
		"together": {"they share among themselves, too",
			[]pod{{time.Hour, 600}, {10 * second, 100}, {20 * second, 1000}}, 0},
		"others idle":             {"then this one's use is its start", []pod{{time.Hour, 0}, {10 * second, 300}}, 300},
		"all newer than warm":     {"a whole window of use counts", []pod{{20 * second, 2000}, {15 * second, 2000}}, 0},
		"a whole window and less": {"the older ones stand in", []pod{{20 * second, 600}, {5 * second, 2000}}, 1400},
		"the first seconds":       {"500m each, their target", []pod{{5 * second, 2000}, {6 * second, 400}}, 1400},
		"the first seconds, idle": {"less is less", []pod{{5 * second, 100}, {6 * second, 100}}, 0},
		"none":                    {"nothing to limit", nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var all recentTotal
			var young recentPods
			for _, p := range tt.pods {
				all.Used, all.Wanted, all.Pods = all.Used+p.used, all.Wanted+1000, all.Pods+1
				young.Add(p.readyFor, p.used, 1000)
			}
			for _, target := range []source.Target{
				{Type: source.Utilization, Percent: 50}, {Type: source.AverageValue, Milli: 500},
			} {
				if got := young.Excess(arithmetic.Saturate, all, target); got != tt.want {
					t.Errorf("%s, %s: %d, want %d", tt.why, target.Type, got, tt.want)
				}
			}
		})
	}
}
