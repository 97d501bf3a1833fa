package scaling

import (
	"context"
	"errors"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/calls"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// ReadGap is the least time from one reading of a scale to another that changes of the target's
// pods cause.
const ReadGap = 5 * time.Second

// Observed is the scale of a target, as a decision sees it.
type Observed struct {
	Target scale.Target
	// Err is why there is none.
	Err error
	// At is when the decision goes on, which is later than it began where the API server had to
	// be asked.
	At time.Time
}

// IsNotFound reports whether the API server has no such target.
func (o *Observed) IsNotFound() bool { return apierrors.IsNotFound(o.Err) }

// Translate is the scale as the core sees it, and the selector of its pods; by owner, only of those
// that the target owns.
func (o *Observed) Translate(r *Record, byOwner bool) (horizontal.Target, *podindex.Selector) {
	d := &r.derived
	if d.scale == o.Target.Scale && d.byOwner == byOwner {
		return d.target, d.selector
	}
	target, selector := observehorizontal.Target(o.Target.Scale)
	*d = derived{scale: o.Target.Scale, byOwner: byOwner, target: target, selector: podindex.SelectorOf(selector)}
	if byOwner {
		d.selector = d.selector.OwnedBy(o.Target.Scale.UID)
		if o.Target.Scale.UID == "" && d.target.Selector.Problem == podselector.Fine {
			d.target.Selector = podselector.Selector{
				Problem: podselector.Invalid, Message: "the scale has no UID, by which its pods could be found",
			}
		}
	}
	return d.target, d.selector
}

// IsReferenceInvalid reports whether spec.scaleTargetRef cannot name anything.
func (o *Observed) IsReferenceInvalid() bool { return errors.Is(o.Err, scale.ErrReference) }

// Observe finds the scale of the target: in an informer, in the last answer, or by asking the API
// server. Began is when the decision began; a full one does not use the last answer. An error
// says that the decision is not to go on.
func (s *Scaler) Observe(
	ctx context.Context, r *Record, autoscaler observehorizontal.Autoscaler, began time.Time, isFull bool,
) (Observed, error) {
	ref := autoscaler.Target()
	kind, err := scale.KindOf(ref)
	if errors.Is(err, scale.ErrReference) {
		// The decision's conditions have it.
		return Observed{Err: err, At: began}, nil
	}
	target, isKnown := s.scales.Known(kind, autoscaler.Namespace, ref.Name)
	if isKnown && !r.mayBeBehind(autoscaler, target.Scale) {
		return Observed{Target: target, Err: err, At: began}, nil
	}
	isFull = isFull || isKnown
	at := began
	if isFull || !s.isUsable(r, ref, began) {
		if err := s.read(ctx, r, autoscaler, kind, began); err != nil {
			return Observed{}, err
		}
		at = r.cached.at
	}
	return Observed{Target: r.cached.target, Err: r.cached.err, At: at}, nil
}

// Known is the scale of the target, if an informer has it.
func (s *Scaler) Known(autoscaler observehorizontal.Autoscaler) (Observed, bool) {
	kind, err := scale.KindOf(autoscaler.Target())
	if err != nil {
		return Observed{}, false
	}
	target, isKnown := s.scales.Known(kind, autoscaler.Namespace, autoscaler.Target().Name)
	return Observed{Target: target}, isKnown
}

// mayBeBehind reports whether the informer may not show yet that the target was scaled to zero, which the HPA's status
// has: another instance may have done that just before this one began to lead. If the condition ScaledToZero ended
// because of a count from before that, the target would stay at zero. After its own writes this instance knows the
// count.
func (r *Record) mayBeBehind(autoscaler observehorizontal.Autoscaler, known *autoscalingv1.Scale) bool {
	return r.cached.at.IsZero() && known != nil && known.Spec.Replicas > 0 && !autoscaler.IsWorkload() &&
		autoscaler.ScaledToZero()
}

// isUsable reports whether the last answer serves this decision. It does for a sync period, as
// upstream's does until the next sync; but where the target's pods have changed, its replica count
// probably has. The API server checks what the replica count is when it is written.
func (s *Scaler) isUsable(r *Record, ref autoscalingv2.CrossVersionObjectReference, began time.Time) bool {
	c := &r.cached
	if !s.Triggers || c.ref != ref || c.at.IsZero() {
		return false
	}
	if c.err != nil {
		return began.Before(c.backoff.Until())
	}
	age := began.Sub(c.at)
	if age < ReadGap {
		return true
	}
	return age < s.SyncPeriod && !r.changes.havePods()
}

// read asks the API server for the scale. No worker is kept meanwhile. The HPA may be another
// afterwards, as the answer may have taken seconds.
func (s *Scaler) read(
	ctx context.Context, r *Record, autoscaler observehorizontal.Autoscaler, kind schema.GroupKind, began time.Time,
) error {
	r.changes.setPods(false)
	var target scale.Target
	var err error
	s.Workers.Yield(func() {
		// It may take long to discover the kind. No slot is kept meanwhile.
		mappings, mapErr := s.scales.Mappings(kind)
		if err = mapErr; err != nil {
			return
		}
		if err = s.Reads.Acquire(ctx, kind, began, scale.DefaultTimeout); err != nil {
			return
		}
		defer s.Reads.Release(kind)
		target, err = s.scales.ReadMapped(ctx, mappings, autoscaler.Namespace, autoscaler.Target().Name)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, calls.ErrNoSlot) {
		err = fmt.Errorf("reading the scale: %w", err)
	}
	s.store(r, autoscaler, target, err)
	return s.Unchanged(autoscaler)
}

// store keeps an answer of the API server.
func (s *Scaler) store(r *Record, autoscaler observehorizontal.Autoscaler, target scale.Target, err error) {
	c := &r.cached
	c.ref, c.target, c.err, c.at = autoscaler.Target(), target, err, time.Now()
	c.backoff.Note(err, s.SyncPeriod)
	if err == nil {
		// An informer may not show it yet.
		s.Targets.Saw(target.Resource, target.Scale)
	}
}
