package recommender

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/collect/prometheushistory"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender/sampling"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
)

// pastAttempts is how often the history is asked for before it is done without.
const pastAttempts = 3

// History knows what containers used before this process began. With it there are no
// checkpoints, as upstream.
type History interface {
	History(ctx context.Context, namespaces []string, now time.Time) ([]*prometheushistory.Pod, error)
}

// recall reads the history of all objects' namespaces; false if ctx ended before it
// could. What cannot be read is done without, and said.
func (r *Recommender) recall(ctx context.Context) bool {
	namespaces := namespacesOf(r.objects())
	for attempt := 1; ; attempt++ {
		pods, err := r.config.History.History(ctx, namespaces, time.Now())
		if err == nil {
			r.past = map[string][]*prometheushistory.Pod{}
			for _, pod := range pods {
				r.past[pod.Namespace] = append(r.past[pod.Namespace], pod)
			}
			r.log.Info("history was read from Prometheus", "namespaces", len(namespaces), "pods", len(pods))
			return true
		}
		if attempt == pastAttempts {
			r.log.Error(err, "the history cannot be read from Prometheus; it begins now, with low confidence")
			return true
		}
		r.log.Info("the history cannot be read from Prometheus; it is asked for again", "why", err.Error())
		select {
		case <-ctx.Done():
			return false
		case <-time.After(restorePause):
		}
	}
}

// namespacesOf are those of the objects, in order.
func namespacesOf(objects []*vpav1.VerticalPodAutoscaler) []string {
	var found []string
	for _, object := range objects {
		if !slices.Contains(found, object.Namespace) {
			found = append(found, object.Namespace)
		}
	}
	slices.Sort(found)
	return found
}

// remember teaches a new object what its workload's pods used, those that are gone
// too.
func (r *Recommender) remember(now time.Time, w *work) {
	if w.track.selector == nil {
		return
	}
	var o recommend.Observation
	counts := map[string]int{}
	for _, pod := range r.past[w.object.Namespace] {
		// A pod without known labels could be anybody's.
		if pod.Labels == nil || !w.track.selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		o.Pods = append(o.Pods, pod.Name)
		for name, use := range pod.Containers {
			counts[name]++
			o.Samples = append(o.Samples, samplesOf(pod.Name, name, use)...)
		}
	}
	if len(o.Samples) == 0 {
		return
	}
	for name, pods := range counts {
		o.Containers = append(o.Containers, recommend.Present{Container: name, Pods: pods})
	}
	slices.SortStableFunc(o.Samples, sampling.InOrder)
	_, w.track.state = recommend.Decide(now, w.policy, w.track.state, o)
	r.log.V(1).Info("history was taken in", "object", w.track.name.String(), "pods", len(o.Pods),
		"samples", len(o.Samples))
}

// samplesOf are those of both resources. CPU and memory of one moment are two, as
// either may be missing.
func samplesOf(pod, container string, use *prometheushistory.Use) []recommend.Sample {
	samples := make([]recommend.Sample, 0, len(use.CPU)+len(use.Memory))
	for r, list := range [vertical.Resources][]prometheushistory.Sample{
		vertical.CPU: use.CPU, vertical.Memory: use.Memory,
	} {
		for _, s := range list {
			samples = append(samples, recommend.Sample{
				Pod: pod, Container: container, At: s.At,
				Use: vertical.Amounts{}.With(vertical.Resource(r), vertical.AmountOf(s.Value)),
			})
		}
	}
	return samples
}
