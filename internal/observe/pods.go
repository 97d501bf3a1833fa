package observe

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// Pods converts pods for the core, index for index.
func Pods(pods []*Pod) []metric.Pod {
	return AppendPods(make([]metric.Pod, 0, len(pods)), pods)
}

// APIPods returns pods of the API.
func APIPods(pods []*Pod) []*corev1.Pod {
	all := make([]*corev1.Pod, len(pods))
	for i, pod := range pods {
		all[i] = pod.API()
	}
	return all
}

// AppendPods is Pods into a buffer of the caller's.
func AppendPods(dst []metric.Pod, pods []*Pod) []metric.Pod {
	for _, pod := range pods {
		dst = append(dst, pod.Pod)
	}
	return dst
}

func readyCondition(pod *corev1.Pod) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodReady {
			return &pod.Status.Conditions[i]
		}
	}
	return nil
}

func readinessOf(s corev1.ConditionStatus) metric.Readiness {
	switch s {
	case corev1.ConditionTrue:
		return metric.ReadyTrue
	case corev1.ConditionFalse:
		return metric.ReadyFalse
	default:
		return metric.ReadyUnknown
	}
}

func phaseOf(p corev1.PodPhase) metric.Phase {
	switch p {
	case corev1.PodPending:
		return metric.PhasePending
	case corev1.PodRunning:
		return metric.PhaseRunning
	case corev1.PodSucceeded:
		return metric.PhaseSucceeded
	case corev1.PodFailed:
		return metric.PhaseFailed
	default:
		return metric.PhaseUnknown
	}
}
