package sources

import (
	"iter"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/kube/services"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

func podsOf(pods *podcache.Cache) services.Pods {
	return func(namespace string, selector labels.Selector) iter.Seq[services.Pod] {
		return func(yield func(services.Pod) bool) {
			for pod := range pods.InNamespace(namespace) {
				if selector.Matches(pod.Labels()) && !yield(behindService(pod)) {
					return
				}
			}
		}
	}
}

func behindService(pod *observe.Pod) services.Pod {
	return services.Pod{
		Address: pod.Address(), IsHostNetwork: pod.IsHostNetwork(), Port: pod.Port,
		IsReady: pod.IsReady() && pod.Phase == metric.PhaseRunning && !pod.Deleting,
	}
}
