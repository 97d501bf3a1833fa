package horizontal_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// sampled returns a queue of that length, measured so long before noon.
func sampled(n int32, ago time.Duration) metric.Reading {
	r := length(n)
	r.At = noon.Add(-ago)
	return r
}

// askedFor returns a queue of that length without a time of measurement, requested some time before noon.
func askedFor(n int32, ago time.Duration) metric.Reading {
	r := length(n)
	r.At, r.Asked = time.Time{}, noon.Add(-ago)
	return r
}

// TestNewerSamples: the target was scaled up to 4 some time before noon. Only the times of samples may prevent scaling
// down.
func TestNewerSamples(t *testing.T) {
	const second, minute = time.Second, time.Minute
	of := func(readings ...metric.Reading) []metric.Reading { return readings }
	for name, tt := range map[string]struct {
		reason   string
		ago      time.Duration
		readings []metric.Reading
		want     int32
		branch   horizontal.Branch
	}{
		"newer": {"it knows of the 4", 15 * second, of(sampled(2, 14*second)), 2, horizontal.BranchMetrics},
		"as old": {"it is what the count was raised on, or older", 15 * second, of(sampled(2, 15*second)), 4,
			horizontal.BranchAwaiting},
		"older": {"of the time before the load came", 15 * second, of(sampled(2, 40*second)), 4,
			horizontal.BranchAwaiting},
		"older, up": {"asking for more is another matter", 15 * second, of(sampled(6, 40*second)), 6,
			horizontal.BranchMetrics},
		"older, and stays": {"nothing to keep", 15 * second, of(sampled(4, 40*second)), 4, horizontal.BranchMetrics},
		"one of two": {"the old one may be the one that needs the 4", 15 * second,
			of(sampled(2, 14*second), sampled(1, 40*second)), 4, horizontal.BranchAwaiting},
		"late times, later on": {"90 s behind, it knows of the 4 after 90 s", 91 * second, of(sampled(2, 90*second)), 2,
			horizontal.BranchMetrics},
		"an hour behind": {"five minutes are enough", 5 * minute, of(sampled(2, time.Hour)), 2,
			horizontal.BranchMetrics},
		"an hour behind, not yet": {"almost", 5*minute - 1, of(sampled(2, time.Hour)), 4, horizontal.BranchAwaiting},
		"no time, asked later":    {"asked for since", 15 * second, of(askedFor(2, 14*second)), 2, horizontal.BranchMetrics},
		"no time, asked before": {"the answer that the count was raised on", 15 * second, of(askedFor(2, 15*second)), 4,
			horizontal.BranchAwaiting},
		"no time at all": {"nothing says that it is old", 15 * second, of(length(2)), 2, horizontal.BranchMetrics},
		"one fails": {"that is a failure, as upstream", 15 * second, of(broken(), sampled(2, 40*second)), 4,
			horizontal.BranchFailed},
		"clock set back": {"that was in an hour", -time.Hour, of(sampled(2, 0)), 2, horizontal.BranchMetrics},
	} {
		t.Run(name, func(t *testing.T) {
			for _, on := range []bool{true, false} {
				p := policy(1, 100)
				p.DownscaleStabilization = 0
				want, branch := tt.want, tt.branch
				if !on {
					p.Divergences &^= divergence.NewerSamples
					if branch == horizontal.BranchAwaiting {
						want, branch = 2, horizontal.BranchMetrics
					}
				}
				for len(p.Metrics) < len(tt.readings) {
					p.Metrics = append(p.Metrics, queue())
				}
				s := remembering(past{time.Hour, 1})
				s.Count = history.Count{
					Replicas: 4, IsKnown: true, ChangedAt: noon.Add(-tt.ago), EffectiveAt: noon.Add(-tt.ago),
				}
				o := see(4, tt.readings...)
				d, _ := horizontal.Decide(noon, &p, s, &o)
				if d.Desired != want || d.Branch != branch {
					t.Errorf("%t: %s: %d, %s; want %d, %s", on, tt.reason, d.Desired, d.Branch, want, branch)
				}
			}
		})
	}
}

// TestPendingValues: a metric whose values have not arrived yet proposes no count. It keeps the others from lowering
// the count, not from raising it.
func TestPendingValues(t *testing.T) {
	pending := metric.Reading{Pending: true}
	for name, tt := range map[string]struct {
		readings []metric.Reading
		want     int32
		branch   horizontal.Branch
	}{
		"more":          {[]metric.Reading{pending, length(6)}, 6, horizontal.BranchMetrics},
		"as many":       {[]metric.Reading{pending, length(4)}, 4, horizontal.BranchMetrics},
		"less":          {[]metric.Reading{pending, length(2)}, 4, horizontal.BranchAwaiting},
		"alone":         {[]metric.Reading{pending}, 4, horizontal.BranchAwaiting},
		"others failed": {[]metric.Reading{pending, broken()}, 4, horizontal.BranchAwaiting},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy(1, 100)
			p.DownscaleStabilization = 0
			for len(p.Metrics) < len(tt.readings) {
				p.Metrics = append(p.Metrics, queue())
			}
			o := see(4, tt.readings...)
			d, s := horizontal.Decide(noon, &p, remembering(past{time.Hour, 1}), &o)
			if d.Desired != tt.want || d.Branch != tt.branch || d.Rescale != (tt.want != 4) {
				t.Errorf("%d, %s; want %d, %s", d.Desired, d.Branch, tt.want, tt.branch)
			}
			// A delayed proposal is not in the history: it would keep the count afterwards.
			if high,
				found := s.Recommendations.Highest(func(time.Time) bool { return true }); d.Branch == horizontal.BranchAwaiting &&
				found && high.Replicas == 4 {
				t.Errorf("a recommendation of %d is remembered", high.Replicas)
			}
		})
	}
}
