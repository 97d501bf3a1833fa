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
	// attempts is the number of attempts to read the history before the recommender starts without it.
	attempts = 3
	// retryPause is the time between them.
	retryPause = 5 * time.Second
)

// HistorySource has the use of containers before this process began.
type HistorySource interface {
	History(ctx context.Context, namespaces []string, now time.Time) ([]*prometheushistory.Pod, error)
}

// pastUse is the use of pods before the start. It must be used by one goroutine at a time.
type pastUse struct {
	Source HistorySource
	Log    logr.Logger

	// pods are by namespace.
	pods map[string][]*prometheushistory.Pod
}

// Read reads the history of the namespaces; it returns false if ctx ended before that. After a failure it logs the
// error and continues without the history.
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

// Forget frees the history, once all objects that existed at the start have it.
func (h *pastUse) Forget() { h.pods = nil }

// Of returns the use of the workload's pods, including deleted ones; without samples if there is no history.
func (h *pastUse) Of(namespace string, selector labels.Selector) recommend.Observation {
	var o recommend.Observation
	counts := map[string]int{}
	for _, pod := range h.pods[namespace] {
		// A pod without known labels could belong to any workload.
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

// samplesOf returns the samples of both resources. CPU and memory at one time are two samples, because either may be
// missing.
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
