package loop

import (
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
)

var _ podload.Reader = (*Plimsoll)(nil)

// Pod implements podload.Reader. Each group of pods is one node.
func (p *Plimsoll) Pod(i int) (pod *metric.Pod, node string) {
	of := p.World.Pods()[i]
	if !of.IsPlaced {
		return &p.observation.Pods[i], ""
	}
	return &p.observation.Pods[i], nodeNames[of.Group%len(nodeNames)]
}

// nodeNames are the names of the groups.
var nodeNames = [...]string{"a", "b", "c"}

// Agent implements podload.Reader.
func (p *Plimsoll) Agent(i int, dst []podload.Container) (containers []podload.Container, answers bool) {
	if p.timing.Agents <= 0 || p.isLost(&p.groups[p.World.Pods()[i].Group]) {
		return dst, false
	}
	return p.Kubelet(i, dst), true
}

// Kubelet implements podload.Reader.
func (p *Plimsoll) Kubelet(i int, dst []podload.Container) []podload.Container {
	of := p.World.Pods()[i].Containers
	for k := range of {
		dst = append(dst, of[k].History.Container(of[k].Name, p.World.Now(), podload.MaxSampleAge(p.timing.Interval)))
	}
	return dst
}

// Health implements podload.Reader.
func (p *Plimsoll) Health(node string) podload.Health {
	for i := range p.groups {
		g := &p.groups[i]
		switch {
		case nodeNames[i%len(nodeNames)] != node || !g.hasAnswered:
		case p.isLost(g):
			return podload.Health{Err: fmt.Errorf("node %s: %w", node, errNoAnswer)}
		default:
			return podload.Health{Since: p.World.Time(g.first)}
		}
	}
	return podload.Health{Err: fmt.Errorf("node %s: %w", node, podload.ErrStarting)}
}

var errNoAnswer = errors.New("it does not answer")

// Limits of silence, as internal/collect/podusage and internal/collect/scrape have them.
const (
	// leastGrace is for how long a node's samples are used at least that does not answer, gracePeriods for how many
	// scrapes.
	leastGrace, gracePeriods = 3 * time.Second, 3
	// longestSilence is after how long what a node answers next is a beginning.
	longestSilence = 20 * time.Second
	// longestBackoff is how long a node is left alone at most that does not answer.
	longestBackoff = 30 * time.Second
)

// answered notes that the group's nodes answer.
func (g *group) answered(now time.Duration) {
	if now-g.last > longestSilence {
		g.first = now
	}
	g.last, g.failures, g.hasAnswered = now, 0, true
}

// isLost reports whether the group's nodes have not answered for so long that they count as unreadable.
func (p *Plimsoll) isLost(g *group) bool {
	return g.failures > 0 && p.World.Now()-g.last > max(leastGrace, gracePeriods*p.timing.Interval)
}

// backoff doubles with each failure.
func (p *Plimsoll) backoff(failures int) time.Duration {
	wait := p.timing.Interval
	for range failures {
		wait = min(2*wait, max(longestBackoff, p.timing.Interval))
	}
	return wait
}

// observeResource reads metric i of the kubelets from the view; unknown is why that does not hold enough. Then
// metrics.k8s.io stands in, or, if that knows no pod, those count that can be read.
func (p *Plimsoll) observeResource(i int, unknown error, asks bool) {
	r, spec := p.begin(i), &p.Policy.Metrics[i]
	isStarting := errors.Is(unknown, podload.ErrStarting)
	if unknown != nil && p.standIn != nil {
		p.standIn.ask(p.World, p.Policy.Metrics, asks && p.standIn.asked < p.World.Now())
		p.standIn.read(r, i, p.World.Pods())
		if !r.Empty || isStarting || !p.view.IsUsable() {
			p.observation.NewerAwaited = isStarting
			return
		}
		unknown, r.Samples = nil, r.Samples[:0]
	}
	if unknown != nil {
		r.Error = unknown.Error()
		return
	}
	hasEarlier := false
	for i := range p.observation.Pods {
		r.Samples = append(r.Samples, p.view.Sample(i, spec, arithmetic.Saturate))
		if spec.Name != source.CPU {
			continue
		}
		r.Recent = append(r.Recent, p.view.Recent(i, spec, arithmetic.Saturate))
		r.Earlier = append(r.Earlier, p.view.Earlier(i, spec, arithmetic.Saturate))
		hasEarlier = hasEarlier || r.Earlier[i].Present
	}
	if !hasEarlier {
		r.Earlier = r.Earlier[:0]
	}
	r.Empty = isEmpty(r)
}
