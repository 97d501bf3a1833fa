package horizontal

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/monitor"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Direct knows what pods use without being asked for it.
type Direct interface {
	// Run collects until ctx ends.
	Run(ctx context.Context, watch podusage.Watch)
	// Look finds what is known of the pods now; an error says why that is not enough
	// to decide on.
	Look(now time.Time, pods []*observe.Pod, v *podusage.View) error
	// Prefer puts these nodes before others: for one scrape as soon as may be, or else
	// for some seconds where the budget is too short for all.
	Prefer(atOnce bool, nodes ...string)
}

var _ Direct = (*podusage.Source)(nil)

// standInPeriod is how often metrics.k8s.io is asked while it stands in for
// kubelets, whose other samples lead to decisions each second. Its answers change
// less often.
const standInPeriod = 5 * time.Second

// fallbackReason is what is missing for resource metrics without asking.
type fallbackReason uint8

const (
	// fallbackUnknown: nobody has looked yet.
	fallbackUnknown fallbackReason = iota
	noFallback
	// samplesAwaited: too little is known yet.
	samplesAwaited
	// nodeUnreadable: a node cannot be read.
	nodeUnreadable
	// notPermitted: kubelets may not be asked at all.
	notPermitted
)

// read reads all metrics: from what is known, from what was answered a moment ago,
// and for the rest by asking. errTooEarly and the end of ctx are all that can go wrong.
func (c *Controller) read(ctx context.Context, p *pass, pods []*observe.Pod) error {
	q := newCollection(len(p.policy.Metrics))
	lacking, why := c.look(p, q, pods)
	p.seen = pods
	if lacking != noFallback {
		p.seen = nil
	}
	p.isDirect = q.isComplete() && lacking == noFallback
	if !q.isComplete() {
		if err := c.request(ctx, p, q, lacking); err != nil {
			return err
		}
	}
	if c.readsKubelets(p) {
		c.reportFallback(p, lacking, why)
	}
	// Samples of the kubelets come within seconds; others may be of the time before what
	// the count was last decided on.
	p.observation.NewerAwaited = lacking == samplesAwaited
	c.useOthers(p, q, lacking)
	if c.readsKubelets(p) {
		c.tellUnreadable(p)
	}
	translate, readings := &p.scratch.answers, p.scratch.readings[:0]
	translate.Reset(&p.policy, pods)
	for i := range q.answers {
		readings = append(readings, read(translate, i, &q.answers[i]))
	}
	p.scratch.readings = readings
	p.observation.Readings, p.answers = readings, q.answers
	return nil
}

// look answers for resource metrics with what is known without asking, or says why
// that cannot be.
func (c *Controller) look(p *pass, q *collection, pods []*observe.Pod) (fallbackReason, error) {
	if !c.readsKubelets(p) {
		return notPermitted, nil
	}
	view := &p.scratch.view
	err := c.config.Direct.Look(p.start, pods, view)
	lacking := nodeUnreadable
	switch {
	case err == nil:
		lacking, p.unreadable = noFallback, view.Unreadable().Pods
		for i := range q.answers {
			if isResource(p.policy.Metrics[i].Type) {
				q.answers[i], q.known[i] = answer{usage: view}, true
			}
		}
	case errors.Is(err, podusage.ErrNotGranted):
		lacking = notPermitted
	case errors.Is(err, podusage.ErrStarting):
		lacking = samplesAwaited
	}
	return lacking, err
}

// reportFallback says when an object's resource metrics begin to come from elsewhere, and
// when they cease to.
func (c *Controller) reportFallback(p *pass, lacking fallbackReason, err error) {
	source := monitor.SourceKubelet
	if lacking != noFallback {
		source = monitor.SourceAPI
	}
	c.series.Readings.WithLabelValues(source).Inc()
	c.mu.Lock()
	before := p.track.fallback
	c.setFallback(p.track, lacking)
	c.mu.Unlock()
	if before == lacking || lacking == notPermitted {
		return
	}
	object, said := nameOf(p.hpa).String(), &p.track.reported.standIn
	switch {
	case lacking == noFallback && *said:
		*said = false
		c.log.Info("resource metrics come from the kubelets again", "object", object)
	case lacking == noFallback:
		c.log.V(1).Info("resource metrics come from the kubelets", "object", object)
	case lacking == nodeUnreadable && !*said:
		*said = true
		c.log.Info("resource metrics come from metrics.k8s.io meanwhile", "object", object, "why", err.Error())
		if !c.config.Shadow {
			c.record(p, observehorizontal.Event{
				Type: corev1.EventTypeWarning, Reason: "FailedReadKubelet", Message: "metrics.k8s.io stands in meanwhile: " + err.Error(),
			})
		}
	default:
		c.log.V(1).Info("resource metrics come from metrics.k8s.io", "object", object, "why", err.Error())
	}
}

// setFallback counts the objects for which metrics.k8s.io stands in. It needs the lock.
func (c *Controller) setFallback(t *track, now fallbackReason) {
	if t.fallback == nodeUnreadable {
		c.series.StandIns.Dec()
	}
	if now == nodeUnreadable {
		c.series.StandIns.Inc()
	}
	t.fallback = now
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

func isResource(kind source.Type) bool {
	return kind == source.Resource || kind == source.ContainerResource
}

// hasResource reports whether there is a metric that kubelets know.
func hasResource(p *horizontal.Policy) bool {
	for i := range p.Metrics {
		if isResource(p.Metrics[i].Type) {
			return true
		}
	}
	return false
}
