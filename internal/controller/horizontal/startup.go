package horizontal

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

const (
	// longestStartup is how long after a scale-up pods are taken to have come of it.
	longestStartup = 15 * time.Minute
	// mostRises is how many scale-ups of an object are remembered.
	mostRises = 16
)

// newStartup are the series of how the time from a scale write to a ready pod goes.
// They are not by object: what is slow is nearly always the cluster, and each label
// value would be a histogram.
func newStartup() (byPart *prometheus.HistogramVec, whole prometheus.Histogram) {
	// Statuses have whole seconds.
	buckets := []float64{0, 1, 2, 3, 5, 8, 12, 20, 30, 45, 60, 90, 120, 180, 300, 600}
	byPart = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "plimsoll_horizontal_startup_seconds", Buckets: buckets,
		Help: "Parts of the time from a scale write to a ready pod. The label 'part' is 'creation', 'scheduling', 'sandbox', 'init', 'image' or 'readiness', after what ended it.",
	}, []string{"part"})
	for _, part := range observe.StartupParts() {
		byPart.WithLabelValues(part.String())
	}
	return byPart, prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "plimsoll_horizontal_scale_to_ready_seconds", Buckets: buckets,
		Help: "The time from a scale write to each pod that came of it and is ready.",
	})
}

// scaleUps are an object's scale-ups, oldest first, with how many of their pods have
// not become ready yet.
type scaleUps []scaleUp

type scaleUp struct {
	at   time.Time
	pods int32
}

// add notes a change of the count at a time.
func (r scaleUps) add(at time.Time, change int32) scaleUps {
	if change <= 0 {
		// Which pods go is not known: those that start are taken first.
		return nil
	}
	if len(r) == mostRises {
		r = r[1:]
	}
	return append(r, scaleUp{at: at, pods: change})
}

// take is the scale-up that a pod of this time came of: the last one before that
// lacks pods. Of one pod more than that, such as a rollout's, there is none.
func (r scaleUps) take(created time.Time) (rest scaleUps, at time.Time, found bool) {
	for i := len(r) - 1; i >= 0; i-- {
		// Pods are created in whole seconds.
		before := created.Sub(r[i].at.Truncate(time.Second))
		if before < 0 || before > longestStartup {
			continue
		}
		at = r[i].at
		if r[i].pods--; r[i].pods == 0 {
			r = append(r[:i], r[i+1:]...)
		}
		return r, at, true
	}
	return r, time.Time{}, false
}

// noteScaleUp notes a count that was written.
func (c *Controller) noteScaleUp(t *track, at time.Time, change int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.scaleUps = t.scaleUps.add(at, change)
}

// podsHandler feeds the index of pods, and measures those that become ready.
func (c *Controller) podsHandler() cache.ResourceEventHandler {
	return podsFeed{c.pods.Handler(c.podsChanged()), c}
}

type podsFeed struct {
	cache.ResourceEventHandler
	controller *Controller
}

// OnUpdate implements cache.ResourceEventHandler.
func (f podsFeed) OnUpdate(before, after any) {
	f.ResourceEventHandler.OnUpdate(before, after)
	old, ok := before.(*observe.Pod)
	pod, alsoOK := after.(*observe.Pod)
	if ok && alsoOK && observe.BecameReady(old, pod) {
		f.controller.started(pod)
	}
}

// started measures how a pod came to be ready that a scale-up of ours asked for.
func (c *Controller) started(pod *observe.Pod) {
	for _, object := range c.pods.Of(pod.Namespace(), pod.Name) {
		at, found := c.scaleUpOf(object, time.Unix(0, pod.Created))
		if !found {
			continue
		}
		observe.SplitStartup(pod, at, func(part observe.StartupPart, took time.Duration) {
			c.metrics.startup.WithLabelValues(part.String()).Observe(took.Seconds())
		})
		c.metrics.toReady.Observe(max(0, pod.ReadyTransition.Sub(at.Truncate(time.Second)).Seconds()))
		return
	}
}

// scaleUpOf is when the scale-up was written that a pod of the object came of.
func (c *Controller) scaleUpOf(object types.NamespacedName, created time.Time) (at time.Time, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t, known := c.records[object]
	if !known {
		return time.Time{}, false
	}
	t.scaleUps, at, found = t.scaleUps.take(created)
	return at, found
}
