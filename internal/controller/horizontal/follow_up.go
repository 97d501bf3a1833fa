package horizontal

import (
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
)

// followUp puts the nodes before others that the next decision depends on, and has the
// object decided again where the decision asks for it.
func (c *Controller) followUp(p *pass, d *horizontal.Decision) {
	if p.seen == nil {
		return
	}
	next := d.Next(&p.track.state, &p.observation, nil)
	if !next.Again.IsZero() && c.config.Triggers {
		c.queue.AddEarly(nameOf(p.hpa), next.Again, true)
	}
	var nodes []string
	for _, pod := range next.Suspects {
		if node := p.seen[pod].Node(); !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
	}
	if len(nodes) > 0 {
		c.config.Direct.Prefer(true, nodes...)
	}
	if next.Near {
		c.config.Direct.Prefer(false, c.pods.NodesOf(nameOf(p.hpa), nil)...)
	}
}
