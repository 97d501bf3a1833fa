package oracle

import (
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// seen is what a timeline has shown so far. A divergence may change a step only
// if what it is about was seen: state carries it on from there.
type seen map[divergence.Set]bool

// look adds one situation.
func (s seen) look(now *Situation) {
	s.lookAtPods(now)
	spec := &now.Spec
	least := int32(1)
	if spec.MinReplicas != nil {
		least = *spec.MinReplicas
	}
	// Surge pods, and pods that are not ready: neither turns a ratio round.
	uneven := int32(len(now.Pods)) != now.Scale.Spec || now.Scale.Status != now.Scale.Spec ||
		slices.ContainsFunc(now.Pods, unready)
	for about, is := range map[divergence.Set]bool{
		divergence.RolloutSurge:      uneven,
		divergence.NoReadyPods:       hasValueTarget(spec.Metrics),
		divergence.LeaveZero:         now.Scale.Spec == 0 && spec.Behavior != nil,
		divergence.ZeroBelowMin:      now.Scale.Spec == 0 && least > 0,
		divergence.ZeroCondition:     true,
		divergence.OtherWriter:       true,
		divergence.DropSeries:        now.Recreate || now.Rival,
		divergence.HistoryByUID:      now.Recreate,
		divergence.OutOfRange:        now.Scale.Spec > spec.MaxReplicas || now.Scale.Spec < least || now.Rival,
		divergence.AccurateMessages:  true,
		divergence.PartialContainer:  hasContainerMetric(spec.Metrics),
		divergence.RejectImplausible: now.Wild,
		divergence.WindowHistory:     now.Lengthened,
		divergence.OneDoubling:       spec.Behavior == nil,
		divergence.NewerSamples:      true,
		divergence.RecentlyReady:     slices.ContainsFunc(now.Pods, isReady),
		divergence.LoadOnce:          hasCPU(spec.Metrics) && slices.ContainsFunc(now.Pods, isReady),
		divergence.Saturate:          now.Wild || now.Scale.Spec == 0 || now.Scale.Status == 0,
	} {
		s[about] = s[about] || is
	}
}

// lookAtPods adds what is about single pods.
func (s seen) lookAtPods(now *Situation) {
	isUtilization := hasUtilization(now.Spec.Metrics)
	for about, is := range map[divergence.Set]bool{
		divergence.SucceededPods:     slices.ContainsFunc(now.Pods, succeeded),
		divergence.UncountedRequests: isUtilization && slices.ContainsFunc(now.Pods, uncounted),
		divergence.ActuatedRequests:  isUtilization && slices.ContainsFunc(now.Pods, resizing),
		divergence.PodLevelRequests:  isUtilization && slices.ContainsFunc(now.Pods, asWhole),
		divergence.ClaimedRequests:   isUtilization && slices.ContainsFunc(now.Pods, claiming),
		divergence.InitContainers:    slices.ContainsFunc(now.Pods, hasInitContainer),
	} {
		s[about] = s[about] || is
	}
}

// permits reports whether removing the divergence may change a step from one
// result to the other.
func (s seen) permits(d divergence.Set, with, without *Result) bool {
	if !s[d] {
		return false
	}
	// Text does not scale.
	return d != divergence.AccurateMessages || slices.Equal(with.Writes, without.Writes) &&
		with.Status.DesiredReplicas == without.Status.DesiredReplicas
}

func succeeded(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodSucceeded }

// unready reports whether upstream does not count the pod as ready: a finished pod may
// still have the condition.
func unready(pod *corev1.Pod) bool { return pod.Status.Phase != corev1.PodRunning || !isReady(pod) }

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// resizing reports whether the pod's status may have other requests than its spec.
func resizing(pod *corev1.Pod) bool { return len(pod.Status.ContainerStatuses) > 0 }

// asWhole reports whether something is requested for the pod as a whole.
func asWhole(pod *corev1.Pod) bool { return pod.Spec.Resources != nil }

func claiming(pod *corev1.Pod) bool { return len(pod.Status.NodeAllocatableResourceClaimStatuses) > 0 }

func uncounted(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning
}

func hasValueTarget(metrics []autoscalingv2.MetricSpec) bool {
	return slices.ContainsFunc(metrics, func(m autoscalingv2.MetricSpec) bool {
		return m.Object != nil && m.Object.Target.Value != nil || m.External != nil && m.External.Target.Value != nil
	})
}

func hasUtilization(metrics []autoscalingv2.MetricSpec) bool {
	return slices.ContainsFunc(metrics, func(m autoscalingv2.MetricSpec) bool {
		return m.Resource != nil && m.Resource.Target.AverageUtilization != nil ||
			m.ContainerResource != nil && m.ContainerResource.Target.AverageUtilization != nil
	})
}

func hasCPU(metrics []autoscalingv2.MetricSpec) bool {
	return slices.ContainsFunc(metrics, func(m autoscalingv2.MetricSpec) bool {
		return m.Resource != nil && m.Resource.Name == corev1.ResourceCPU ||
			m.ContainerResource != nil && m.ContainerResource.Name == corev1.ResourceCPU
	})
}

func hasContainerMetric(metrics []autoscalingv2.MetricSpec) bool {
	return slices.ContainsFunc(metrics, func(m autoscalingv2.MetricSpec) bool { return m.ContainerResource != nil })
}

// hasInitContainer reports whether a container of the pod ends before the others begin.
func hasInitContainer(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.RestartPolicy == nil })
}
