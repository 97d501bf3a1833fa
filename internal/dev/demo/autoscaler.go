package demo

import (
	"context"
	"encoding/json"
	"fmt"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
)

// Kind is which object scales the demo's Deployment, by its short name.
type Kind string

// The kinds.
const (
	HPA                Kind = "hpa"
	WorkloadAutoscaler Kind = "wla"
)

// autoscalers has the calls about the demo's autoscaler, whatever its kind.
type autoscalers interface {
	create(ctx context.Context, spec autoscalingv2.HorizontalPodAutoscalerSpec) error
	status(ctx context.Context) (status, error)
}

// status is what the demo reads of an autoscaler's status.
type status struct {
	metrics    []autoscalingv2.MetricStatus
	conditions []condition
	// lines are what only a WorkloadAutoscaler shows.
	lines []string
}

type condition struct{ kind, status, reason, message string }

func (c condition) String() string { return fmt.Sprintf("%s %s: %s", c.kind, c.reason, c.message) }

// isComputed reports whether a replica count was computed from metrics.
func (s status) isComputed() bool {
	for _, c := range s.conditions {
		if c.kind == string(autoscalingv2.ScalingActive) {
			return c.status == string(metav1.ConditionTrue)
		}
	}
	return false
}

// percent is the utilization that the status shows; nil if it shows none.
func (s status) percent() *int32 {
	if len(s.metrics) == 0 || s.metrics[0].Resource == nil {
		return nil
	}
	return s.metrics[0].Resource.Current.AverageUtilization
}

// hpas are HorizontalPodAutoscalers.
type hpas struct{ client kubernetes.Interface }

func (a hpas) create(ctx context.Context, spec autoscalingv2.HorizontalPodAutoscalerSpec) error {
	object := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: demoWorkload}, Spec: spec}
	_, err := a.client.AutoscalingV2().HorizontalPodAutoscalers(demoNamespace).Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create horizontalpodautoscaler %s/%s: %w", demoNamespace, demoWorkload, err)
	}
	return nil
}

func (a hpas) status(ctx context.Context) (status, error) {
	object, err := a.client.AutoscalingV2().HorizontalPodAutoscalers(demoNamespace).Get(ctx, demoWorkload,
		metav1.GetOptions{})
	if err != nil {
		return status{}, fmt.Errorf("get horizontalpodautoscaler %s/%s: %w", demoNamespace, demoWorkload, err)
	}
	s := status{metrics: object.Status.CurrentMetrics}
	for _, c := range object.Status.Conditions {
		s.conditions = append(s.conditions, condition{string(c.Type), string(c.Status), c.Reason, c.Message})
	}
	return s, nil
}

// workloadAutoscalers are WorkloadAutoscalers.
type workloadAutoscalers struct{ client *wla.Client }

// create makes one with the spec of an HPA: each of its fields is a field of a WorkloadAutoscaler too.
func (a workloadAutoscalers) create(ctx context.Context, spec autoscalingv2.HorizontalPodAutoscalerSpec) error {
	object := &plimsollv1alpha1.WorkloadAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: demoWorkload}}
	text, err := json.Marshal(spec)
	if err == nil {
		err = json.Unmarshal(text, &object.Spec)
	}
	if err == nil {
		_, err = a.client.WorkloadAutoscalers(demoNamespace).Create(ctx, object, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("create workloadautoscaler %s/%s: %w", demoNamespace, demoWorkload, err)
	}
	return nil
}

func (a workloadAutoscalers) status(ctx context.Context) (status, error) {
	object, err := a.client.WorkloadAutoscalers(demoNamespace).Get(ctx, demoWorkload, metav1.GetOptions{})
	if err != nil {
		return status{}, fmt.Errorf("get workloadautoscaler %s/%s: %w", demoNamespace, demoWorkload, err)
	}
	return workloadStatus(&object.Status), nil
}

// workloadStatus is a WorkloadAutoscaler's status. The lines are its fields of that name.
func workloadStatus(from *plimsollv1alpha1.WorkloadAutoscalerStatus) status {
	s := status{metrics: from.CurrentMetrics}
	for i := range from.Conditions {
		c := &from.Conditions[i]
		s.conditions = append(s.conditions, condition{c.Type, string(c.Status), c.Reason, c.Message})
	}
	for _, p := range from.Proposals {
		replicas := "?"
		if p.Replicas != nil {
			replicas = fmt.Sprint(*p.Replicas)
		}
		s.lines = append(s.lines, fmt.Sprintf("proposals: %s %s %s %s", p.Source, p.Name, replicas, p.Message))
	}
	if from.Limit != nil {
		s.lines = append(s.lines, fmt.Sprintf("limit: %s %s", from.Limit.Name, from.Limit.Message))
	}
	if from.Next != nil {
		s.lines = append(s.lines, fmt.Sprintf("next: %s %s", from.Next.Reason, from.Next.Message))
	}
	return s
}
