package horizontal_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
)

// TestEachDifferenceHasALimit: if the count differs from the ratio of the metrics, the decision names a limit, or
// another source that proposed it.
func TestEachDifferenceHasALimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := making(t).situation()
		d, _ := s.decide()
		limit, winner := projection.BindingLimit(&d), d.Winner()
		if d.Branch != horizontal.BranchMetrics {
			if limit == projection.None {
				t.Fatalf("%s to %d without a limit", d.Branch, d.Desired)
			}
			return
		}
		plain := plainOf(&s.policy, &d)
		if winner.Source != proposal.Metric {
			// The decision names other sources; a metric that proposes more than them needs a limit.
			plain = max(plain, float64(winner.Replicas))
		}
		if limit == projection.None && plain != float64(d.Desired) {
			t.Fatalf("from %d to %d without a limit, where the metrics ask for %v; proposed %+v\n%+v", d.Current, d.Desired,
				plain, winner, d.Metrics)
		}
	})
}

// plainOf returns the highest proposal of the metrics by the formula of Kubernetes' documentation, computed
// independently.
func plainOf(p *horizontal.Policy, d *horizontal.Decision) float64 {
	most := 0.0
	for i := range d.Metrics {
		r := &d.Metrics[i]
		if r.Failure != nil || r.Pending {
			continue
		}
		asked := math.Ceil(r.Ratio * float64(d.Current))
		switch {
		case r.Groups == nil && d.Current == 0:
			// From zero the ratio alone is the count, at any tolerance.
			asked = float64(r.Replicas)
		case 1-p.Tolerance.Down <= r.Ratio && r.Ratio <= 1+p.Tolerance.Up:
			asked = float64(d.Current)
		case r.Groups == nil && p.Metrics[i].Target.Type == source.AverageValue:
			// The target for the whole value does not depend on the count.
			asked = float64(r.Replicas)
		case math.IsNaN(asked):
			asked = 0
		}
		most = max(most, min(asked, math.MaxInt32))
	}
	return most
}
