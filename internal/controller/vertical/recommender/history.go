package recommender

import (
	"context"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/collect/prometheushistory"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender/sampling"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
)

const (
	// attempts is how often the history is asked for before it is done without.
	attempts = 3
	// retryPause is the time between them.
	retryPause = 5 * time.Second
)

// HistorySource knows what containers used before this process began.
type HistorySource interface {
	History(ctx context.Context, namespaces []string, now time.Time) ([]*prometheushistory.Pod, error)
}

// pastUse is what pods used. One goroutine may use it at a time.
type pastUse struct {
	Source HistorySource
	Log    logr.Logger

	// pods are by namespace.
	pods map[string][]*prometheushistory.Pod
}

// Read reads the history of the namespaces; false if ctx ended before it could. What cannot be read is done without,
// and logged.
func (h *pastUse) Read(ctx context.Context, namespaces []string) bool {
	for attempt := 1; ; attempt++ {
		pods, err := h.Source.History(ctx, namespaces, time.Now())
		if err == nil {
			h.pods = map[string][]*prometheushistory.Pod{}
			for _, pod := range pods {
				h.pods[pod.Namespace] = append(h.pods[pod.Namespace], pod)
			}
			h.Log.Info("history loaded from Prometheus", "namespaces", len(namespaces), "pods", len(pods))
			return true
		}
		if attempt == attempts {
			h.Log.Error(err, "no history from Prometheus: recommendations start with low confidence")
			return true
		}
		h.Log.Info("reading the history from Prometheus failed; retrying", "err", err.Error())
		select {
		case <-ctx.Done():
			return false
		case <-time.After(retryPause):
		}
	}
}

// Forget frees what was read, once all that existed at the start have it.
func (h *pastUse) Forget() { h.pods = nil }

// Of is what the workload's pods used, those that are gone too; there are no samples where nothing is known.
func (h *pastUse) Of(namespace string, selector labels.Selector) recommend.Observation {
	var o recommend.Observation
	counts := map[string]int{}
	for _, pod := range h.pods[namespace] {
		// A pod without known labels could be of any workload.
		if pod.Labels == nil || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		o.Pods = append(o.Pods, pod.Name)
		for name, use := range pod.Containers {
			counts[name]++
			o.Samples = append(o.Samples, samplesOf(pod.Name, name, use)...)
		}
	}
	for name, pods := range counts {
		o.Containers = append(o.Containers, recommend.Present{Container: name, Pods: pods})
	}
	slices.SortStableFunc(o.Samples, sampling.InOrder)
	return o
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
