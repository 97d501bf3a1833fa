package horizontal

import (
	"context"
	"errors"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/calls"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/status"
)

const (
	// maxDecisionAge is how old a decision may be when its write begins. Samples come
	// each second.
	maxDecisionAge = time.Second
)

var (
	// errOutdated says that the decision was made too long ago to be carried out.
	errOutdated = errors.New("the decision has waited too long for its write")
	// errBackoff says that writes of the object's scale failed a moment ago.
	errBackoff = errors.New("the last scale write failed, and it is too early for another")
	// errLimited says that --kube-api-qps let no write pass for as long as a call may take.
	errLimited = errors.New("too many requests wait for --kube-api-qps")
	// errContested says that somebody else scales the object.
	errContested = errors.New("another controller writes the object's status")
)

// statusKind is what statuses are written of.
var statusKind = schema.GroupKind{Group: autoscalingv2.GroupName, Kind: "HorizontalPodAutoscaler"}

// writing is what is remembered of an object's scale writes.
type writing struct {
	// since is since when the object waits for a slot; zero if it does not.
	since   time.Time
	backoff calls.Backoff
	// mayCall says that the limiter has let a call pass that was not made: what it was
	// waited for with was outdated then. The next one need not wait.
	mayCall bool
}

// backsOff reports whether it is too early to try again. Where decisions come by the clock
// alone, as upstream's, they are what is waited for.
func (c *Controller) backsOff(b *calls.Backoff) bool {
	return c.config.Triggers && time.Now().Before(b.Until())
}

// rescale writes the count that was decided on.
func (c *Controller) rescale(ctx context.Context, p *pass, d *horizontal.Decision) error {
	w := &p.track.writing
	if c.backsOff(&w.backoff) {
		// Nothing else may happen before the next sync period.
		c.queue.AddEarly(nameOf(p.hpa), w.backoff.Until(), p.mayLower())
		return errBackoff
	}
	kind, err := scale.KindOf(p.hpa.Spec.ScaleTargetRef)
	if err != nil {
		return err
	}
	if w.since.IsZero() {
		w.since = p.decided
	}
	desired, began := d.Desired, time.Now()
	var now *autoscalingv1.Scale
	c.workers.Yield(func() {
		if err = c.writers.Acquire(ctx, kind, w.since, maxDecisionAge); err != nil {
			return
		}
		defer c.writers.Release(kind)
		began = time.Now()
		c.writes(p.track, &desired)
		now, err = c.scales.Write(context.WithoutCancel(ctx), p.target, desired, func() error { return c.mayWrite(ctx, p, kind) })
	})
	if now != nil {
		c.keepScale(p, scale.Target{Resource: p.target.Resource, Scale: now}, nil)
	}
	if err != nil {
		c.writes(p.track, nil)
		if !isGivenUp(err) || p.track.moved >= maxOvertaken && errors.Is(err, scale.ErrMoved) {
			w.backoff.Note(err, c.config.SyncPeriod)
		}
		return err
	}
	w.backoff.Note(nil, 0)
	c.series.Startup.Scaled(nameOf(p.hpa), began, desired-d.Current)
	return nil
}

// mayWrite waits for the limiter, and looks after that whether the write may begin.
func (c *Controller) mayWrite(ctx context.Context, p *pass, kind schema.GroupKind) error {
	w := &p.track.writing
	if limiter := c.config.WriteLimiter; limiter != nil && !w.mayCall {
		// Not a deadline: the limiter would not even begin to wait, and nor would the next.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer time.AfterFunc(scale.DefaultTimeout, cancel).Stop()
		if err := limiter.Wait(ctx); err != nil {
			return fmt.Errorf("%w: %w", errLimited, err)
		}
		w.mayCall = true
	}
	if err := c.mayScale(ctx, p, kind); err != nil {
		return err
	}
	w.mayCall = false
	return nil
}

// mayScale looks once more, when the write is about to begin or to be repeated, at what
// the decision stands on: it may have waited.
func (c *Controller) mayScale(ctx context.Context, p *pass, kind schema.GroupKind) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case time.Since(p.decided) > maxDecisionAge:
		return errOutdated
	case p.track.contest.IsPaused():
		return errContested
	}
	target := p.target.Scale
	if known, isKnown := c.scales.Known(kind, p.hpa.Namespace, p.hpa.Spec.ScaleTargetRef.Name); isKnown &&
		(known.Scale.UID != target.UID || known.Scale.Spec.Replicas != target.Spec.Replicas) {
		return scale.ErrMoved
	}
	return c.unchanged(p.hpa)
}

// isGivenUp reports whether a write was given up rather than refused.
func isGivenUp(err error) bool {
	for _, reason := range []error{
		errOutdated, calls.ErrNoSlot, errLimited, errBackoff, errContested, errSuperseded, scale.ErrMoved, context.Canceled,
	} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

// isUnwritten reports whether the decision came to no write and is told to nobody, as
// another one follows.
func (c *Controller) isUnwritten(p *pass, err error) bool {
	if errors.Is(err, scale.ErrMoved) {
		p.track.moved++
		return p.track.moved <= maxOvertaken
	}
	return isGivenUp(err)
}

// again is when the object is decided in full again, after a decision that was not
// carried out. One on what is known comes first, if that is worth anything.
func (c *Controller) again(p *pass, full time.Time) time.Time {
	now := time.Now()
	if !c.config.Triggers {
		return now
	}
	c.mu.Lock()
	asked := p.track.asked
	c.mu.Unlock()
	if !p.isDirect {
		// Each decision asks metrics.k8s.io, and nothing else has happened.
		now = later(now, asked.Add(standInPeriod))
	}
	c.queue.AddEarly(nameOf(p.hpa), now, p.mayLower())
	return full
}

// overtaken is when the object is decided in full again, after a decision that the object
// or its target's count has overtaken: at once, but only once in a sync period. Whoever
// changes them all the time must not have all metrics asked for each time. Beyond that
// what is known is decided on, as after any other change of a count.
func (c *Controller) overtaken(p *pass, full time.Time) time.Time {
	now := time.Now()
	if now.Sub(p.track.overtaken) >= c.config.SyncPeriod {
		p.track.overtaken = now
		return now
	}
	if c.config.Triggers {
		c.onChanged([]types.NamespacedName{nameOf(p.hpa)})
	}
	return full
}

// writeInLine writes a status that cannot be left to the next decision: it waits for a
// slot as long as a call may take.
func (c *Controller) writeInLine(ctx context.Context, p *pass, since time.Time, call func()) error {
	var err error
	c.workers.Yield(func() {
		if err = c.writers.Acquire(ctx, statusKind, since, status.DefaultTimeout); err != nil {
			return
		}
		defer c.writers.Release(statusKind)
		if err = c.mayTellNow(ctx, p); err == nil {
			call()
		}
	})
	return err
}

// writeIfFree writes a status, unless as much is being written already as may be.
func (c *Controller) writeIfFree(ctx context.Context, p *pass, call func()) (done bool) {
	if !c.writers.TryAcquire(statusKind) {
		return false
	}
	c.workers.Yield(func() {
		defer c.writers.Release(statusKind)
		if done = c.mayTellNow(ctx, p) == nil; done {
			call()
		}
	})
	return done
}

// mayTellNow looks whether a status may still be written. An edit does not matter, as the
// status says which generation it is about.
func (c *Controller) mayTellNow(ctx context.Context, p *pass) error {
	if p.track.contest.IsPaused() {
		return errContested
	}
	return ctx.Err()
}
