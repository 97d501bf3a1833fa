package horizontal

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/calls"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/monitor"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/scaling"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/schedule"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/status"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// reconciler decides HPAs and carries decisions out.
type reconciler struct {
	hpas        HPAMode
	divergences divergence.Set
	syncPeriod  time.Duration
	// past may be nil.
	past Past
	log  logr.Logger

	queue      *schedule.Queue
	workers    calls.Workers
	records    *hpaRecords
	triggers   *triggers
	observer   *observer
	status     *status.Writer
	contests   *takeover.Detector
	comparer   takeover.Comparer
	inspectors *inspectors
	series     *monitor.Series
	scratches  scratchPool
	// keeper is nil without checkpoints.
	keeper *checkpoints.Keeper
}

// batchTime is the time for which a worker takes further items that are due, which spares them a new goroutine: that
// one's stack would have to grow first, and on busy processors it would wait behind all scrapes in progress. A decision
// that waits for a worker gets one soon after.
const batchTime = 10 * time.Millisecond

// work decides HPAs that are due, this one first. The caller has acquired a worker; work releases it.
func (r *reconciler) work(ctx context.Context, item schedule.Item) {
	defer r.workers.Release()
	for end := time.Now().Add(batchTime); ; {
		r.workOn(ctx, item)
		now := time.Now()
		if ctx.Err() != nil || now.After(end) {
			return
		}
		isDue := false
		if item, _, isDue = r.queue.Take(now); !isDue {
			return
		}
	}
}

func (r *reconciler) workOn(ctx context.Context, item schedule.Item) {
	r.series.Lateness.Observe(time.Since(item.Due).Seconds())
	full := time.Now().Add(r.syncPeriod)
	defer func() { r.queue.Done(item.Key, full) }()
	autoscaler, err := r.observer.get(item.Key)
	if apierrors.IsNotFound(err) {
		r.forget(item.Key)
		return
	}
	if err != nil {
		r.log.Error(err, "reading the cache", "object", item.Key.String())
		return
	}
	full = r.reconcile(ctx, autoscaler, item)
}

// forget drops a deleted HPA. The caller is the HPA's worker.
func (r *reconciler) forget(key observe.Key) {
	r.queue.Forget(key)
	r.observer.pods.Delete(key)
	// A worker may have set series after the deletion dropped them.
	if r.divergences.Has(divergence.DropSeries) {
		r.series.Forget(key)
	}
	r.series.Startup.Forget(key)
	record := r.records.of(key)
	r.contests.Forget(&record.contest)
	r.observer.reader.Forget(key, &record.readings)
	r.status.Forget(&record.status)
	if r.keeper != nil {
		r.keeper.Forget(key)
	}
	if r.past != nil {
		r.past.Forget(key)
	}
	r.records.forget(key)
}

// begin returns the HPA's record for a decision, without the history of a deleted HPA of the same name.
func (r *reconciler) begin(autoscaler observehorizontal.Autoscaler) *hpaRecord {
	now := time.Now()
	record := r.records.begin(autoscaler.Key(), now)
	if record.uid == autoscaler.UID {
		return record
	}
	state := record.state
	if record.uid == "" || r.divergences.Has(divergence.HistoryByUID) {
		state = observehorizontal.FirstState(autoscaler)
	}
	record.owned = owned{uid: autoscaler.UID, state: state}
	record.isRestored.Store(false)
	record.scaling.Begin()
	record.readings.Begin(now)
	record.comparison.Reset()
	record.loads.Reset()
	r.status.Begin(&record.status, autoscaler, now)
	r.series.Startup.Forget(autoscaler.Key())
	return record
}

// reconcile decides the HPA, unless it has to wait, and returns when the next full decision is due.
func (r *reconciler) reconcile(
	ctx context.Context, autoscaler observehorizontal.Autoscaler, item schedule.Item,
) (due time.Time) {
	now := time.Now()
	p := &pass{autoscaler: autoscaler, record: r.begin(autoscaler), began: now, start: now}
	p.observation.Trigger = item.Trigger()
	due = item.Full
	if p.isFull() {
		due = schedule.Following(autoscaler.UID, p.start, r.periodOf(autoscaler))
	}
	// The writers of checkpoints and statuses control the input from here on.
	defer r.recoverPanic(p)
	r.restore(autoscaler, p.record)
	if r.status.IsBehind(&p.record.status, autoscaler, p.start, p.observation.Trigger) {
		r.series.StaleSkips.WithLabelValues(autoscalingv2.GroupName, "horizontalpodautoscalers").Inc()
		if r.status.CheckVersion(ctx, &p.record.status, autoscaler, p.start) {
			return time.Now()
		}
		if !r.observer.isCached(autoscaler) {
			// The cache has caught up since.
			r.triggers.cacheChanged(autoscaler.Key(), p.record)
		}
		return due
	}
	if until := r.contested(p); !until.IsZero() {
		return until
	}
	if p.purpose != toAct && !p.isFull() {
		// Another controller decides by its sync period alone.
		return due
	}
	due = r.following(p, r.decide(ctx, p), due)
	return p.record.followed.Due(p.start, due)
}

func (r *reconciler) periodOf(autoscaler observehorizontal.Autoscaler) time.Duration {
	return autoscaler.SyncPeriod(r.syncPeriod)
}

// following returns when the next full decision is due, given the outcome of this one; due is the time without a reason
// for an earlier or a later one.
func (r *reconciler) following(p *pass, err error, due time.Time) time.Time {
	log := func(message string) {
		r.log.V(1).Info(message, "object", p.autoscaler.Key().String(), "err", err)
	}
	switch {
	case err == nil && p.result.IsDirect && !p.isByEventAlone():
		// The sync period is the longest time without a decision, and this was one.
		return schedule.Following(p.autoscaler.UID, p.start, r.periodOf(p.autoscaler))
	case err == nil:
		return due
	case scaling.IsLate(err):
		r.series.Outdated.Inc()
		log("decided again")
		return r.triggers.repeat(p, due)
	case scaling.IsOvertaken(err):
		r.series.Overtaken.Inc()
		log("decided again")
		return r.triggers.overtaken(p, due)
	default:
		log("not decided")
		return due
	}
}

// decide makes one decision: observe, decide, act.
func (r *reconciler) decide(ctx context.Context, p *pass) error {
	r.scratches.acquire(p)
	// Not deferred: after a panic the buffers may hold anything.
	err := r.decideOnScratch(ctx, p)
	r.scratches.release(p)
	return err
}

func (r *reconciler) decideOnScratch(ctx context.Context, p *pass) error {
	err := r.observer.observe(ctx, p)
	if p.purpose == toAct {
		for _, warning := range p.result.Warnings {
			r.status.Warn(p.autoscaler, &p.record.status, "FailedReadKubelet", warning)
		}
	}
	if err != nil {
		return err
	}
	r.nameOtherWriter(ctx, p)
	p.record.readings.Complete(p.start)
	if p.purpose != toProbe {
		r.fillPast(p)
	}
	switch p.purpose {
	case toShadow:
		r.compare(p)
		return nil
	case toProbe:
		r.probe(ctx, p)
		return nil
	}
	p.record.state = p.record.followed.Follow(&p.policy, p.record.state, &p.observation)
	step := r.inspectors.prepare(p)
	p.decided = time.Now()
	decision, state := horizontal.Decide(p.decided, &p.policy, p.record.state, &p.observation)
	// Decide consumed the old state.
	p.record.state = state
	if decision.Branch == horizontal.BranchAwaiting {
		if p.autoscaler.IsWorkload() {
			r.triggers.followUp(p, &decision)
		}
		r.log.V(1).Info("decision deferred until newer samples arrive", "object", p.autoscaler.Key().String(),
			"trigger", decision.Trigger.String(), "current", decision.Current, "proposed", decision.Proposed.Replicas,
			"pending", decision.Pending, "outdated", decision.Outdated)
		return nil
	}
	r.inspectors.send(p, step, &decision)
	p.record.loads.Add(&p.policy, &p.observation, &decision)
	r.triggers.followUp(p, &decision)
	return r.act(ctx, p, &decision)
}

// act carries out the decision and reports it. A write that has begun finishes also while the program ends, and so does
// the status that reports it; each call has its own deadline.
func (r *reconciler) act(ctx context.Context, p *pass, d *horizontal.Decision) error {
	if p.record.contest.IsPaused() {
		p.record.state = horizontal.Settle(p.record.state,
			horizontal.Outcome{At: time.Now(), Error: takeover.ErrContested.Error()})
		return takeover.ErrContested
	}
	outcome := horizontal.Outcome{At: time.Now()}
	if d.Rescale {
		began, err := r.rescale(ctx, p, d)
		outcome.At, outcome.Began = time.Now(), began
		if err != nil {
			outcome.Error, outcome.MayBeWritten = err.Error(), !scaling.IsGivenUp(err)
		}
		if p.record.scaling.IsUnreported(err) {
			p.record.state = horizontal.Settle(p.record.state, outcome)
			return err
		}
		ctx = context.WithoutCancel(ctx)
	}
	p.record.scaling.Settled()
	p.record.state = horizontal.Settle(p.record.state, outcome)
	p.update = status.Update{
		Autoscaler: p.autoscaler, Record: &p.record.status, Contest: &p.record.contest, Policy: &p.policy, Decision: d,
		Next: p.update.Next, Report: statusreport.Of(d, outcome), Start: p.start, IsRepeatedSoon: p.result.IsDirect,
	}
	r.reportOverrides(p)
	err := r.status.Write(ctx, &p.update)
	r.count(p, &monitor.Outcome{Decision: d, Report: &p.update.Report, StatusErr: err})
	return nil
}

// nameOtherWriter identifies the other writer of the replica count, if the decision will report one.
func (r *reconciler) nameOtherWriter(ctx context.Context, p *pass) {
	if p.purpose != toAct || p.scale.Err != nil || !r.divergences.Has(divergence.OtherWriter) {
		return
	}
	next := p.record.state.Overrides.Next(time.Now(), p.observation.Target.SpecReplicas, r.syncPeriod)
	if next.IsNamed {
		r.observer.scaler.ReadOtherWriter(ctx, &p.record.scaling, p.scale.Target)
	}
	if next.IsNew {
		r.status.Warn(p.autoscaler, &p.record.status, statusreport.ReplicasOverridden,
			r.observer.scaler.OverriddenBy(&p.record.scaling, p.autoscaler))
	}
}

// reportOverrides sets the condition about another writer of the replica count.
func (r *reconciler) reportOverrides(p *pass) {
	if message := r.otherWriter(p); message != "" {
		p.update.Report.Set(statusreport.ReplicasOverridden, true, "AnotherWriter", message)
		return
	}
	p.update.Report.Show(statusreport.ReplicasOverridden, false,
		p.autoscaler.IsOverridden(), "NoOtherWriter",
		"no other writer has set the replica count lately")
}

// otherWriter describes another writer of the replica count; empty if there is none.
func (r *reconciler) otherWriter(p *pass) string {
	if p.record.state.Overrides.IsContested(p.decided, r.syncPeriod) {
		return r.observer.scaler.OverriddenBy(&p.record.scaling, p.autoscaler)
	}
	if by := r.contests.Junior(&p.record.contest); by != "" {
		return statusreport.OverriddenByInstallation(by, p.autoscaler.TargetName())
	}
	return ""
}

// rescale writes the decided replica count, and returns when the write began.
func (r *reconciler) rescale(ctx context.Context, p *pass, d *horizontal.Decision) (began time.Time, err error) {
	change := &scaling.Change{
		Autoscaler: p.autoscaler, Record: &p.record.scaling, Contest: &p.record.contest, Target: p.scale.Target,
		Desired: d.Desired, Decided: p.decided, ContestedUntil: p.record.state.Overrides.HeldUntil(p.decided, r.syncPeriod),
	}
	began, err = r.observer.scaler.Write(ctx, change)
	switch {
	case err == nil:
		r.series.Startup.Scaled(p.autoscaler.Key(), began, d.Desired-d.Current)
	case scaling.IsHeld(err):
		// Nothing else may trigger a decision before the next sync period.
		r.queue.AddEarly(p.autoscaler.Key(), change.HeldUntil(), p.mayLower())
	}
	return began, err
}

// compare decides in mode shadow, and compares the decision with the other controller's instead of carrying it out.
func (r *reconciler) compare(p *pass) {
	now, state := time.Now(), p.record.state
	isBetween := r.comparer.IsBetween(now, &p.record.comparison, &p.actual)
	if isBetween {
		state = state.Clone()
	}
	p.comparePeriodically()
	step := r.inspectors.prepare(p)
	d, state := horizontal.Decide(now, &p.policy, state, &p.observation)
	r.inspectors.send(p, step, &d)
	p.record.loads.Add(&p.policy, &p.observation, &d)
	p.update.Report = statusreport.Of(&d, horizontal.Outcome{At: now})
	report := &p.update.Report
	compared := takeover.Compared{
		Autoscaler: p.autoscaler, Policy: &p.policy, Actual: &p.actual, Decision: &d, Report: report,
	}
	if !isBetween {
		p.record.state = p.record.comparison.Record(now, &compared, state)
	}
	r.count(p, &monitor.Outcome{Decision: &d, Report: report})
	r.comparer.Compare(&p.record.comparison, &compared)
}

func (r *reconciler) count(p *pass, o *monitor.Outcome) {
	o.Autoscaler, o.Metrics, o.Began, o.Answers = p.autoscaler, p.policy.Metrics, p.began, &p.result
	o.Observation = &p.observation
	o.IsReferenceInvalid = p.scale.IsReferenceInvalid()
	r.series.Decided(o)
}

// recoverPanic keeps a panic over one HPA from stopping the decisions on the others.
func (r *reconciler) recoverPanic(p *pass) {
	cause := recover()
	if cause == nil {
		return
	}
	p.record.reset()
	r.status.Panicked(p.autoscaler, cause, p.purpose != toAct)
}
