package horizontal

import (
	"slices"
	"time"

	decide "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/pace"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// doublingPause is how long an object without behavior is not scaled up again.
const doublingPause = time.Second

// prefer puts the nodes before others that the next decision depends on: at once
// those of pods that have just begun to use far too much, as a second sample tells
// whether that is a surge; and all of a target near scaling up. One that was held
// because it has only just been scaled up is decided when that is over.
func (c *Controller) prefer(p *pass, d *decide.Decision) {
	if p.seen == nil {
		return
	}
	if d.Limited.Held == pace.TooSoon && c.config.Triggers {
		c.schedule.soon(nameOf(p.hpa), p.track.state.LastScaleUp.Add(doublingPause), true)
	}
	if nodes := suspects(p, d); len(nodes) > 0 {
		c.config.Direct.Prefer(true, nodes...)
	}
	if isNear(p, d) {
		c.config.Direct.Prefer(false, c.pods.NodesOf(nameOf(p.hpa), nil)...)
	}
}

// suspects are the nodes of pods with a suspicious first sample.
func suspects(p *pass, d *decide.Decision) []string {
	in := surge.Input{
		Specs: p.policy.Metrics, Readings: p.observation.Readings, Results: d.Metrics,
		Context: &metric.Context{Now: d.At, Pods: p.observation.Pods, Divergences: p.policy.Divergences},
	}
	var nodes []string
	for _, pod := range surge.Suspects(&p.policy.Surge, &in, nil) {
		if node := p.seen[pod].Node(); !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// isNear reports whether a resource metric has come halfway through the tolerance
// above its target, or further.
func isNear(p *pass, d *decide.Decision) bool {
	for i := range d.Metrics {
		r := &d.Metrics[i]
		if r.Failure == nil && isResource(p.policy.Metrics[i].Type) && r.Ratio > 1+p.policy.Tolerance.Up/2 {
			return true
		}
	}
	return false
}
