package loop

import (
	"fmt"

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
	if p.timing.Agents <= 0 {
		return dst, false
	}
	return p.Kubelet(i, dst), true
}

// Kubelet implements podload.Reader.
func (p *Plimsoll) Kubelet(i int, dst []podload.Container) []podload.Container {
	h := &p.World.Pods()[i].History
	return append(dst, h.Container("app", p.World.Now(), podload.MaxSampleAge(p.timing.Interval)))
}

// Health implements podload.Reader.
func (p *Plimsoll) Health(node string) podload.Health {
	for i := range p.groups {
		if nodeNames[i%len(nodeNames)] == node && p.groups[i].last >= 0 {
			return podload.Health{Since: p.World.Time(p.groups[i].first)}
		}
	}
	return podload.Health{Err: fmt.Errorf("node %s: %w", node, podload.ErrStarting)}
}

// observeResource reads a metric of the kubelets from the view; unknown is why that does not hold enough.
func (p *Plimsoll) observeResource(r *metric.Reading, spec *source.Spec, unknown error) {
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
