package harness

import (
	"fmt"
	"maps"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/world"
)

// Workload makes objects with pods. Its zero value is one replica of "web" with a container "app" that requests
// 100m of CPU; a request of its load costs 10m, so that 10 requests/s are 100 %; it is ready after a second.
type Workload struct {
	Name     string
	Replicas *int32
	// Annotations are added to the pods' own; package internal/dev/devcluster/world lists them.
	Annotations map[string]string
	// Containers replace the default one.
	Containers []corev1.Container
}

func (w Workload) name() string {
	if w.Name == "" {
		return "web"
	}
	return w.Name
}

func (w Workload) replicas() *int32 {
	if w.Replicas == nil {
		return ptr.To[int32](1)
	}
	return w.Replicas
}

func (w Workload) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: w.name(), Labels: w.Labels()}
}

// Labels are the pods' labels, by which all of the workload's objects select them.
func (w Workload) Labels() map[string]string { return map[string]string{"app": w.name()} }

func (w Workload) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: w.Labels()}
}

// Template is the pods' template.
func (w Workload) Template() corev1.PodTemplateSpec {
	annotations := map[string]string{
		"sim.plimsoll.dev/startup-delay": "1s", world.AnnotationIdleCPU: "0", world.AnnotationCPUPerRequest: "10m",
	}
	maps.Copy(annotations, w.Annotations)
	containers := w.Containers
	if containers == nil {
		containers = []corev1.Container{Container("app", "100m", "64Mi")}
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: w.Labels(), Annotations: annotations},
		Spec:       corev1.PodSpec{Containers: containers, TerminationGracePeriodSeconds: ptr.To[int64](1)},
	}
}

// Container requests CPU and memory.
func Container(name, cpu, memory string) corev1.Container {
	return corev1.Container{Name: name, Image: "registry.example/simulated:1", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		},
	}}
}

// Deployment is the workload as a Deployment.
func (w Workload) Deployment() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: w.meta(), Spec: appsv1.DeploymentSpec{
		Replicas: w.replicas(), Selector: w.selector(), Template: w.Template(),
	}}
}

// StatefulSet is the workload as a StatefulSet whose pods need not wait for each other.
func (w Workload) StatefulSet() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: w.meta(), Spec: appsv1.StatefulSetSpec{
		Replicas: w.replicas(), Selector: w.selector(), Template: w.Template(),
		PodManagementPolicy: appsv1.ParallelPodManagement,
	}}
}

// ReplicaSet is the workload as a ReplicaSet.
func (w Workload) ReplicaSet() *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: w.meta(), Spec: appsv1.ReplicaSetSpec{
		Replicas: w.replicas(), Selector: w.selector(), Template: w.Template(),
	}}
}

// ReplicationController is the workload as a ReplicationController.
func (w Workload) ReplicationController() *corev1.ReplicationController {
	return &corev1.ReplicationController{ObjectMeta: w.meta(), Spec: corev1.ReplicationControllerSpec{
		Replicas: w.replicas(), Selector: w.Labels(), Template: ptr.To(w.Template()),
	}}
}

// DaemonSet is the workload as a DaemonSet, which cannot be scaled.
func (w Workload) DaemonSet() *appsv1.DaemonSet {
	return &appsv1.DaemonSet{ObjectMeta: w.meta(), Spec: appsv1.DaemonSetSpec{
		Selector: w.selector(), Template: w.Template(),
	}}
}

// Service offers the workload's pods this many requests per second. SetLoad changes it. Nothing waits for the first
// pod: it would begin with a burst, the higher the longer the machine took to start it.
func (w Workload) Service(requestsPerSecond float64) *corev1.Service {
	meta := w.meta()
	meta.Annotations = map[string]string{
		world.AnnotationLoad: strconv.FormatFloat(requestsPerSecond, 'f', -1, 64), world.AnnotationBacklogLimit: "0",
	}
	return &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Selector: w.Labels(), ClusterIP: corev1.ClusterIPNone,
	}}
}

// Queue is a Service without pods in which this many requests wait, for metrics that do not depend on how many pods
// there are: its queue_length is exactly that. SetQueue changes it.
func Queue(name string, length int) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
			world.AnnotationLoad: "10000", world.AnnotationBacklogLimit: strconv.Itoa(length), // full within a tick or two
		}},
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone},
	}
}

// SetQueue makes this many requests wait in a Queue.
func (s *Namespace) SetQueue(name string, length int) {
	s.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"%d"}}}`, world.AnnotationBacklogLimit, length)
	_, err := s.Client.CoreV1().Services(s.Name).Patch(s.t.Context(), name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
}

// Create creates objects in the namespace.
func (s *Namespace) Create(objects ...client.Object) {
	s.t.Helper()
	api, err := client.New(s.Cluster.RESTConfig(), client.Options{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, object := range objects {
		created, isObject := object.DeepCopyObject().(client.Object)
		if !isObject {
			s.t.Fatalf("%T is no object", object)
		}
		created.SetNamespace(s.Name)
		if err := api.Create(s.t.Context(), created); err != nil {
			s.t.Fatalf("create %T %s: %v", object, object.GetName(), err)
		}
	}
}
