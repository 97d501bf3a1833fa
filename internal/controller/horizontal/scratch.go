package horizontal

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// scratch is the memory that a decision needs while it is made; each is used by many
// decisions, one after the other.
type scratch struct {
	pods     []*observe.Pod
	observed []metric.Pod
	readings []metric.Reading
	view     podusage.View
	answers  observehorizontal.Answers
}

// acquireScratch lends a decision buffers to work in.
func (c *Controller) acquireScratch(p *pass) {
	p.scratch, _ = c.scratches.Get().(*scratch)
	if p.scratch == nil {
		p.scratch = &scratch{}
	}
}

// releaseScratch takes them back. Nothing of the decision may be used after that.
func (c *Controller) releaseScratch(p *pass) {
	// What lies on it would keep objects alive that are gone.
	clear(p.scratch.pods)
	p.scratch.answers.Reset(&horizontal.Policy{}, nil)
	c.scratches.Put(p.scratch)
	p.scratch = nil
}

// derived is what was made of an object and of its target's scale, for as long as
// they are the same.
type derived struct {
	hpa    *autoscalingv2.HorizontalPodAutoscaler
	policy horizontal.Policy

	scale    *autoscalingv1.Scale
	target   horizontal.Target
	selector *podindex.Selector
}

// policyOf is what the object asks for.
func (c *Controller) policyOf(p *pass) horizontal.Policy {
	k := &p.track.derived
	if k.hpa != p.hpa {
		k.hpa, k.policy = p.hpa, observehorizontal.Policy(p.hpa, c.config.Options)
	}
	return k.policy
}

// targetOf is the scale as the core sees it, and its selector.
func targetOf(p *pass) (horizontal.Target, *podindex.Selector) {
	k := &p.track.derived
	if k.scale != p.target.Scale {
		k.scale = p.target.Scale
		target, selector := observehorizontal.Target(p.target.Scale)
		k.target, k.selector = target, podindex.SelectorOf(selector)
	}
	return k.target, k.selector
}
