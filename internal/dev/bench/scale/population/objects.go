package population

import (
	"fmt"
	"net/netip"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

const (
	// RequestCPUMilli is each pod's request.
	RequestCPUMilli = 100
	// TargetUtilizationPercent is each autoscaler's target. Pods that use this share of their request are at rest.
	TargetUtilizationPercent = 50
	// RequestsPerSecond is the load of each pod at rest, and the target of an autoscaler on its own metrics.
	RequestsPerSecond = 100
	memoryRequest     = "128Mi"
	image             = "registry.example/shop/web:v1"
	containerPort     = 8080
)

// age is the age of all objects, by their timestamps: longer than any autoscaler distrusts a pod's first minutes.
const age = time.Hour

func namespace(n int) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: NamespaceName(n)}}
}

// node is a machine whose kubelet answers on a port of this one.
func (s Size) node(n, kubeletPort int) *corev1.Node {
	offered := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods: *resource.NewQuantity(int64(max(s.PodsPerNode, 110)), resource.DecimalSI),
	}
	now := metav1.Now()
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:   NodeName(n),
			Labels: map[string]string{corev1.LabelHostname: NodeName(n), corev1.LabelOSStable: "linux"},
		},
		Status: corev1.NodeStatus{
			Capacity: offered, Allocatable: offered,
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
				LastHeartbeatTime: now, LastTransitionTime: now,
			}},
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(kubeletPort)}},
		},
	}
}

func (s Size) meta(object int, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.NamespaceOf(object), Name: name, Labels: labelsOf(object)}
}

func labelsOf(object int) map[string]string { return map[string]string{AppLabel: ObjectName(object)} }

// PodLabels are the labels of a workload's pods.
func PodLabels(object int) map[string]string {
	labels := labelsOf(object)
	labels[appsv1.DefaultDeploymentUniqueLabelKey] = templateHash
	return labels
}

func template(object int) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labelsOf(object)},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: Container, Image: image,
			Env: []corev1.EnvVar{
				{Name: "POD_NAME",
					ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
				{Name: "LOG_LEVEL", Value: "info"},
			},
			Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: containerPort}},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{
					corev1.ResourceCPU:    *resource.NewMilliQuantity(RequestCPUMilli, resource.DecimalSI),
					corev1.ResourceMemory: resource.MustParse(memoryRequest),
				},
				Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("256Mi")},
			},
		}}},
	}
}

func (s Size) deployment(object int) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: s.meta(object, ObjectName(object)),
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(s.PodsPer)), Selector: &metav1.LabelSelector{MatchLabels: labelsOf(object)},
			Template: template(object),
		},
	}
}

// deploymentStatus is the status that the Deployment controller would write.
func (s Size) deploymentStatus(generation int64) appsv1.DeploymentStatus {
	pods := int32(s.PodsPer)
	return appsv1.DeploymentStatus{
		ObservedGeneration: generation, Replicas: pods, UpdatedReplicas: pods, ReadyReplicas: pods, AvailableReplicas: pods,
	}
}

func (s Size) replicaSet(owner *appsv1.Deployment, object int) *appsv1.ReplicaSet {
	set := &appsv1.ReplicaSet{
		ObjectMeta: s.meta(object, ReplicaSetName(object)),
		Spec: appsv1.ReplicaSetSpec{
			Replicas: ptr.To(int32(s.PodsPer)), Selector: &metav1.LabelSelector{MatchLabels: PodLabels(object)},
			Template: template(object),
		},
	}
	set.Labels, set.Spec.Template.Labels = PodLabels(object), PodLabels(object)
	set.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner,
		appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	return set
}

func (s Size) pod(owner *appsv1.ReplicaSet, place Place) *corev1.Pod {
	template := template(place.Object)
	pod := &corev1.Pod{ObjectMeta: s.meta(place.Object, PodName(place.Object, place.Pod)), Spec: template.Spec}
	pod.Labels = PodLabels(place.Object)
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner,
		appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	pod.Spec.NodeName = NodeName(s.NodeOf(place.Object, place.Pod))
	return pod
}

// podStatus is a kubelet's status of a pod that has been ready for long.
func podStatus(now time.Time, place Place) corev1.PodStatus {
	since := metav1.NewTime(now.Add(-age))
	status := corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &since, HostIP: "127.0.0.1", HostIPs: []corev1.HostIP{{IP: "127.0.0.1"}},
		PodIP: address(place), PodIPs: []corev1.PodIP{{IP: address(place)}}, QOSClass: corev1.PodQOSBurstable,
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: Container, Image: image, ImageID: "registry.example/shop/web@sha256:" + fmt.Sprintf("%064x", place.Object),
			ContainerID: "containerd://" + fmt.Sprintf("%064x", place.Object<<20|place.Pod),
			Ready:       true, Started: ptr.To(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: since}},
		}},
	}
	for _, kind := range []corev1.PodConditionType{
		corev1.PodReadyToStartContainers, corev1.PodInitialized, corev1.PodReady, corev1.ContainersReady, corev1.PodScheduled,
	} {
		status.Conditions = append(status.Conditions,
			corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: since})
	}
	return status
}

// MostObjects and MostPods are how many workloads, and pods of each, have addresses that they share with no other.
const (
	MostObjects = 64_000
	MostPods    = 250
)

// address is a pod's, and leads to this machine.
func address(place Place) string {
	return netip.AddrFrom4([4]byte{
		127, byte(place.Object>>8%MostPods + 1), byte(place.Object), byte(place.Pod%MostPods + 1),
	}).String()
}

// FindAddress is the pod with an address.
func (s Size) FindAddress(address netip.Addr) (place Place, found bool) {
	if !address.Is4() {
		return Place{}, false
	}
	bytes := address.As4()
	place = Place{Object: (int(bytes[1])-1)<<8 | int(bytes[2]), Pod: int(bytes[3]) - 1}
	found = bytes[0] == 127 && bytes[1] > 0 && place.Object < s.Objects && place.Pod >= 0 && place.Pod < s.PodsPer
	return place, found
}

func (s Size) autoscaler(object int) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: s.meta(object, ObjectName(object)),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "Deployment", Name: ObjectName(object),
			},
			MinReplicas: ptr.To[int32](1), MaxReplicas: int32(3 * s.PodsPer),
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{
					Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](TargetUtilizationPercent),
				}},
			}},
		},
	}
}

// verticalAutoscaler recommends and changes no pods, which nothing would replace here.
func (s Size) verticalAutoscaler(object int) *vpav1.VerticalPodAutoscaler {
	return &vpav1.VerticalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: vpav1.SchemeGroupVersion.String(), Kind: "VerticalPodAutoscaler"},
		ObjectMeta: s.meta(object, ObjectName(object)),
		Spec: vpav1.VerticalPodAutoscalerSpec{
			TargetRef: &autoscalingv1.CrossVersionObjectReference{
				APIVersion: "apps/v1", Kind: "Deployment", Name: ObjectName(object),
			},
			UpdatePolicy: &vpav1.PodUpdatePolicy{UpdateMode: ptr.To(vpav1.UpdateModeOff)},
		},
	}
}
