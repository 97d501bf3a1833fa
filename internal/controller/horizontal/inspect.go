package horizontal

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// Inspector is told of a decision: with all that it is made of, for plimsoll evaluate
// to decide alike, and with the decision, which is good until the inspector returns.
// Whoever decides waits for it, so it takes no time and calls nobody.
type Inspector func(step *snapshothorizontal.Step, d *horizontal.Decision)

// Inspect tells of each decision on the object until it is stopped. An object that
// nobody inspects costs nothing.
func (c *Controller) Inspect(object types.NamespacedName, inspector Inspector) (stop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	place := &inspector
	c.inspectors[object] = append(c.inspectors[object], place)
	c.inspected.Add(1)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		all := slices.DeleteFunc(slices.Clone(c.inspectors[object]), func(i *Inspector) bool { return i == place })
		if len(all) == len(c.inspectors[object]) {
			return
		}
		c.inspected.Add(-1)
		if c.inspectors[object] = all; len(all) == 0 {
			delete(c.inspectors, object)
		}
	}
}

// prepare makes what inspectors of the decision will be told, before the state goes
// into it; nil if there are none.
func (c *Controller) prepare(p *pass) *snapshothorizontal.Step {
	if c.inspected.Load() == 0 {
		return nil
	}
	c.mu.Lock()
	isInspected := len(c.inspectors[nameOf(p.hpa)]) > 0
	c.mu.Unlock()
	if !isInspected {
		return nil
	}
	step := snapshothorizontal.Of(&snapshothorizontal.Live{
		HPA: p.hpa, Scale: p.target.Scale, Pods: podsOf(p), Options: c.config.Options, State: &p.track.state,
		Observation: &p.observation, LooksForConflicts: c.config.Conflict != nil,
	})
	p.tell(step)
	return step
}

// podsOf are the decision's pods as the API has them.
func podsOf(p *pass) []*corev1.Pod {
	pods := make([]*corev1.Pod, len(p.pods))
	for i, pod := range p.pods {
		pods[i] = pod.API()
	}
	return pods
}

// inspect tells of the decision.
func (c *Controller) inspect(p *pass, step *snapshothorizontal.Step, d *horizontal.Decision) {
	if step == nil {
		return
	}
	step.Snapshot.Time = d.At
	c.mu.Lock()
	// Those that come and go meanwhile do so in another slice.
	inspectors := slices.Clone(c.inspectors[nameOf(p.hpa)])
	c.mu.Unlock()
	for _, inspector := range inspectors {
		(*inspector)(step, d)
	}
}

// tell adds what was answered to each metric, or known without asking.
func (p *pass) tell(step *snapshothorizontal.Step) {
	isMeasured := false
	for i := range p.answers {
		a := &p.answers[i]
		if a.usage == nil {
			step.AddAnswer(i, &a.Response)
			step.AddAsked(i, a.asked)
			continue
		}
		isMeasured = true
		if text := p.observation.Readings[i].Error; text != "" {
			step.AddError(i, text)
		}
	}
	if isMeasured {
		step.AddPodMetrics(p.scratch.view.PodMetrics(p.pods, p.policy.Metrics))
	}
}
