package horizontaltest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// placeOf returns the namespace and the name of an object that tests call "bank/web"; a name alone belongs to the
// namespace shop.
func placeOf(name string) (namespace, bare string) {
	if namespace, bare, isWhole := strings.Cut(name, "/"); isWhole {
		return namespace, bare
	}
	return "shop", name
}

// Web adds a Deployment with running pods, and returns its HPA for changes
// before it is added too.
func (w *World) Web(name string, replicas int32) *autoscalingv2.HorizontalPodAutoscaler {
	w.T.Helper()
	namespace, name := placeOf(name)
	labels := map[string]string{"app": name}
	w.Add(DeploymentResource, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("deployment-" + name)},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}},
		Status:     appsv1.DeploymentStatus{Replicas: replicas},
	})
	for i := range replicas {
		p := Pod(fmt.Sprintf("%s-%d", name, i), labels)
		p.Namespace = namespace
		w.Add(PodResource, p)
	}
	target := int32(50)
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("hpa-" + name), Generation: 1},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment",
				Name: name},
			MaxReplicas: 20,
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{Name: "cpu", Target: autoscalingv2.MetricTarget{
					Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &target,
				}},
			}},
		},
	}
}

// Externally sets an external metric for the HPA, 100m for each pod.
func Externally(hpa *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
	average := resource.MustParse("100m")
	hpa.Spec.Metrics = []autoscalingv2.MetricSpec{{
		Type: autoscalingv2.ExternalMetricSourceType,
		External: &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "queue"},
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &average},
		},
	}}
	return hpa
}

// Pod returns a running pod that has been ready for an hour.
func Pod(name string, labels map[string]string) *corev1.Pod {
	long := metav1.NewTime(time.Now().Add(-time.Hour))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")},
		}}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: &long,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue,
				LastTransitionTime: long}},
		},
	}
}

// Add stores a new object.
func (w *World) Add(resource schema.GroupVersionResource, object metav1.Object) {
	w.T.Helper()
	w.Mu.Lock()
	w.Version++
	object.SetResourceVersion(strconv.Itoa(w.Version))
	w.Mu.Unlock()
	if err := w.Client.Tracker().Create(resource, object.(runtime.Object), object.GetNamespace()); err != nil {
		w.T.Fatal(err)
	}
	w.forgetPods()
}

// Pods returns a namespace's pods. They are shared: tests and kubelets must not change them. The fake API copies every
// pod that it lists, which would take most of the time of a test with many scrapes.
func (w *World) Pods(namespace string) []corev1.Pod {
	w.podsMu.Lock()
	defer w.podsMu.Unlock()
	if listed, found := w.listed[namespace]; found {
		return listed
	}
	list, err := w.Client.Tracker().List(PodResource, corev1.SchemeGroupVersion.WithKind("Pod"), namespace)
	if err != nil {
		w.T.Error(err)
		return nil
	}
	if w.listed == nil {
		w.listed = map[string][]corev1.Pod{}
	}
	w.listed[namespace] = list.(*corev1.PodList).Items
	return w.listed[namespace]
}

// forgetPods makes Pods list them again. Every write of a pod calls it.
func (w *World) forgetPods() {
	w.podsMu.Lock()
	defer w.podsMu.Unlock()
	w.listed = nil
}

// DeletePod deletes a pod.
func (w *World) DeletePod(name string) {
	w.T.Helper()
	if err := w.Client.Tracker().Delete(PodResource, "shop", name); err != nil {
		w.T.Fatal(err)
	}
	w.forgetPods()
}

// AddHPA stores a new HPA.
func (w *World) AddHPA(hpa *autoscalingv2.HorizontalPodAutoscaler) {
	w.T.Helper()
	w.Add(HPAResource, hpa)
}

// HPA returns a copy of a stored HPA.
func (w *World) HPA(name string) *autoscalingv2.HorizontalPodAutoscaler {
	w.T.Helper()
	namespace, name := placeOf(name)
	object, err := w.Client.Tracker().Get(HPAResource, namespace, name)
	if err != nil {
		w.T.Fatal(err)
	}
	return object.(*autoscalingv2.HorizontalPodAutoscaler).DeepCopy()
}

// DeleteHPA deletes an HPA.
func (w *World) DeleteHPA(name string) {
	w.T.Helper()
	if err := w.Client.Tracker().Delete(HPAResource, "shop", name); err != nil {
		w.T.Fatal(err)
	}
}

// Edit changes an HPA as a user would: with a new generation.
func (w *World) Edit(name string, change func(*autoscalingv2.HorizontalPodAutoscaler)) {
	w.T.Helper()
	hpa := w.HPA(name)
	change(hpa)
	hpa.Generation++
	w.Store(HPAResource, hpa)
}

// WriteStatus changes an HPA's status as another controller would.
func (w *World) WriteStatus(name, manager string, change func(*autoscalingv2.HorizontalPodAutoscalerStatus)) {
	w.T.Helper()
	hpa := w.HPA(name)
	change(&hpa.Status)
	hpa.ManagedFields = WroteStatus(hpa.ManagedFields, manager)
	w.Store(HPAResource, hpa)
}

// WroteStatus returns the managed fields after a status write.
func WroteStatus(fields []metav1.ManagedFieldsEntry, manager string) []metav1.ManagedFieldsEntry {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	return append(slices.DeleteFunc(slices.Clone(fields),
		func(m metav1.ManagedFieldsEntry) bool { return m.Manager == manager }),
		metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate,
			Subresource: "status", Time: &now})
}

// Store writes an object, with a new resource version.
func (w *World) Store(resource schema.GroupVersionResource, object metav1.Object) {
	w.T.Helper()
	w.Mu.Lock()
	w.Version++
	object.SetResourceVersion(strconv.Itoa(w.Version))
	w.Mu.Unlock()
	if err := w.Client.Tracker().Update(resource, object.(runtime.Object), object.GetNamespace()); err != nil {
		w.T.Fatal(err)
	}
	w.forgetPods()
}

// Deployment returns a copy of a stored Deployment.
func (w *World) Deployment(name string) *appsv1.Deployment {
	w.T.Helper()
	namespace, name := placeOf(name)
	object, err := w.Client.Tracker().Get(DeploymentResource, namespace, name)
	if err != nil {
		w.T.Fatal(err)
	}
	return object.(*appsv1.Deployment).DeepCopy()
}

// Replicas returns the replica count of a Deployment.
func (w *World) Replicas(name string) int32 {
	w.T.Helper()
	return *w.Deployment(name).Spec.Replicas
}

// SetReplicas scales a Deployment as a user would.
func (w *World) SetReplicas(name string, replicas int32) {
	w.T.Helper()
	d := w.Deployment(name)
	d.Spec.Replicas = &replicas
	w.Store(DeploymentResource, d)
}
