package takeover

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// handoverPause is the time for which a WorkloadAutoscaler does not act after the HPA of its target is gone.
// kube-controller-manager still carries out a decision in progress, and repeats its write on a conflict: it would undo
// a scale on newer metrics.
const handoverPause = 3 * time.Second

// Followed tracks the replica count while another autoscaler has the target of a WorkloadAutoscaler. The object's
// worker owns it.
type Followed struct {
	isKnown bool
	count   int32
	// refusal is the last one because of an HPA, until is when it ends after the HPA is gone; zero while the HPA exists.
	refusal horizontal.Refusal
	until   time.Time
}

// Refusal returns why the WorkloadAutoscaler does not act now; other is the reason because of another autoscaler of its
// target. The zero value means that it acts.
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
	f.refusal.IsExpected = f.refusal.Reason != ""
	return f.refusal
}

// Due returns when a WorkloadAutoscaler that is decided now is due again: at the end of the pause, if that is earlier.
func (f *Followed) Due(now, due time.Time) time.Time {
	if f.until.After(now) && f.until.Before(due) {
		return f.until
	}
	return due
}

// Follow adds the other autoscaler's changes since the last decision to the history, so that the WorkloadAutoscaler
// continues from there. It consumes the state.
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
