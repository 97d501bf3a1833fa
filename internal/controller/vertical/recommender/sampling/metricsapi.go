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
	// askPeriod is how often metrics.k8s.io is asked where it has to be; what it says
	// is seldom newer.
	askPeriod = 30 * time.Second
	// fewNamespaces are asked for one by one; beyond it one list has all.
	fewNamespaces = 3
)

// ask asks metrics.k8s.io for the pods that are lacking: each namespace, or once
// for all.
func (r *rounds) ask(ctx context.Context, now time.Time) {
	byName := map[types.NamespacedName][]lacking{}
	var namespaces []string
	for _, l := range r.lacking {
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

// takeMetrics records what metrics.k8s.io says of a pod. What it says of a pod
// before it, of the same name, ended before this one began.
func (s *Sampler) takeMetrics(now time.Time, wanted []lacking, item *metricsv1beta1.PodMetrics) {
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
