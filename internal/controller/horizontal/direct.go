package horizontal

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/resource"
	decide "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Direct knows what pods use without being asked for it.
type Direct interface {
	// Run collects until ctx ends.
	Run(ctx context.Context, watch resource.Watch)
	// Look finds what is known of the pods now; an error says why that is not enough
	// to decide on.
	Look(now time.Time, pods []*observe.Pod, v *resource.View) error
	// Prefer puts these nodes before others: for one scrape as soon as may be, or else
	// for some seconds where the budget is too short for all.
	Prefer(atOnce bool, nodes ...string)
}

var _ Direct = (*resource.Source)(nil)

// standInPeriod is how often metrics.k8s.io is asked while it stands in for
// kubelets, whose other samples lead to decisions each second. Its answers change
// less often.
const standInPeriod = 5 * time.Second

// lack is what is missing for resource metrics without asking.
type lack uint8

const (
	// lackUnknown: nobody has looked yet.
	lackUnknown lack = iota
	lackNothing
	// lackTime: too little is known yet.
	lackTime
	// lackNode: a node cannot be read.
	lackNode
	// lackRight: kubelets may not be asked at all.
	lackRight
)

// read reads all metrics: from what is known, from what was answered a moment ago,
// and for the rest by asking. errTooEarly and the end of ctx are all that can go wrong.
func (c *Controller) read(ctx context.Context, p *pass, pods []*observe.Pod) error {
	q := newCollection(len(p.policy.Metrics))
	lacking, why := c.look(p, q, pods)
	p.seen = pods
	if lacking != lackNothing {
		p.seen = nil
	}
	p.isDirect = q.isComplete() && lacking == lackNothing
	if !q.isComplete() {
		if err := c.request(ctx, p, q, lacking); err != nil {
			return err
		}
	}
	if c.readsKubelets(p) {
		c.tellLack(p, lacking, why)
	}
	// Samples of the kubelets come within seconds; others may be of the time before what
	// the count was last decided on.
	p.observation.NewerAwaited = lacking == lackTime
	c.useOthers(p, q, lacking)
	if c.readsKubelets(p) {
		c.tellUnreadable(p)
	}
	translate, readings := &p.desk.answers, p.desk.readings[:0]
	translate.Reset(&p.policy, pods)
	for i := range q.answers {
		readings = append(readings, read(translate, i, p.policy.Metrics[i].Type, &q.answers[i]))
	}
	p.desk.readings = readings
	p.observation.Readings, p.answers = readings, q.answers
	return nil
}

// look answers for resource metrics with what is known without asking, or says why
// that cannot be.
func (c *Controller) look(p *pass, q *collection, pods []*observe.Pod) (lack, error) {
	if !c.readsKubelets(p) {
		return lackRight, nil
	}
	view := &p.desk.view
	err := c.config.Direct.Look(p.start, pods, view)
	lacking := lackNode
	switch {
	case err == nil:
		lacking, p.unreadable = lackNothing, view.Unreadable().Pods
		for i := range q.answers {
			if isResource(p.policy.Metrics[i].Type) {
				q.answers[i], q.known[i] = answer{usage: view}, true
			}
		}
	case errors.Is(err, resource.ErrNotGranted):
		lacking = lackRight
	case errors.Is(err, resource.ErrStarting):
		lacking = lackTime
	}
	return lacking, err
}

// tellLack says when an object's resource metrics begin to come from elsewhere, and
// when they cease to.
func (c *Controller) tellLack(p *pass, lacking lack, err error) {
	source := sourceKubelet
	if lacking != lackNothing {
		source = sourceAPI
	}
	c.metrics.readings.WithLabelValues(source).Inc()
	c.mu.Lock()
	before := p.track.lack
	c.lacks(p.track, lacking)
	c.mu.Unlock()
	if before == lacking || lacking == lackRight {
		return
	}
	object, said := nameOf(p.hpa).String(), &p.track.said.standIn
	switch {
	case lacking == lackNothing && *said:
		*said = false
		c.log.Info("resource metrics come from the kubelets again", "object", object)
	case lacking == lackNothing:
		c.log.V(1).Info("resource metrics come from the kubelets", "object", object)
	case lacking == lackNode && !*said:
		*said = true
		c.log.Info("resource metrics come from metrics.k8s.io meanwhile", "object", object, "why", err.Error())
		if !c.config.Shadow {
			c.record(p, observe.Event{
				Type: corev1.EventTypeWarning, Reason: "FailedReadKubelet", Message: "metrics.k8s.io stands in meanwhile: " + err.Error(),
			})
		}
	default:
		c.log.V(1).Info("resource metrics come from metrics.k8s.io", "object", object, "why", err.Error())
	}
}

// lacks counts the objects for which metrics.k8s.io stands in. It needs the lock.
func (c *Controller) lacks(t *track, now lack) {
	if t.lack == lackNode {
		c.metrics.standIns.Dec()
	}
	if now == lackNode {
		c.metrics.standIns.Inc()
	}
	t.lack = now
}

// askedForResources notes when metrics.k8s.io was asked.
func (c *Controller) askedForResources(p *pass) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p.track.asked = p.start
}

// readsKubelets reports whether they can be read, and know any of the metrics.
func (c *Controller) readsKubelets(p *pass) bool {
	return c.config.Direct != nil && hasResource(&p.policy)
}

func isResource(kind metric.Type) bool {
	return kind == metric.Resource || kind == metric.ContainerResource
}

// hasResource reports whether there is a metric that kubelets know.
func hasResource(p *decide.Policy) bool {
	for i := range p.Metrics {
		if isResource(p.Metrics[i].Type) {
			return true
		}
	}
	return false
}
