package vertical

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// Annotations of pods, by which upstream's admission controller and updater record their actions.
const (
	// AnnotationObserved lists the containers at admission.
	AnnotationObserved = "vpaObservedContainers"
	// AnnotationInPlaceUpdated marks a pod that was resized.
	AnnotationInPlaceUpdated = "vpaInPlaceUpdated"
	// AnnotationUpdates is a text with the changes of admission.
	AnnotationUpdates = "vpaUpdates"
	// AnnotationNotUpdated is a text with the changes that admission left out, as the API server would have refused the
	// pod; upstream does not have it.
	AnnotationNotUpdated = "plimsoll.dev/not-updated"
	// AnnotationResizedAt is the time of a pod's last resize; upstream does not have it.
	AnnotationResizedAt = "plimsoll.dev/resized-at"
	// AnnotationBoostPrefix is the prefix of the name of a container with its start-up boost; the value is its resources
	// from before.
	AnnotationBoostPrefix = "vpaCpuStartupBoost/"
)

// CriticalPriority is the priority of system-cluster-critical, the least of critical pods
// (k8s.io/kubernetes/pkg/apis/scheduling, SystemCriticalPriority).
const CriticalPriority = 2_000_000_000

// Pod returns the fields of a pod that vertical decisions use.
func Pod(p *corev1.Pod) vertical.Pod {
	pod := vertical.Pod{
		UID: string(p.UID), Namespace: p.Namespace, Name: p.Name, Generation: p.Generation,
		Creator: creatorOf(p.OwnerReferences),
		Node:    p.Spec.NodeName, Created: p.CreationTimestamp.Time, Pending: p.Status.Phase == corev1.PodPending,
		QoS: qosClasses[p.Status.QOSClass], Critical: p.Spec.Priority != nil && *p.Spec.Priority >= CriticalPriority,
	}
	if p.Status.StartTime != nil {
		pod.Started = p.Status.StartTime.Time
	}
	if ready, ok := podCondition(p.Status.Conditions, corev1.PodReady); ok {
		pod.Ready, pod.ReadySince = ready.Status == corev1.ConditionTrue, ready.LastTransitionTime.Time
	}
	if condition, status := resizeStatus(p.Status.Conditions); status != vertical.ResizeNone {
		pod.Resize, pod.ResizeSince = status, condition.LastTransitionTime.Time
		pod.ResizeGeneration = condition.ObservedGeneration
	}
	_, pod.Admitted = p.Annotations[AnnotationUpdates]
	_, pod.Refused = p.Annotations[AnnotationNotUpdated]
	// If it cannot be parsed, the time stays zero: the pod counts as not resized.
	pod.Resized, _ = time.Parse(time.RFC3339, p.Annotations[AnnotationResizedAt])
	pod.Observed, pod.HasObserved = observedContainers(p.Annotations)
	if p.Spec.Resources != nil {
		pod.Whole = resized(*p.Spec.Resources)
	}
	pod.InitContainers, pod.Overhead = initContainersOf(&p.Spec), AmountsOf(p.Spec.Overhead)
	pod.Containers = make([]vertical.PodContainer, len(p.Spec.Containers))
	for i := range p.Spec.Containers {
		pod.Containers[i] = podContainer(p, &p.Spec.Containers[i])
	}
	return pod
}

func initContainersOf(spec *corev1.PodSpec) vertical.InitContainers {
	if len(spec.InitContainers) == 0 {
		return nil
	}
	all := make(vertical.InitContainers, len(spec.InitContainers))
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		sidecar := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
		all[i] = vertical.InitContainer{Name: c.Name, Sidecar: sidecar, Resized: resized(c.Resources)}
	}
	return all
}

var qosClasses = map[corev1.PodQOSClass]vertical.QoS{
	corev1.PodQOSBestEffort: vertical.BestEffort, corev1.PodQOSBurstable: vertical.Burstable,
	corev1.PodQOSGuaranteed: vertical.Guaranteed,
}

// creatorOf returns the controller among the owners, as Kind/Name.
func creatorOf(owners []metav1.OwnerReference) string {
	for i := range owners {
		if owners[i].Controller != nil && *owners[i].Controller {
			return owners[i].Kind + "/" + owners[i].Name
		}
	}
	return ""
}

func podContainer(p *corev1.Pod, c *corev1.Container) vertical.PodContainer {
	container := vertical.PodContainer{Name: c.Name, Spec: resized(c.Resources), FixedHeap: HeapOfLimit(c) != ""}
	container.Requests, container.Limits = container.Spec.Requests, container.Spec.Limits
	for _, policy := range c.ResizePolicy {
		if r, ok := resourceNamed(policy.ResourceName); ok && policy.RestartPolicy == corev1.RestartContainer {
			container.Restarts[r] = true
		}
	}
	at := slices.IndexFunc(p.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.Name == c.Name })
	if at >= 0 {
		status := &p.Status.ContainerStatuses[at]
		if status.Resources != nil {
			actual := resized(*status.Resources)
			container.Requests, container.Limits = actual.Requests, actual.Limits
		}
		if ended := status.LastTerminationState.Terminated; ended != nil {
			container.Crashed = vertical.Termination{
				Started: ended.StartedAt.Time, Finished: ended.FinishedAt.Time,
				OutOfMemory: ended.Reason == "OOMKilled", Failed: ended.ExitCode != 0 || ended.Reason == "OOMKilled",
			}
		}
		container.Waiting = status.State.Waiting != nil && status.State.Waiting.Reason == "CrashLoopBackOff"
	}
	if text, ok := p.Annotations[AnnotationBoostPrefix+c.Name]; ok {
		container.Boosted = beforeBoost(text)
	}
	return container
}

// beforeBoost parses a container's resources from before its boost. A text that cannot be parsed only shows that there
// was a boost.
func beforeBoost(text string) *vertical.Resized {
	var original struct {
		Requests corev1.ResourceList `json:"requests"`
		Limits   corev1.ResourceList `json:"limits"`
	}
	err := quantity.Check([]byte(text), &original)
	if err == nil {
		err = json.Unmarshal([]byte(text), &original)
	}
	if err != nil {
		return &vertical.Resized{}
	}
	return &vertical.Resized{Requests: AmountsOf(original.Requests), Limits: AmountsOf(original.Limits)}
}

func resized(r corev1.ResourceRequirements) vertical.Resized {
	return vertical.Resized{Requests: AmountsOf(r.Requests), Limits: AmountsOf(r.Limits)}
}

// observedContainers parses the annotation. It returns false if that is not a list of names.
func observedContainers(annotations map[string]string) ([]string, bool) {
	text, ok := annotations[AnnotationObserved]
	if !ok || text == "" {
		return nil, ok
	}
	names := strings.Split(text, ", ")
	for _, name := range names {
		if len(validation.IsDNS1123Label(name)) != 0 {
			return nil, false
		}
	}
	return names, true
}

func podCondition(all []corev1.PodCondition, t corev1.PodConditionType) (*corev1.PodCondition, bool) {
	for i := range all {
		if all[i].Type == t {
			return &all[i], true
		}
	}
	return nil, false
}

// resizeStatus reads the two conditions as upstream does (pkg/updater/restriction/pods_restriction_factory.go, v1.8.1):
// the first one shows whether a resize is under way at all, the pending one its progress. It returns the condition with
// the result.
func resizeStatus(all []corev1.PodCondition) (*corev1.PodCondition, vertical.ResizeStatus) {
	isOne := func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodResizePending || c.Type == corev1.PodResizeInProgress
	}
	first := slices.IndexFunc(all, isOne)
	if first < 0 || all[first].Status != corev1.ConditionTrue {
		return nil, vertical.ResizeNone
	}
	if pending, ok := podCondition(all, corev1.PodResizePending); ok {
		switch pending.Reason {
		case corev1.PodReasonDeferred:
			return pending, vertical.ResizeDeferred
		case corev1.PodReasonInfeasible:
			return pending, vertical.ResizeInfeasible
		}
		return pending, vertical.ResizeUnknown
	}
	progress := &all[first]
	switch {
	case progress.Reason == "" && progress.Message == "":
		return progress, vertical.ResizeInProgress
	case progress.Reason == corev1.PodReasonError:
		return progress, vertical.ResizeError
	}
	return progress, vertical.ResizeUnknown
}

// IsBoosted reports whether a container of the pod has its start-up boost.
func IsBoosted(p *corev1.Pod) bool {
	for name := range p.Annotations {
		if strings.HasPrefix(name, AnnotationBoostPrefix) {
			return true
		}
	}
	return false
}
