package demo

import (
	"context"
	"fmt"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// createWorkload makes what the demo scales: a Deployment, the Service that its
// load is offered to, and the autoscaler.
func createWorkload(ctx context.Context, client kubernetes.Interface, a autoscalers, plan Plan) error {
	meta := metav1.ObjectMeta{Name: demoWorkload, Namespace: demoNamespace}
	create := metav1.CreateOptions{}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: demoNamespace}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, create); err != nil {
		return fmt.Errorf("create namespace %s: %w", demoNamespace, err)
	}
	if _, err := client.CoreV1().Services(demoNamespace).Create(ctx, service(meta), create); err != nil {
		return fmt.Errorf("create service %s/%s: %w", demoNamespace, demoWorkload, err)
	}
	if _, err := client.AppsV1().Deployments(demoNamespace).Create(ctx, deployment(meta), create); err != nil {
		return fmt.Errorf("create deployment %s/%s: %w", demoNamespace, demoWorkload, err)
	}
	return a.create(ctx, autoscalerSpec(plan))
}

func service(meta metav1.ObjectMeta) *corev1.Service {
	meta.Annotations = map[string]string{loadAnnotation: loadText(baseLoad)}
	return &corev1.Service{
		ObjectMeta: meta,
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": demoWorkload},
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
}

func deployment(meta metav1.ObjectMeta) *appsv1.Deployment {
	labels := map[string]string{"app": demoWorkload}
	return &appsv1.Deployment{
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{
					"sim.plimsoll.dev/cpu-per-request": strconv.Itoa(costMilli) + "m",
					"sim.plimsoll.dev/idle-cpu":        "0",
					"sim.plimsoll.dev/startup-delay":   "2s",
				}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name:  demoWorkload,
					Image: "registry.example/web:1",
					Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
						corev1.ResourceCPU:    *resource.NewMilliQuantity(requestMilli, resource.DecimalSI),
						corev1.ResourceMemory: resource.MustParse("64Mi"),
					}},
				}}},
			},
		},
	}
}

// autoscalerSpec is that of an ordinary HorizontalPodAutoscaler; only its scale-down window
// is shorter than the default of five minutes, for which a demo has no time.
func autoscalerSpec(plan Plan) autoscalingv2.HorizontalPodAutoscalerSpec {
	return autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
			APIVersion: "apps/v1", Kind: "Deployment", Name: demoWorkload,
		},
		MinReplicas: ptr.To[int32](minReplicas),
		MaxReplicas: maxReplicas,
		Metrics: []autoscalingv2.MetricSpec{{
			Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU,
				Target: autoscalingv2.MetricTarget{
					Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](targetPercent),
				},
			},
		}},
		Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleDown: &autoscalingv2.HPAScalingRules{
				StabilizationWindowSeconds: ptr.To(int32(plan.Stabilization / time.Second)),
			},
		},
	}
}

// offer sets the load of the demo's Service.
func offer(ctx context.Context, client kubernetes.Interface, load float64) error {
	services := client.CoreV1().Services(demoNamespace)
	s, err := services.Get(ctx, demoWorkload, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get service %s/%s: %w", demoNamespace, demoWorkload, err)
	}
	s.Annotations[loadAnnotation] = loadText(load)
	if _, err := services.Update(ctx, s, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("set the load of service %s/%s: %w", demoNamespace, demoWorkload, err)
	}
	return nil
}

const loadAnnotation = "sim.plimsoll.dev/requests-per-second"

func loadText(load float64) string { return strconv.FormatFloat(load, 'f', -1, 64) }
