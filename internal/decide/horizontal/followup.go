package horizontal

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// FollowUp is what a decision asks for before the HPA's next sync period.
type FollowUp struct {
	// DecideAt is when to decide once more, on the samples there are then; zero without a reason to.
	DecideAt time.Time
	// Suspects are the indices of the pods whose newest sample may be the first of a surge.
	// An early scrape of their nodes gives the second one, which decides.
	Suspects []int
	// NearThreshold says that a metric of the pods' resources has come halfway through the tolerance
	// above its target, or further: their nodes are scraped before those of others.
	NearThreshold bool
}

// FollowUp is what the decision asks for. The observation is the decision's own, the state
// the one that came with it, and the suspects are appended to dst.
func (d *Decision) FollowUp(s *State, o *Observation, dst []int) FollowUp {
	f := FollowUp{Suspects: d.suspects(o, dst), NearThreshold: d.isNearThreshold()}
	if d.Limited.DoublingDelayed == behavior.TooSoon {
		f.DecideAt = s.LastScaleUp.Add(behavior.DoublingPeriod)
	}
	return f
}

// suspects are none where nothing more could be asked for.
func (d *Decision) suspects(o *Observation, dst []int) []int {
	if !d.Surge.Suspicious || d.Surge.Asks() || d.Branch != BranchMetrics || d.Desired >= d.policy.MaxReplicas {
		return dst
	}
	c := d.context(o)
	return surge.Suspects(&d.policy.Surge,
		&surge.Input{Specs: d.policy.Metrics, Readings: o.Readings, Results: d.Metrics, Context: &c}, dst)
}

func (d *Decision) isNearThreshold() bool {
	for i := range d.Metrics {
		r, kind := &d.Metrics[i], d.policy.Metrics[i].Type
		if r.Failure == nil && (kind == source.Resource || kind == source.ContainerResource) &&
			r.Ratio > 1+d.policy.Tolerance.Up/2 {
			return true
		}
	}
	return false
}

// isDeferred reports whether a lower count was left to a later decision.
func (d *Decision) isDeferred(o *Observation) bool {
	return d.Branch == BranchAwaiting && o.defersLowering() && d.Failed+d.Pending+d.Outdated == 0
}
