package horizontal

import (
	"context"
	"errors"
	"fmt"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/calls"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
)

// scaleGap is the least time from one reading of a scale to another that changes of the
// target's pods cause.
const scaleGap = 5 * time.Second

// keptScale is the scale of a target that no cache has, as the API server said it, or why
// it did not.
type keptScale struct {
	ref    autoscalingv2.CrossVersionObjectReference
	target scale.Target
	err    error
	at     time.Time
	// backoff is between readings that fail.
	backoff calls.Backoff
}

// observeScale finds the scale of the target, in a cache or as it was kept, or else asks
// for it.
func (c *Controller) observeScale(ctx context.Context, p *pass) error {
	ref := p.hpa.Spec.ScaleTargetRef
	var kind schema.GroupKind
	if kind, p.targetErr = scale.KindOf(ref); errors.Is(p.targetErr, scale.ErrReference) {
		// The decision says so.
		return nil
	}
	target, isKnown := c.scales.Known(kind, p.hpa.Namespace, ref.Name)
	if isKnown {
		p.target = target
		return nil
	}
	k := &p.track.scale
	if !c.isKept(p, ref) {
		if err := c.readScale(ctx, p, kind); err != nil {
			return err
		}
	}
	p.target, p.targetErr = k.target, k.err
	return nil
}

// isKept reports whether what is kept of the scale serves this decision. It does for a
// sync period, as upstream's does until the next sync; but where the target's pods have
// changed, its count probably has. What the count is when it is written, the API server
// checks.
func (c *Controller) isKept(p *pass, ref autoscalingv2.CrossVersionObjectReference) bool {
	k := &p.track.scale
	if p.asks || !c.config.Triggers || k.ref != ref || k.at.IsZero() {
		return false
	}
	if k.err != nil {
		return p.start.Before(k.backoff.Until())
	}
	age := p.start.Sub(k.at)
	if age < scaleGap {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return age < c.config.SyncPeriod && !p.track.podsChanged
}

// readScale asks for the scale and keeps the answer. No worker is kept meanwhile. What has
// been seen before may be another afterwards, as the answer may have taken seconds.
func (c *Controller) readScale(ctx context.Context, p *pass, kind schema.GroupKind) error {
	ref := p.hpa.Spec.ScaleTargetRef
	c.mu.Lock()
	p.track.podsChanged = false
	c.mu.Unlock()
	var target scale.Target
	var err error
	c.workers.Yield(func() {
		// It may take long to discover the kind. No slot is kept meanwhile.
		mappings, mapErr := c.scales.Mappings(kind)
		if err = mapErr; err != nil {
			return
		}
		if err = c.readers.Acquire(ctx, kind, p.start, scale.DefaultTimeout); err != nil {
			return
		}
		defer c.readers.Release(kind)
		target, err = c.scales.ReadMapped(ctx, mappings, p.hpa.Namespace, ref.Name)
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, calls.ErrNoSlot) {
		err = fmt.Errorf("reading the scale: %w", err)
	}
	p.start = time.Now()
	c.keepScale(p, target, err)
	return c.unchanged(p.hpa)
}

// keepScale keeps what the API server has said of the scale.
func (c *Controller) keepScale(p *pass, target scale.Target, err error) {
	k := &p.track.scale
	k.ref, k.target, k.err, k.at = p.hpa.Spec.ScaleTargetRef, target, err, time.Now()
	k.backoff.Note(err, c.config.SyncPeriod)
	if err == nil {
		// A cache may not show it yet.
		c.targets.Saw(target.Resource, target.Scale)
	}
}
