package horizontal

import (
	"context"
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/scaling"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// observer reads the inputs of a decision.
type observer struct {
	// get reads an HPA from the cache.
	get     func(key observe.Key) (observehorizontal.Autoscaler, error)
	pods    *podindex.Index
	records *hpaRecords
	scaler  *scaling.Scaler
	reader  *readings.Reader
	// conflict may be nil.
	conflict func(observehorizontal.Autoscaler) string
	// startUp returns the time to readiness of the pods that scale-ups have created; 0 if no pod was created so.
	startUp func(key observe.Key, now time.Time) time.Duration
	options observehorizontal.Options
}

// observe reads the target, its pods and the metrics.
func (o *observer) observe(ctx context.Context, p *pass) error {
	options := o.options
	if p.purpose == toProbe && !p.autoscaler.IsWorkload() {
		// Decide as kube-controller-manager does.
		options.Divergences = divergence.None
	}
	p.policy, p.observation.Refusal = p.record.policyOf(p.autoscaler, options)
	if p.autoscaler.IsWorkload() {
		o.observeWorkload(p)
	}
	p.observation.ScaledToZero = p.autoscaler.ScaledToZero()
	if o.conflict != nil {
		p.observation.Conflict.Message, p.observation.Conflict.Shown = o.conflict(p.autoscaler), p.autoscaler.InConflict()
	}
	var err error
	if p.scale, err = o.scaler.Observe(ctx, &p.record.scaling, p.autoscaler, p.start, p.isFull()); err != nil {
		return err
	}
	p.start = p.scale.At
	if p.scale.Err != nil {
		p.observation.Target.Error = p.scale.Err.Error()
	}
	if p.observation.Target.Error != "" {
		// Without a target the HPA has no pods, and another HPA may scale them. Upstream keeps its claim on pods.
		if p.scale.IsNotFound() && p.policy.Divergences.Has(divergence.OutOfRange) {
			o.pods.Delete(p.autoscaler.Key())
		}
		// Keep the subscriptions while a target cannot be read for a moment.
		o.subscribe(p, p.record.isSubscribed && !p.scale.IsNotFound() && !p.scale.IsReferenceInvalid())
		return nil
	}
	return o.observeMetrics(ctx, p)
}

// observeWorkload adds the inputs that only a WorkloadAutoscaler has.
func (o *observer) observeWorkload(p *pass) {
	p.observation.CreatedAt = p.autoscaler.CreationTimestamp.Time
	p.observation.Shown = p.autoscaler.Shown()
	if p.observation.Refusal.Reason != "" {
		return
	}
	var other horizontal.Refusal
	rival, isThere := o.records.targets.rivalOf(p.autoscaler.Key())
	if isThere {
		other = refusalBecauseOf(rival, p.autoscaler.TargetName(), p.policy.WorkloadAutoscaler.Mode)
	}
	refusal := p.record.followed.Refusal(p.start, other, rival.Kind == observe.HorizontalPodAutoscaler)
	if refusal.Reason == statusreport.AnotherAutoscaler && p.autoscaler.IsMigrating(p.start) {
		refusal.IsExpected = true
	}
	p.observation.Refusal = refusal
}

// refusalBecauseOf returns why a WorkloadAutoscaler does not act while a rival has the target.
func refusalBecauseOf(rival observe.Key, target string, m mode.Mode) horizontal.Refusal {
	abbreviation := "HPA"
	if rival.Kind == observe.WorkloadAutoscaler {
		abbreviation = "WLA"
	}
	// A user who deletes the other autoscaler because of this text must not end up with none that scales.
	later := "takes over once that one is deleted"
	if m == mode.Preview {
		later = "scales nothing in mode Preview"
	}
	return horizontal.Refusal{
		Reason: statusreport.AnotherAutoscaler,
		Message: fmt.Sprintf("%s %s scales %s, and this WorkloadAutoscaler %s", rival.Kind, rival.NamespacedName, target,
			later),
		Summary: fmt.Sprintf("waits for %s %s", abbreviation, rival.Name),
	}
}

// observeMetrics reads the pods and the metrics if the decision needs them.
func (o *observer) observeMetrics(ctx context.Context, p *pass) error {
	o.observeTarget(p)
	if p.purpose == toShadow {
		p.actual = p.record.comparison.Follow(p.autoscaler.HPA, p.scale.Err == nil, &p.observation)
	}
	isNeeded := p.observation.Target.Selector.IsFine() &&
		horizontal.NeedsReadings(&p.policy, &p.record.state, &p.observation)
	o.subscribe(p, isNeeded)
	if !isNeeded {
		p.observation.Readings = readings.None(&p.policy)
		return nil
	}
	if o.pods.IsUndetermined(p.autoscaler.Key(), p.start) {
		p.observation.Readings = readings.Awaited(&p.policy)
		return nil
	}
	p.scratch.pods = o.pods.AppendPods(p.scratch.pods[:0], p.autoscaler.Key())
	p.pods = p.actual.Pods(p.scratch.pods)
	p.observation.Pods = p.scratch.readings.Pods(p.pods)
	if p.policy.Forecast.Learns() {
		if p.observation.StartUp = o.startUp(p.autoscaler.Key(), p.start); p.observation.StartUp == 0 {
			p.observation.StartUp = observe.StartUpOf(p.pods, p.start)
		}
	}
	if p.record.ownSpecs.HasPods() {
		o.reader.Own.Follow(p.autoscaler.Key(), sources.PodSet{}, p.pods)
	}
	if p.autoscaler.IsWorkload() {
		o.observeOthers(p)
	}
	if o.readsNodes(p) {
		o.reader.SetPods(p.autoscaler.Key(), p.pods)
	}
	p.metrics = readings.Decision{
		Autoscaler: p.autoscaler, Policy: &p.policy, Own: p.record.ownSpecs,
		Selector: p.scale.Target.Scale.Status.Selector, Pods: p.pods, Others: p.scratch.others,
		Record: &p.record.readings, Scratch: &p.scratch.readings, Start: p.start, Trigger: p.observation.Trigger,
		AsUpstream: p.purpose != toAct,
	}
	if err := o.reader.Read(ctx, &p.metrics, &p.result); err != nil {
		return err
	}
	p.observation.Readings, p.observation.NewerAwaited = p.result.Readings, p.result.IsNewerAwaited
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return o.unchanged(p.autoscaler)
}

// subscribe starts collecting the object's metrics if they are needed, in place of those before an edit, and stops it
// otherwise. SetPods and Follow add the pods once they are known.
func (o *observer) subscribe(p *pass, isNeeded bool) {
	p.record.isSubscribed = isNeeded
	if !isNeeded || !o.readsNodes(p) {
		o.reader.SetPods(p.autoscaler.Key(), nil)
	}
	if !p.autoscaler.IsWorkload() {
		return
	}
	specs := p.record.ownSpecs
	if !isNeeded {
		specs = nil
		o.pods.SetOthers(p.autoscaler.Key(), nil)
	}
	o.reader.Own.Set(p.autoscaler.Key(), specs)
}

// readsNodes reports whether the decision uses samples of the nodes.
func (o *observer) readsNodes(p *pass) bool {
	return p.purpose == toAct && o.reader.ReadsKubelets(&p.policy)
}

func (o *observer) observeTarget(p *pass) {
	target, selector := p.scale.Translate(&p.record.scaling, p.autoscaler.SelectsByOwner())
	p.observation.Target = target
	if !horizontal.NeedsReadings(&p.policy, &p.record.state, &p.observation) {
		// Another HPA may scale the pods if this one is switched off, or if its selector cannot be used. Upstream keeps its
		// claim.
		if p.policy.Divergences.Has(divergence.OutOfRange) {
			o.pods.Delete(p.autoscaler.Key())
		}
		return
	}
	var follower any
	if o.readsNodes(p) {
		follower = p.record
	}
	overlapping := ""
	switch {
	case p.observation.Refusal.Reason != "":
		// The pods are the rival's.
		o.pods.Watch(p.autoscaler.Key(), selector, follower)
	case p.purpose == toProbe:
		// Another controller may act on them. The result is compared with what that one writes as if no other HPA claimed
		// them.
		o.pods.Claim(p.autoscaler.Key(), selector, follower)
	case p.autoscaler.IsPreview():
		o.pods.Watch(p.autoscaler.Key(), selector, follower)
		overlapping = o.pods.Overlap(p.autoscaler.Key())
	default:
		overlapping = o.pods.Claim(p.autoscaler.Key(), selector, follower)
	}
	if overlapping != "" {
		kind := "HPA"
		if p.autoscaler.IsWorkload() {
			kind = "autoscaler"
		}
		p.observation.Target.Selector.SetAmbiguous(
			fmt.Sprintf("pods by selector %s are controlled by more than one %s (e.g. %s)",
				p.scale.Target.Scale.Status.Selector, kind, overlapping))
	}
}

// claimKnown claims the pods of an HPA that another controller scales, if an informer has its target: an HPA that
// overlaps with it must not act either.
func (o *observer) claimKnown(p *pass) {
	if observed, isKnown := o.scaler.Known(p.autoscaler); isKnown {
		target, selector := observed.Translate(&p.record.scaling, p.autoscaler.SelectsByOwner())
		if target.Selector.IsFine() && target.SpecReplicas > 0 {
			o.pods.Claim(p.autoscaler.Key(), selector, nil)
			return
		}
	}
	o.pods.Delete(p.autoscaler.Key())
}

// unchanged returns an error if the HPA is no longer the observed one: the metrics APIs may have taken seconds to
// answer.
func (o *observer) unchanged(autoscaler observehorizontal.Autoscaler) error {
	now, err := o.get(autoscaler.Key())
	if err != nil || now.UID != autoscaler.UID ||
		observehorizontal.SpecChanged(autoscaler, now) {
		return scaling.ErrSuperseded
	}
	return nil
}

// mayScale returns an error if the object is no longer the observed one, or if its target has got another autoscaler
// since: the decision does not take that one into account.
func (o *observer) mayScale(autoscaler observehorizontal.Autoscaler) error {
	if _, isThere := o.records.targets.rivalOf(autoscaler.Key()); isThere {
		return scaling.ErrSuperseded
	}
	return o.unchanged(autoscaler)
}

// isCached reports whether the cache still has this version of the HPA.
func (o *observer) isCached(autoscaler observehorizontal.Autoscaler) bool {
	now, err := o.get(autoscaler.Key())
	return err == nil && now == autoscaler
}
