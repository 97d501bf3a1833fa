package sampling

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

const (
	// requestPeriod is the shortest time between two requests to metrics.k8s.io, whose values seldom change more often.
	requestPeriod = 30 * time.Second
	// fewNamespaces is the number of namespaces up to which each is requested on its own; beyond it one list has all.
	fewNamespaces = 3
)

// request requests the missing pods from metrics.k8s.io: by namespace, or all at once.
func (r *rounds) request(ctx context.Context, now time.Time) {
	byName := map[types.NamespacedName][]missing{}
	var namespaces []string
	for _, l := range r.missing {
		if !slices.Contains(namespaces, l.pod.Namespace()) && len(namespaces) <= fewNamespaces {
			namespaces = append(namespaces, l.pod.Namespace())
		}
		name := types.NamespacedName{Namespace: l.pod.Namespace(), Name: l.pod.Name}
		byName[name] = append(byName[name], l)
	}
	if len(namespaces) > fewNamespaces {
		namespaces = []string{r.config.Namespace}
	}
	for _, namespace := range namespaces {
		list, err := r.config.Metrics.Resource(ctx, namespace, "")
		r.config.Responded(err)
		if err != nil {
			r.log.V(1).Info("no usage of pods available", "namespace", namespace, "err", err.Error())
			continue
		}
		for i := range list.Items {
			item := &list.Items[i]
			r.takeMetrics(now, byName[types.NamespacedName{Namespace: item.Namespace, Name: item.Name}], item)
		}
	}
}

// takeMetrics records the values of metrics.k8s.io for a pod. Values of an earlier pod of the same name are older than
// the start of this one.
func (s *Sampler) takeMetrics(now time.Time, wanted []missing, item *metricsv1beta1.PodMetrics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range wanted {
		if item.Timestamp.Time.Before(l.pod.StartTime) {
			continue
		}
		for i := range item.Containers {
			c := &item.Containers[i]
			if !l.pod.Whole.HasContainer(c.Name) {
				continue
			}
			from, use := Source{l.pod.Whole.UID(), c.Name}, observevertical.AmountsOf(c.Usage)
			if amount, ok := use.Get(vertical.CPU); ok {
				s.add(now, l.object, from, Measured{vertical.CPU, amount, item.Window.Duration, item.Timestamp.Time})
			}
			if amount, ok := use.Get(vertical.Memory); ok {
				s.add(now, l.object, from, Measured{vertical.Memory, amount, 0, item.Timestamp.Time})
			}
		}
	}
}
