package vertical

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	upstream "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/utils/ptr"
)

// updaterWorld is one workload with its VerticalPodAutoscaler and all that an
// updater asks about them, chosen by chance.
type updaterWorld struct {
	*rand.Rand
	namespace   string
	containers  []string
	creators    map[string]int32
	names       []string // of creators
	minReplicas int
	tolerance   float64
	skipBudget  bool
	minChange   float64
	lifetime    time.Duration
	afterOOM    time.Duration
	limitRange  *corev1.LimitRangeItem
	vpa         *upstream.VerticalPodAutoscaler
	pods        []*corev1.Pod
	// outcomes are the API server's answers in this pass, by verb and pod.
	outcomes map[string]error
	reached  map[string]int
	born     int
}

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func (w *updaterWorld) chance(percent int) bool { return w.IntN(100) < percent }

func newUpdaterWorld(seed uint64, reached map[string]int) *updaterWorld {
	w := &updaterWorld{Rand: rand.New(rand.NewPCG(seed, 5)), namespace: "shop", reached: reached}
	w.containers = []string{"web", "proxy", "log"}[:1+w.IntN(3)]
	w.minReplicas = w.IntN(4)
	w.tolerance = pick(w.Rand, 0, 0.1, 0.2, 0.5, 0.5, 1)
	w.skipBudget = w.chance(25)
	w.minChange = pick(w.Rand, 0, 0.1, 0.1, 0.5)
	w.lifetime = pick(w.Rand, 12*time.Hour, 12*time.Hour, time.Minute)
	w.afterOOM = 10 * time.Minute
	if w.chance(25) {
		w.limitRange = &corev1.LimitRangeItem{
			Type: corev1.LimitTypeContainer, Min: w.list(60), Max: w.list(60), Default: w.list(40),
		}
	}
	w.creators = map[string]int32{}
	for i := range 1 + w.IntN(2) {
		kind := pick(w.Rand, "ReplicaSet", "ReplicaSet", "ReplicaSet", "StatefulSet", "DaemonSet", "Job",
			"ReplicationController", "Foo")
		name := fmt.Sprintf("%s/%c", kind, 'a'+i)
		w.names = append(w.names, name)
		w.creators[name] = int32(w.IntN(9)) - 1
	}
	w.newVPA()
	for range w.IntN(12) {
		w.newPod()
	}
	return w
}

// list is a random list of resources; each is there in so many percent.
func (w *updaterWorld) list(percent int) corev1.ResourceList {
	list := corev1.ResourceList{}
	if w.chance(percent) {
		list[corev1.ResourceCPU] = *resource.NewMilliQuantity(pick[int64](w.Rand, 10, 25, 50, 100, 100, 150, 200, 1000),
			resource.DecimalSI)
	}
	if w.chance(percent) {
		list[corev1.ResourceMemory] = *resource.NewQuantity(pick[int64](w.Rand, 10, 50, 100, 100, 200, 250, 1000)<<20,
			resource.BinarySI)
	}
	return list
}

func (w *updaterWorld) newVPA() {
	w.vpa = &upstream.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}}
	w.vpa.Spec.TargetRef = &autoscalingv1.CrossVersionObjectReference{Kind: "Deployment", Name: "web"}
	if !w.chance(4) {
		mode := pick(w.Rand, upstream.UpdateModeOff, upstream.UpdateModeInitial, upstream.UpdateModeRecreate,
			upstream.UpdateModeRecreate,
			upstream.UpdateModeRecreate, upstream.UpdateModeInPlaceOrRecreate, upstream.UpdateModeInPlaceOrRecreate,
			upstream.UpdateModeInPlaceOrRecreate, upstream.UpdateModeInPlace, upstream.UpdateModeInPlace,
			upstream.UpdateModeInPlace)
		w.vpa.Spec.UpdatePolicy = &upstream.PodUpdatePolicy{UpdateMode: &mode}
		if w.chance(30) {
			w.vpa.Spec.UpdatePolicy.MinReplicas = ptr.To(1 + w.Int32N(3))
		}
		if w.chance(20) {
			w.vpa.Spec.UpdatePolicy.EvictAfterOOMSeconds = ptr.To(pick[int32](w.Rand, 60, 3600))
		}
		for range max(0, w.IntN(4)-1) {
			w.vpa.Spec.UpdatePolicy.EvictionRequirements = append(w.vpa.Spec.UpdatePolicy.EvictionRequirements, w.requirement())
		}
	}
	if w.chance(50) {
		w.vpa.Spec.ResourcePolicy = &upstream.PodResourcePolicy{}
		for _, name := range append([]string{"*"}, w.containers...) {
			if w.chance(50) {
				w.vpa.Spec.ResourcePolicy.ContainerPolicies = append(w.vpa.Spec.ResourcePolicy.ContainerPolicies,
					w.containerPolicy(name))
			}
		}
	}
	if w.chance(15) {
		w.vpa.Spec.StartupBoost = w.boost()
	}
	w.recommend()
}

func (w *updaterWorld) boost() *upstream.StartupBoost {
	return &upstream.StartupBoost{CPU: &upstream.GenericStartupBoost{
		Type: upstream.FactorStartupBoostType, Factor: ptr.To[int32](2),
		DurationSeconds: ptr.To(pick[int32](w.Rand, 0, 60, 600)),
	}}
}

func (w *updaterWorld) requirement() *upstream.EvictionRequirement {
	return &upstream.EvictionRequirement{
		Resources: pick(w.Rand, []corev1.ResourceName{corev1.ResourceCPU}, []corev1.ResourceName{corev1.ResourceMemory},
			[]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}, nil),
		ChangeRequirement: pick(w.Rand, upstream.TargetHigherThanRequests, upstream.TargetLowerThanRequests, "Sideways"),
	}
}

func (w *updaterWorld) containerPolicy(name string) upstream.ContainerResourcePolicy {
	policy := upstream.ContainerResourcePolicy{ContainerName: name}
	if w.chance(20) {
		policy.Mode = ptr.To(upstream.ContainerScalingModeOff)
	}
	if w.chance(30) {
		policy.MinAllowed = w.list(50)
	}
	if w.chance(30) {
		policy.MaxAllowed = w.list(50)
	}
	if w.chance(30) {
		policy.ControlledValues = ptr.To(upstream.ContainerControlledValuesRequestsOnly)
	}
	if w.chance(10) {
		policy.StartupBoost = w.boost()
	}
	return policy
}

// recommend recommends anew.
func (w *updaterWorld) recommend() {
	w.vpa.Status.Recommendation = nil
	// With a threshold of 0 and neither a recommendation nor a policy upstream panics.
	if w.chance(4) && w.minChange > 0 {
		return
	}
	w.vpa.Status.Recommendation = &upstream.RecommendedPodResources{}
	for _, name := range append([]string{"gone"}, w.containers...) {
		if !w.chance(90) {
			continue
		}
		rec := upstream.RecommendedContainerResources{
			ContainerName: name, Target: w.list(90), LowerBound: corev1.ResourceList{}, UpperBound: corev1.ResourceList{},
		}
		for _, r := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			q, ok := rec.Target[r]
			if !ok {
				continue
			}
			if w.chance(80) {
				rec.LowerBound[r] = scaled(q, pick(w.Rand, 50, 90, 100))
			}
			if w.chance(80) {
				rec.UpperBound[r] = scaled(q, pick(w.Rand, 100, 110, 300))
			}
		}
		w.vpa.Status.Recommendation.ContainerRecommendations = append(w.vpa.Status.Recommendation.ContainerRecommendations,
			rec)
	}
}

func scaled(q resource.Quantity, percent int) resource.Quantity {
	if q.Format == resource.BinarySI {
		return *resource.NewQuantity(q.Value()*int64(percent)/100, q.Format)
	}
	return *resource.NewMilliQuantity(q.MilliValue()*int64(percent)/100, q.Format)
}

func (w *updaterWorld) newPod() {
	w.born++
	kind, name, _ := cutCreator(pick(w.Rand, w.names...))
	now := time.Now()
	started := now.Add(-time.Duration(w.Int64N(int64(20 * time.Hour))))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: fmt.Sprintf("web-%d", w.IntN(20)), UID: types.UID(fmt.Sprintf("uid-%d", w.born)),
			Generation:        1,
			CreationTimestamp: metav1.NewTime(started), Annotations: map[string]string{},
			OwnerReferences: []metav1.OwnerReference{{Kind: kind, Name: name, Controller: ptr.To(true)}},
		},
		Spec:   corev1.PodSpec{NodeName: "node"},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, QOSClass: corev1.PodQOSBurstable},
	}
	for _, other := range w.pods {
		if other.Name == pod.Name {
			return
		}
	}
	if w.chance(12) {
		pod.Status.Phase = corev1.PodPending
	}
	if !w.chance(5) {
		pod.Status.StartTime = &pod.CreationTimestamp
	}
	if w.chance(90) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.PodReady, Status: pick(w.Rand, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse),
			LastTransitionTime: metav1.NewTime(now.Add(-time.Duration(w.Int64N(int64(20 * time.Minute))))),
		})
	}
	for _, container := range w.containers {
		w.addContainer(pod, container)
	}
	if w.chance(25) {
		pod.Annotations["vpaObservedContainers"] = pick(w.Rand, "", "web", "web, proxy", "web, proxy, log", "not valid!")
	}
	w.pods = append(w.pods, pod)
}

func (w *updaterWorld) addContainer(pod *corev1.Pod, name string) {
	c := corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: w.list(90), Limits: w.list(30)}}
	if w.chance(10) {
		c.ResizePolicy = []corev1.ContainerResizePolicy{{ResourceName: corev1.ResourceMemory,
			RestartPolicy: corev1.RestartContainer}}
	}
	pod.Spec.Containers = append(pod.Spec.Containers, c)
	if w.chance(20) {
		return
	}
	status := corev1.ContainerStatus{Name: name}
	if w.chance(60) {
		status.Resources = ptr.To(c.Resources)
		if w.chance(20) {
			status.Resources = &corev1.ResourceRequirements{Requests: w.list(90), Limits: w.list(30)}
		}
	}
	if w.chance(20) {
		status.LastTerminationState.Terminated = w.termination()
	}
	pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status)
	if w.chance(8) {
		// Lists of quantities always encode.
		text, _ := json.Marshal(map[string]any{"requests": w.list(80), "limits": w.list(30)})
		pod.Annotations["vpaCpuStartupBoost/"+name] = string(text)
	}
}

func (w *updaterWorld) termination() *corev1.ContainerStateTerminated {
	finished := time.Now().Add(-time.Duration(w.Int64N(int64(30 * time.Minute))))
	return &corev1.ContainerStateTerminated{
		Reason: pick(w.Rand, "OOMKilled", "OOMKilled", "Error"), ExitCode: 137, FinishedAt: metav1.NewTime(finished),
		StartedAt: metav1.NewTime(finished.Add(-time.Duration(w.Int64N(int64(30 * time.Minute))))),
	}
}

func cutCreator(creator string) (kind, name string, ok bool) {
	for i := range creator {
		if creator[i] == '/' {
			return creator[:i], creator[i+1:], true
		}
	}
	return creator, "", false
}

// step lets the world go on: pods come and go and change, resizes make progress,
// recommendations change.
func (w *updaterWorld) step() {
	for i := range w.pods {
		w.pods[i] = w.pods[i].DeepCopy()
		w.stepPod(w.pods[i])
	}
	if w.chance(40) && len(w.pods) > 0 {
		at := w.IntN(len(w.pods))
		w.pods = append(w.pods[:at:at], w.pods[at+1:]...)
	}
	if w.chance(40) {
		w.newPod()
	}
	if w.chance(40) {
		w.vpa = w.vpa.DeepCopy()
		w.recommend()
	}
	w.answer()
}

func (w *updaterWorld) stepPod(pod *corev1.Pod) {
	if w.chance(30) {
		w.resizeConditions(pod)
	}
	if w.chance(10) {
		pod.Generation++
	}
	if w.chance(10) && len(pod.Status.ContainerStatuses) > 0 {
		pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = w.termination()
	}
	if w.chance(5) {
		pod.Status.Phase = pick(w.Rand, corev1.PodRunning, corev1.PodPending)
	}
}

func (w *updaterWorld) resizeConditions(pod *corev1.Pod) {
	kept := pod.Status.Conditions[:0]
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			kept = append(kept, c)
		}
	}
	pending := corev1.PodCondition{
		Type:   corev1.PodResizePending,
		Status: pick(w.Rand, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse),
		Reason: pick(w.Rand, corev1.PodReasonDeferred, corev1.PodReasonInfeasible, corev1.PodReasonInfeasible, "Strange"),
	}
	progress := corev1.PodCondition{
		Type:   corev1.PodResizeInProgress,
		Status: pick(w.Rand, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionTrue, corev1.ConditionFalse),
		Reason: pick(w.Rand, "", "", corev1.PodReasonError, "Strange"), Message: pick(w.Rand, "", "", "", "words"),
	}
	switch w.IntN(6) {
	case 0, 1:
		kept = append(kept, pending)
	case 2, 3:
		kept = append(kept, progress)
	case 4:
		kept = append(kept, progress, pending)
	}
	pod.Status.Conditions = kept
}

// answer chooses what the API server answers in this pass.
func (w *updaterWorld) answer() {
	w.outcomes = map[string]error{}
	for _, pod := range w.pods {
		if w.chance(15) {
			w.outcomes["evict/"+pod.Name] = pick(w.Rand, apierrors.NewTooManyRequests("the disruption budget", 10),
				apierrors.NewInternalError(errors.New("broken")))
		}
		if w.chance(25) {
			w.outcomes["resize/"+pod.Name] = pick[error](w.Rand, apierrors.NewInternalError(errors.New("broken")),
				nodeCapacity())
		}
	}
}

func nodeCapacity() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: "NodeCapacity"}}},
	}}
}
