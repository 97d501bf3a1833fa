package scaling

import (
	"context"
	"errors"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/calls"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

const (
	// maxDecisionAge is the largest age of a decision when its write begins. Samples arrive every second.
	maxDecisionAge = time.Second
	// maxOvertaken is the number of decisions in a row that are given up because another writer scaled meanwhile. Further
	// ones count as failed writes, with backoff.
	maxOvertaken = 3
)

var (
	// errBackoff is returned shortly after a failed write of the target's scale.
	errBackoff = errors.New("the last scale write failed, and it is too early for another")
	// errOverridden is returned while another writer sets the count back after each write.
	errOverridden = errors.New("another writer sets the replica count too, and it is too early for another write")
	// errOutdated is returned if the decision is too old to be carried out.
	errOutdated = errors.New("the decision has waited too long for its write")
	// errLimited is returned if --kube-api-qps admits no write for as long as a call may take.
	errLimited = errors.New("too many requests wait for --kube-api-qps")
)

// Change is the replica count to write.
type Change struct {
	Autoscaler observehorizontal.Autoscaler
	Record     *Record
	Contest    *takeover.Contest
	Target     scale.Target
	Desired    int32
	// Decided is when the decision was made.
	Decided time.Time
	// ContestedUntil is until when the count must not be written because another writer sets it too; zero if it may be.
	ContestedUntil time.Time
}

// HeldUntil returns until when no write is tried: after a failed one, or while another writer sets the count too.
func (c *Change) HeldUntil() time.Time {
	if failed := c.Record.writing.backoff.Until(); failed.After(c.ContestedUntil) {
		return failed
	}
	return c.ContestedUntil
}

// Write writes the replica count. It returns when the write began.
func (s *Scaler) Write(ctx context.Context, c *Change) (began time.Time, err error) {
	w := &c.Record.writing
	switch {
	case !s.Triggers:
	case w.backoff.IsActive():
		return time.Time{}, errBackoff
	case !c.ContestedUntil.IsZero():
		return time.Time{}, errOverridden
	}
	kind, err := scale.KindOf(c.Autoscaler.Target())
	if err != nil {
		return time.Time{}, err
	}
	if w.since.IsZero() {
		w.since = c.Decided
	}
	desired, began := c.Desired, time.Now()
	var now *autoscalingv1.Scale
	s.Workers.Yield(func() {
		if err = s.Writes.Acquire(ctx, kind, w.since, maxDecisionAge); err != nil {
			return
		}
		defer s.Writes.Release(kind)
		began = time.Now()
		c.Record.changes.write(&desired)
		now, err = s.scales.Write(context.WithoutCancel(ctx), c.Target, desired,
			func() error { return s.mayCall(ctx, c, kind) })
	})
	if now != nil {
		s.store(c.Record, c.Autoscaler, scale.Target{Resource: c.Target.Resource, Scale: now}, nil)
	}
	if err != nil {
		c.Record.changes.write(nil)
		if !IsGivenUp(err) || w.overtaken >= maxOvertaken && errors.Is(err, scale.ErrMoved) {
			w.backoff.Note(err, s.SyncPeriod)
		}
		return began, err
	}
	w.backoff.Note(nil, 0)
	return began, nil
}

// Settled records that a decision was carried out, or needed no write.
func (r *Record) Settled() { r.writing.overtaken, r.writing.since = 0, time.Time{} }

// Reset resets the count of overtaken decisions.
func (r *Record) Reset() { r.writing.overtaken = 0 }

// mayCall waits for the limiter, and then checks whether the write may begin.
func (s *Scaler) mayCall(ctx context.Context, c *Change, kind schema.GroupKind) error {
	w := &c.Record.writing
	if s.WriteLimiter != nil && !w.hasToken {
		// Cancel instead of setting a deadline: with a deadline that is too short the limiter fails at once instead of
		// waiting, for this call and the next.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer time.AfterFunc(scale.DefaultTimeout, cancel).Stop()
		if err := s.WriteLimiter.Wait(ctx); err != nil {
			return fmt.Errorf("%w: %w", errLimited, err)
		}
		w.hasToken = true
	}
	if err := s.isCurrent(ctx, c, kind); err != nil {
		return err
	}
	w.hasToken = false
	return nil
}

// isCurrent checks the inputs of the decision again when the write is about to begin or to be repeated: it may have
// waited.
func (s *Scaler) isCurrent(ctx context.Context, c *Change, kind schema.GroupKind) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case time.Since(c.Decided) > maxDecisionAge:
		return errOutdated
	case c.Contest.IsPaused():
		return takeover.ErrContested
	}
	target := c.Target.Scale
	cached, isCached := s.scales.Known(kind, c.Autoscaler.Namespace, c.Autoscaler.Target().Name)
	if isCached && (cached.Scale.UID != target.UID || cached.Scale.Spec.Replicas != target.Spec.Replicas) {
		return scale.ErrMoved
	}
	return s.MayScale(c.Autoscaler)
}

// IsGivenUp reports whether this process gave the write up, as opposed to a refusal by the API server.
func IsGivenUp(err error) bool {
	return IsLate(err) || IsOvertaken(err) ||
		IsHeld(err) || errors.Is(err, takeover.ErrContested) || errors.Is(err, context.Canceled)
}

// IsHeld reports whether no write was tried because it is too early for one.
func IsHeld(err error) bool { return errors.Is(err, errBackoff) || errors.Is(err, errOverridden) }

// IsLate reports whether a write was given up because the decision had waited too long.
func IsLate(err error) bool {
	return errors.Is(err, errOutdated) || errors.Is(err, calls.ErrNoSlot) || errors.Is(err, errLimited)
}

// IsOvertaken reports whether a decision was given up because the HPA or its target's replica
// count changed.
func IsOvertaken(err error) bool {
	return errors.Is(err, ErrSuperseded) || errors.Is(err, scale.ErrMoved)
}

// IsUnreported reports whether the decision led to no write and is not reported, because another one follows.
func (r *Record) IsUnreported(err error) bool {
	if errors.Is(err, scale.ErrMoved) {
		r.writing.overtaken++
		return r.writing.overtaken <= maxOvertaken
	}
	return IsGivenUp(err)
}
