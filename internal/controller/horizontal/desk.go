package horizontal

import (
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/plimsoll-dev/plimsoll/internal/collect/resource"
	decide "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// desk is the memory that a decision needs while it is made; each is used by many
// decisions, one after the other.
type desk struct {
	pods     []*observe.Pod
	observed []metric.Pod
	readings []metric.Reading
	view     resource.View
	answers  observe.Answers
}

// sit gives a decision its desk.
func (c *Controller) sit(p *pass) {
	p.desk, _ = c.desks.Get().(*desk)
	if p.desk == nil {
		p.desk = &desk{}
	}
}

// rise takes the desk back. Nothing of the decision may be used after that.
func (c *Controller) rise(p *pass) {
	// What lies on it would keep objects alive that are gone.
	clear(p.desk.pods)
	p.desk.answers.Reset(&decide.Policy{}, nil)
	c.desks.Put(p.desk)
	p.desk = nil
}

// known is what was made of an object and of its target's scale, for as long as
// they are the same.
type known struct {
	hpa    *autoscalingv2.HorizontalPodAutoscaler
	policy decide.Policy

	scale    *autoscalingv1.Scale
	target   decide.Target
	selector *podindex.Selector
}

// policyOf is what the object asks for.
func (c *Controller) policyOf(p *pass) decide.Policy {
	k := &p.track.known
	if k.hpa != p.hpa {
		k.hpa, k.policy = p.hpa, observe.Policy(p.hpa, c.config.Options)
	}
	return k.policy
}

// targetOf is the scale as the core sees it, and its selector.
func targetOf(p *pass) (decide.Target, *podindex.Selector) {
	k := &p.track.known
	if k.scale != p.target.Scale {
		k.scale = p.target.Scale
		target, selector := observe.Target(p.target.Scale)
		k.target, k.selector = target, podindex.SelectorOf(selector)
	}
	return k.target, k.selector
}
