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

// ReadGap is the shortest time between two reads of a scale that changes of the target's pods cause.
const ReadGap = 5 * time.Second

// Observed is the scale of a target at a decision.
type Observed struct {
	Target scale.Target
	// Err is the error of reading it.
	Err error
	// At is when the decision continues, which is later than its start if the API server was called.
	At time.Time
}

// IsNotFound reports whether the target does not exist.
func (o *Observed) IsNotFound() bool { return apierrors.IsNotFound(o.Err) }

// Translate converts the scale to the core's form, and returns the selector of its pods; with byOwner it selects only
// pods that the target owns.
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

// IsReferenceInvalid reports whether spec.scaleTargetRef cannot name any object.
func (o *Observed) IsReferenceInvalid() bool { return errors.Is(o.Err, scale.ErrReference) }

// Observe returns the scale of the target: from an informer, from the last response, or from the API server. began is
// when the decision began; a full one does not use the last response. After an error the caller stops the decision.
func (s *Scaler) Observe(
	ctx context.Context, r *Record, autoscaler observehorizontal.Autoscaler, began time.Time, isFull bool,
) (Observed, error) {
	ref := autoscaler.Target()
	kind, err := scale.KindOf(ref)
	if errors.Is(err, scale.ErrReference) {
		// The conditions of the decision report the error.
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

// Known returns the scale of the target if an informer has it.
func (s *Scaler) Known(autoscaler observehorizontal.Autoscaler) (Observed, bool) {
	kind, err := scale.KindOf(autoscaler.Target())
	if err != nil {
		return Observed{}, false
	}
	target, isKnown := s.scales.Known(kind, autoscaler.Namespace, autoscaler.Target().Name)
	return Observed{Target: target}, isKnown
}

// mayBeBehind reports whether the informer may not have the scale to zero that the HPA's status reports: another
// instance may have written it just before this one began to lead. If an outdated count ended the condition
// ScaledToZero, the target would stay at zero. After its own writes this instance knows the count.
func (r *Record) mayBeBehind(autoscaler observehorizontal.Autoscaler, known *autoscalingv1.Scale) bool {
	return r.cached.at.IsZero() && known != nil && known.Spec.Replicas > 0 && !autoscaler.IsWorkload() &&
		autoscaler.ScaledToZero()
}

// isUsable reports whether this decision may use the last response. It may for a sync period, as upstream's is used
// until the next sync; but if the target's pods have changed, its replica count probably has too. The API server checks
// the replica count on the write.
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

// read reads the scale from the API server without occupying a worker. It returns an error if the HPA has changed
// meanwhile, as the call may have taken seconds.
func (s *Scaler) read(
	ctx context.Context, r *Record, autoscaler observehorizontal.Autoscaler, kind schema.GroupKind, began time.Time,
) error {
	r.changes.setPods(false)
	var target scale.Target
	var err error
	s.Workers.Yield(func() {
		// Discovery of the kind may take long. It occupies no slot.
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

// store caches a response of the API server.
func (s *Scaler) store(r *Record, autoscaler observehorizontal.Autoscaler, target scale.Target, err error) {
	c := &r.cached
	c.ref, c.target, c.err, c.at = autoscaler.Target(), target, err, time.Now()
	c.backoff.Note(err, s.SyncPeriod)
	if err == nil {
		// The informer may lag behind the response.
		s.Targets.Saw(target.Resource, target.Scale)
	}
}
