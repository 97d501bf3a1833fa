package horizontal

import (
	"context"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/schedule"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// contested returns until when another controller keeps the object; the zero time if this one decides it, and then it
// sets the decision's purpose.
func (r *reconciler) contested(p *pass) (until time.Time) {
	if r.hpas.Compares(p.autoscaler.Kind()) {
		p.purpose = toShadow
		return time.Time{}
	}
	state, until, hasBegun := r.contests.State(&p.record.contest, p.autoscaler)
	if hasBegun {
		p.record.reset()
	}
	switch state {
	case takeover.Left:
		return r.left(p, until)
	case takeover.Undecided:
		p.purpose = toProbe
	}
	p.record.isReleased = false
	return time.Time{}
}

// left returns when to check again an object that another controller acts on. In mode auto that controller may act on
// it for good: then the controller reads nothing for it. Its pods stay claimed if that takes no request.
func (r *reconciler) left(p *pass, until time.Time) time.Time {
	r.observer.subscribe(p, false)
	if r.hpas != takeover.Auto || p.autoscaler.IsWorkload() {
		return until
	}
	if !p.record.isReleased {
		key := p.autoscaler.Key()
		r.observer.pods.Delete(key)
		r.observer.reader.Forget(key, &p.record.readings)
		r.series.Forget(key)
		p.record.reset()
		p.record.isReleased = true
	}
	r.observer.claimKnown(p)
	return schedule.Following(p.autoscaler.UID, until, r.syncPeriod)
}

// probe decides as the other controller would. If the object's status has differed from the result for long enough, no
// other controller acts on it.
func (r *reconciler) probe(ctx context.Context, p *pass) {
	p.comparePeriodically()
	now := time.Now()
	learnt := p.record.state.Forecast
	d, state := horizontal.Decide(now, &p.policy, p.record.state, &p.observation)
	// The probe decides without a forecast, as another controller does. Keep the learnt one.
	state.Pending, state.Forecast = nil, learnt
	p.record.state = state
	report := statusreport.Of(&d, horizontal.Outcome{At: now})
	after := observehorizontal.StatusAfter(p.autoscaler, &d, &report, now)
	differs := takeover.Differs(p.autoscaler, &report, &after)
	if differs && r.contests.IsFirst(&p.record.contest) && !r.status.IsStored(ctx, p.autoscaler, now) {
		// The cache may lack another controller's last write.
		r.log.V(1).Info("not acting yet: the informer cache is stale", "object", p.autoscaler.Key().String())
		return
	}
	if r.contests.Compared(&p.record.contest, p.autoscaler, differs) {
		p.record.reset()
		r.queue.AddFull(p.autoscaler.Key(), now)
	}
}
