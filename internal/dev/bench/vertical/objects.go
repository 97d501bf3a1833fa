package vertical

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

const (
	objectsPerNamespace = 50
	podsPerNode         = 80
	container           = "app"
	appLabel            = "app"
)

// The pods' requests are the recommendations for their usage: 80 millicores and 216 MiB, with a load that rises and
// falls by a quarter. More is the minimum of all objects when pods are to be changed.
const (
	requestCPU    = "125m"
	requestMemory = "267Mi"
	moreCPU       = "250m"
)

// history is the length of the checkpoints' history, so that the bounds of the recommendations are narrow.
const history = 7 * 24 * time.Hour

func namespaceName(n int) string { return fmt.Sprintf("shop-%d", n) }

func objectName(n int) string { return fmt.Sprintf("web-%d", n) }

func namespaceOf(object int) string { return namespaceName(object / objectsPerNamespace) }

func labelsOf(object int) map[string]string { return map[string]string{appLabel: objectName(object)} }

func meta(object int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespaceOf(object), Name: objectName(object)}
}

func deployment(object, pods int) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: meta(object),
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(pods)), Selector: &metav1.LabelSelector{MatchLabels: labelsOf(object)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labelsOf(object), Annotations: map[string]string{
					"sim.plimsoll.dev/cpu-per-request": "10m", "sim.plimsoll.dev/idle-cpu": "0", "sim.plimsoll.dev/noise": "0.1",
					"sim.plimsoll.dev/memory-base": "208Mi", "sim.plimsoll.dev/memory-per-request": "1Mi",
				}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: container, Image: "registry.example/shop/web:v1",
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
						corev1.ResourceCPU: resource.MustParse(requestCPU), corev1.ResourceMemory: resource.MustParse(requestMemory),
					}},
				}}},
			},
		},
	}
}

// service carries a workload's load: eight requests a second for each pod, in a wave with a period of its own.
func service(object, pods int) *corev1.Service {
	made := &corev1.Service{
		ObjectMeta: meta(object),
		Spec: corev1.ServiceSpec{
			Selector: labelsOf(object), ClusterIP: corev1.ClusterIPNone,
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(80)}},
		},
	}
	made.Annotations = map[string]string{
		"sim.plimsoll.dev/requests-per-second": fmt.Sprintf("sine:mean=%d,amplitude=%d,period=%ds", 8*pods, 2*pods,
			200+object%200),
	}
	return made
}

func autoscaler(object int, mode string) *vpav1.VerticalPodAutoscaler {
	return &vpav1.VerticalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: vpav1.SchemeGroupVersion.String(), Kind: "VerticalPodAutoscaler"},
		ObjectMeta: meta(object),
		Spec: vpav1.VerticalPodAutoscalerSpec{
			TargetRef: &autoscalingv1.CrossVersionObjectReference{
				APIVersion: "apps/v1", Kind: "Deployment", Name: objectName(object),
			},
			UpdatePolicy: &vpav1.PodUpdatePolicy{UpdateMode: ptr.To(vpav1.UpdateMode(mode))},
		},
	}
}

// morePatch raises an object's minimum above its pods' requests.
const morePatch = `{"spec":{"resourcePolicy":{"containerPolicies":[{"containerName":"*","minAllowed":{"cpu":"` +
	moreCPU + `"}}]}}}`

// checkpoint is a week of samples, of which nine tenths of CPU are below 110 millicores and those of memory around 216
// MiB.
func checkpoint(object int, now time.Time) *vpav1.VerticalPodAutoscalerCheckpoint {
	const minutes = int(history / time.Minute)
	stored, reference := metav1.NewTime(now), metav1.NewTime(now.Truncate(24*time.Hour))
	return &vpav1.VerticalPodAutoscalerCheckpoint{
		TypeMeta: metav1.TypeMeta{APIVersion: vpav1.SchemeGroupVersion.String(), Kind: "VerticalPodAutoscalerCheckpoint"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespaceOf(object), Name: objectName(object) + "-" + container,
			// Plimsoll makes two requests when it writes one for the first time that has no annotation yet.
			Annotations: map[string]string{"bench.plimsoll.dev/made-up": "true"},
		},
		Spec: vpav1.VerticalPodAutoscalerCheckpointSpec{VPAObjectName: objectName(object), ContainerName: container},
		Status: vpav1.VerticalPodAutoscalerCheckpointStatus{
			LastUpdateTime: stored, Version: "v3",
			CPUHistogram: vpav1.HistogramCheckpoint{
				ReferenceTimestamp: reference, BucketWeights: map[int]uint32{5: 3000, 6: 10000, 7: 8000, 8: 3000},
				TotalWeight: 2000,
			},
			MemoryHistogram: vpav1.HistogramCheckpoint{
				ReferenceTimestamp: reference, BucketWeights: map[int]uint32{15: 10000}, TotalWeight: 8,
			},
			FirstSampleStart: metav1.NewTime(now.Add(-history)), LastSampleStart: stored, TotalSamplesCount: minutes,
		},
	}
}
