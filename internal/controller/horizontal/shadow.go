package horizontal

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

// compare decides in shadow mode, and compares with the other controller's decision instead of
// carrying it out.
func (c *Controller) compare(p *pass) {
	now, state := time.Now(), p.track.state
	isBetween := c.comparer.IsBetween(now, &p.track.comparison, &p.actual)
	if isBetween {
		state = state.Clone()
	}
	// The other one decides by its sync period alone.
	p.observation.Trigger, p.observation.NewerAwaited = trigger.Periodic, false
	step := c.prepare(p)
	d, state := horizontal.Decide(now, &p.policy, state, &p.observation)
	c.inspect(p, step, &d)
	report := d.Report(horizontal.Outcome{At: now})
	compared := takeover.Compared{HPA: p.hpa, Policy: &p.policy, Actual: &p.actual, Decision: &d, Report: &report, Target: targetName(p)}
	if !isBetween {
		p.track.state = p.track.comparison.Record(now, &compared, state)
	}
	c.measure(p, &d, &report, nil)
	c.comparer.Compare(&p.track.comparison, &compared)
}
