package loop

import (
	"math/rand/v2"
	"time"
)

// agent is when the agents of a group's nodes read what their pods use, and when they are asked for that.
type agent struct{ reads, asked time.Duration }

// newAgent has a group's agents read and asked at times of their own, so that what is answered is up to an
// interval old.
func (p *Plimsoll) newAgent(random *rand.Rand) agent {
	interval := p.timing.Agents
	switch {
	case interval <= 0 || !p.readsKubelets:
		return agent{never, never}
	case p.timing.Aligned:
		return agent{0, 0}
	}
	return agent{time.Duration(random.Int64N(int64(interval))), time.Duration(random.Int64N(int64(interval)))}
}

// scrapesKubelets reports whether what pods use comes from kubelets.
func (p *Plimsoll) scrapesKubelets() bool { return p.readsKubelets && p.timing.Agents <= 0 }

// serveAgent does what is due of a group's agents. What is new leads to a decision.
func (p *Plimsoll) serveAgent(i int) {
	g, now := &p.groups[i], p.World.Now()
	if g.agent.reads <= now {
		g.agent.reads += p.timing.Agents
		for pod, c := range p.World.Containers() {
			if pod.Group == i {
				c.Agent, c.HasAgent = pod.Read(c, now), true
			}
		}
	}
	if g.agent.asked > now {
		return
	}
	g.agent.asked += p.timing.Agents
	if p.World.IsSilent(i) {
		g.failures++
		return
	}
	g.answered(now)
	isNew := false
	for pod, c := range p.World.Containers() {
		if pod.Group == i && c.HasAgent && c.History.Read(p.World.Epoch(), now, c.Agent) {
			isNew = true
		}
	}
	if isNew {
		p.report(g)
	}
}
