package takeover

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// handoverPause is how long a WorkloadAutoscaler does not act after the HPA of its target is gone. A decision of
// kube-controller-manager that is under way is still carried out, and its write is repeated on a conflict: it would
// undo what was scaled meanwhile on newer metrics.
const handoverPause = 3 * time.Second

// Followed is the replica count while another autoscaler has the target of a WorkloadAutoscaler. The worker that has
// the object owns it.
type Followed struct {
	isKnown bool
	count   int32
	// refusal is the last one because of an HPA, until when it stays in force without that one; zero while it is there.
	refusal horizontal.Refusal
	until   time.Time
}

// Refusal is why the WorkloadAutoscaler does not act now, where other is because of the other autoscaler that its
// target has; the zero value is nothing.
func (f *Followed) Refusal(now time.Time, other horizontal.Refusal, isHPA bool) horizontal.Refusal {
	switch {
	case other.Reason != "":
		if f.refusal, f.until = other, (time.Time{}); !isHPA {
			f.refusal = horizontal.Refusal{}
		}
		return other
	case f.refusal.Reason == "":
	case f.until.IsZero():
		f.until = now.Add(handoverPause)
	case !now.Before(f.until):
		f.refusal, f.until = horizontal.Refusal{}, time.Time{}
	}
	return f.refusal
}

// Due is when the WorkloadAutoscaler is decided again that was decided now: at the end of the pause, if that is
// earlier.
func (f *Followed) Due(now, due time.Time) time.Time {
	if f.until.After(now) && f.until.Before(due) {
		return f.until
	}
	return due
}

// Follow takes what the other autoscaler has written since the last decision into the history, so that the
// WorkloadAutoscaler begins where the other one stopped. The state is consumed.
func (f *Followed) Follow(p *horizontal.Policy, s horizontal.State, o *horizontal.Observation) horizontal.State {
	if o.Target.Error != "" {
		return s
	}
	count := o.Target.SpecReplicas
	if f.isKnown {
		s = horizontal.CountOther(p, s, horizontal.OtherChange{At: time.Now(), From: f.count, To: count})
	}
	f.isKnown, f.count = o.Refusal.Reason == statusreport.AnotherAutoscaler, count
	return s
}
