package oracle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// template is what new pods are made of.
type template struct {
	containers, init []corev1.Container
	pod              *corev1.ResourceRequirements
	overhead         corev1.ResourceList
}

func (g *generator) newTemplate() template {
	t := template{containers: []corev1.Container{g.container("main")}}
	if g.chance(3) {
		t.containers = append(t.containers, g.container("side"))
	}
	if g.trouble(12) {
		t.containers[0].Name = "renamed"
	}
	if g.chance(6) {
		c := g.container("sidecar")
		always := corev1.ContainerRestartPolicyAlways
		if g.IntN(3) > 0 {
			c.RestartPolicy = &always
		}
		t.init = []corev1.Container{c}
	}
	if g.chance(10) {
		t.pod = &corev1.ResourceRequirements{Requests: g.requests()}
		if g.chance(2) {
			t.overhead = corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(50, resource.DecimalSI)}
		}
	}
	return t
}

func (g *generator) container(name string) corev1.Container {
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: g.requests()}}
}

func (g *generator) requests() corev1.ResourceList {
	requests := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(int64(pick(g, 100, 250, 1000, 1)), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(pick(g, 64<<20, 100_000_000)), resource.BinarySI),
	}
	if g.trouble(30) {
		delete(requests, pick(g, corev1.ResourceCPU, corev1.ResourceMemory))
	}
	if g.wild && g.chance(10) {
		requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(0, resource.DecimalSI)
	}
	return requests
}

func (g *generator) now() time.Time { return g.begun.Add(g.at) }

// livePods takes the pods one step on: what is there ages, and the target's
// controller makes and deletes some.
func (g *generator) livePods(count int) {
	kept := g.pods[:0:0]
	for _, pod := range g.pods {
		if pod = g.age(pod); pod != nil {
			kept = append(kept, pod)
		}
	}
	g.pods = kept
	alive := 0
	for _, pod := range g.pods {
		if pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodFailed && pod.Status.Phase != corev1.PodSucceeded {
			alive++
		}
	}
	if g.chance(12) {
		// The target's controller is late.
		return
	}
	for ; alive < count+g.surge && len(g.pods) < 60; alive++ {
		g.pods = append(g.pods, g.newPod())
	}
	for i := len(g.pods) - 1; i >= 0 && alive > count+g.surge; i-- {
		if g.pods[i].DeletionTimestamp == nil {
			g.deletePod(i)
			alive--
		}
	}
}

func (g *generator) deletePod(i int) {
	if g.IntN(2) == 0 {
		g.pods = slices.Delete(g.pods, i, i+1)
		return
	}
	pod := g.pods[i].DeepCopy()
	now := metav1.NewTime(g.now())
	pod.DeletionTimestamp = &now
	g.pods[i] = pod
}

func (g *generator) newPod() *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: g.name(), Labels: map[string]string{"app": "web"}},
		Spec: corev1.PodSpec{
			Containers: g.template.containers, InitContainers: g.template.init, Resources: g.template.pod,
			Overhead: g.template.overhead,
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	if g.trouble(40) {
		pod.Labels["app"] = "other"
	}
	if g.IntN(4) > 0 {
		old := g.now().Add(-pick(g, 0, 10*time.Second, 30*time.Second, time.Minute, 5*time.Minute, time.Hour))
		runSince(pod, old)
		g.ready(pod, g.IntN(6) > 0, old.Add(pick(g, 0, 5*time.Second, 31*time.Second)))
	}
	if g.chance(20) {
		g.resize(pod)
	}
	if g.trouble(200) {
		g.claim(pod)
	}
	return pod.DeepCopy()
}

// resize is one in place that the kubelet has not done yet: its status still has other requests than the spec.
func (g *generator) resize(pod *corev1.Pod) {
	for i := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: pod.Spec.Containers[i].Name, Resources: &corev1.ResourceRequirements{Requests: g.requests()},
		})
	}
	if pod.Spec.Resources != nil {
		pod.Status.AllocatedResources = g.requests()
	}
}

// claim gives CPU to a pod beside what it requests.
func (g *generator) claim(pod *corev1.Pod) {
	pod.Status.NodeAllocatableResourceClaimStatuses = []corev1.NodeAllocatableResourceClaimStatus{{
		ResourceClaimName: pod.Name + "-cores", Containers: []string{pod.Spec.Containers[0].Name},
		Mapping: []corev1.NodeAllocatableMappedResources{{
			Name: corev1.ResourceCPU, Quantity: resource.NewMilliQuantity(500, resource.DecimalSI),
		}},
	}}
}

// stray is a pod that matches the selector and does not count: an old job's, or
// one that is on its way out. It has no requests.
func (g *generator) stray() *corev1.Pod {
	pod := g.newPod()
	pod.Labels["app"], pod.Spec.Resources = "web", nil
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Resources = corev1.ResourceRequirements{}
	}
	now := metav1.NewTime(g.now())
	switch g.IntN(3) {
	case 0:
		pod.DeletionTimestamp = &now
	case 1:
		pod.Status.Phase = corev1.PodFailed
	default:
		pod.Status.Phase = corev1.PodSucceeded
	}
	return pod
}

// darken makes no pod ready.
func (g *generator) darken() {
	if g.dark == 0 {
		return
	}
	g.dark--
	for i, pod := range g.pods {
		if pod.Status.Phase == corev1.PodRunning && len(pod.Status.Conditions) > 0 {
			g.pods[i] = pod.DeepCopy()
			g.ready(g.pods[i], false, g.now())
		}
	}
}

func runSince(pod *corev1.Pod, at time.Time) {
	start := metav1.NewTime(at)
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &start
}

func (g *generator) ready(pod *corev1.Pod, is bool, at time.Time) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	if at.After(g.now()) {
		at = g.now()
	}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status,
		LastTransitionTime: metav1.NewTime(at)}}
}

// age takes one pod a step on; nil when it goes.
func (g *generator) age(old *corev1.Pod) *corev1.Pod {
	finished := old.Status.Phase == corev1.PodFailed || old.Status.Phase == corev1.PodSucceeded
	if (old.DeletionTimestamp != nil || finished) && g.chance(3) {
		return nil
	}
	pod := old.DeepCopy()
	at := g.now().Add(-time.Duration(g.IntN(15)) * time.Second)
	switch {
	case finished:
		return old
	case pod.Status.Phase == corev1.PodPending && g.chance(2):
		runSince(pod, at)
		g.ready(pod, g.chance(2), at)
	case pod.Status.Phase == corev1.PodRunning && len(pod.Status.Conditions) > 0 &&
		pod.Status.Conditions[0].Status != corev1.ConditionTrue && g.chance(2):
		g.ready(pod, true, at)
	case g.trouble(20) && pod.Status.Phase == corev1.PodRunning:
		g.hurt(pod, at)
	default:
		return old
	}
	return pod
}

// hurt is what goes wrong with a running pod.
func (g *generator) hurt(pod *corev1.Pod, at time.Time) {
	switch g.IntN(7) {
	case 0:
		pod.Status.Phase = corev1.PodFailed
	case 1:
		pod.Status.Phase = corev1.PodSucceeded
	case 2:
		pod.Status.Conditions = nil
	case 3:
		pod.Status.StartTime = nil
	case 4:
		now := metav1.NewTime(g.now())
		pod.DeletionTimestamp = &now
	case 5:
		for i := range pod.Status.Conditions {
			pod.Status.Conditions[i].Status = corev1.ConditionUnknown
		}
	default:
		g.ready(pod, false, at)
	}
}
