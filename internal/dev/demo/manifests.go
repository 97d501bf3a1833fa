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

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
)

// workload is a workload of the demo: a Deployment, the Service with its load, and the autoscaler.
type workload struct {
	name string
	// annotations configure its simulated pods.
	annotations map[string]string
	autoscaler  autoscaler
	// metric is the metric in the autoscaler's status.
	metric func(status) string
}

// workloads returns one that is scaled by its pods' usage, and one by their requests.
func (o *observer) workloads(c Config) ([]workload, error) {
	own, err := wla.New(c.REST)
	if err != nil {
		return nil, fmt.Errorf("client of WorkloadAutoscalers: %w", err)
	}
	web := workload{
		name: demoWorkload, metric: status.utilization,
		annotations: map[string]string{
			"sim.plimsoll.dev/cpu-per-request": strconv.Itoa(costMilli) + "m",
			"sim.plimsoll.dev/idle-cpu":        "0",
			"sim.plimsoll.dev/startup-delay":   "2s",
		},
	}
	spec := autoscalerSpec(c.Plan)
	web.autoscaler = hpa{client: o.client, name: web.name, spec: spec}
	if c.Kind == WorkloadAutoscaler {
		same, err := pasted(spec)
		if err != nil {
			return nil, err
		}
		web.autoscaler = workloadAutoscaler{client: own, name: web.name, spec: same}
	}
	requests, err := requestsSpec(c.Plan, c.PodMetricsPort)
	if err != nil {
		return nil, err
	}
	api := workload{
		name: requestsWorkload, metric: status.perPod,
		// Its pods wait for something else, such as a database: their CPU does not show the load.
		annotations: map[string]string{
			"sim.plimsoll.dev/cpu-per-request": "100u",
			"sim.plimsoll.dev/io-latency":      "100ms",
			"sim.plimsoll.dev/startup-delay":   "2s",
			"sim.plimsoll.dev/metrics":         "true",
		},
		autoscaler: workloadAutoscaler{client: own, name: requestsWorkload, spec: requests},
	}
	return []workload{web, api}, nil
}

// createWorkloads makes them in a namespace of their own.
func createWorkloads(ctx context.Context, client kubernetes.Interface, workloads []workload) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: demoNamespace}}
	if _, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create namespace %s: %w", demoNamespace, err)
	}
	for _, w := range workloads {
		if err := w.create(ctx, client); err != nil {
			return err
		}
	}
	return nil
}

func (w workload) create(ctx context.Context, client kubernetes.Interface) error {
	create := metav1.CreateOptions{}
	if _, err := client.CoreV1().Services(demoNamespace).Create(ctx, w.service(), create); err != nil {
		return fmt.Errorf("create service %s/%s: %w", demoNamespace, w.name, err)
	}
	if _, err := client.AppsV1().Deployments(demoNamespace).Create(ctx, w.deployment(), create); err != nil {
		return fmt.Errorf("create deployment %s/%s: %w", demoNamespace, w.name, err)
	}
	return w.autoscaler.create(ctx)
}

func (w workload) service() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: w.name, Namespace: demoNamespace, Annotations: map[string]string{
				loadAnnotation: loadText(baseLoad),
				// Requests that waited for the first pod would be a surge before the demo's own.
				"sim.plimsoll.dev/backlog-limit": "0",
			},
		},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": w.name},
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
}

func (w workload) deployment() *appsv1.Deployment {
	labels := map[string]string{"app": w.name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: w.name, Namespace: demoNamespace},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: w.annotations},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name:  w.name,
					Image: "registry.example/" + w.name + ":1",
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

// requestsSpec scales on the requests that the pods count themselves.
func requestsSpec(plan Plan, port int) (plimsollv1alpha1.WorkloadAutoscalerSpec, error) {
	spec := autoscalerSpec(plan)
	spec.ScaleTargetRef.Name, spec.Metrics = requestsWorkload, nil
	own, err := pasted(spec)
	own.Metrics = []plimsollv1alpha1.MetricSpec{{
		Name: "requests", Type: plimsollv1alpha1.PodEndpointMetricSourceType,
		PodEndpoint: &plimsollv1alpha1.PodEndpointMetricSource{
			Port:      intstr.FromInt32(int32(port)),
			Metric:    plimsollv1alpha1.SeriesIdentifier{Name: "http_requests_total"},
			ValueType: plimsollv1alpha1.RateValueType,
			Target: plimsollv1alpha1.MetricTarget{
				Type:         plimsollv1alpha1.AverageValueMetricType,
				AverageValue: resource.NewQuantity(targetRequests, resource.DecimalSI),
			},
		},
	}}
	return own, err
}

// offer sets the load of each of the demo's Services.
func offer(ctx context.Context, client kubernetes.Interface, workloads []workload, load float64) error {
	services := client.CoreV1().Services(demoNamespace)
	for _, w := range workloads {
		s, err := services.Get(ctx, w.name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("get service %s/%s: %w", demoNamespace, w.name, err)
		}
		s.Annotations[loadAnnotation] = loadText(load)
		if _, err := services.Update(ctx, s, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("set the load of service %s/%s: %w", demoNamespace, w.name, err)
		}
	}
	return nil
}

const loadAnnotation = "sim.plimsoll.dev/requests-per-second"

func loadText(load float64) string { return strconv.FormatFloat(load, 'f', -1, 64) }
