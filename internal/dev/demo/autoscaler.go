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
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Kind is which object scales by CPU, by its short name.
type Kind string

// The kinds.
const (
	HPA                Kind = "hpa"
	WorkloadAutoscaler Kind = "wla"
)

// autoscaler has the calls about one of the demo's autoscalers, whatever its kind.
type autoscaler interface {
	create(ctx context.Context) error
	status(ctx context.Context) (status, error)
}

// status has the fields of an autoscaler's status that the demo reads.
type status struct {
	// value is the metric's.
	value      autoscalingv2.MetricValueStatus
	conditions []condition
	// lines are the additional lines of a WorkloadAutoscaler.
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

// utilization is the share of the CPU request that the status shows.
func (s status) utilization() string {
	if s.value.AverageUtilization == nil {
		return fmt.Sprintf("cpu    ?  of %d%%", targetPercent)
	}
	return fmt.Sprintf("cpu %3d%% of %d%%", *s.value.AverageUtilization, targetPercent)
}

// perPod is the number of requests per pod in the status.
func (s status) perPod() string {
	if s.value.AverageValue == nil {
		return fmt.Sprintf("   ?/s of %d/s", targetRequests)
	}
	return fmt.Sprintf("%4.1f/s of %d/s", s.value.AverageValue.AsApproximateFloat64(), targetRequests)
}

// hpa is a HorizontalPodAutoscaler.
type hpa struct {
	client kubernetes.Interface
	name   string
	spec   autoscalingv2.HorizontalPodAutoscalerSpec
}

func (a hpa) create(ctx context.Context) error {
	object := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: a.name}, Spec: a.spec}
	_, err := a.client.AutoscalingV2().HorizontalPodAutoscalers(demoNamespace).Create(ctx, object, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create horizontalpodautoscaler %s/%s: %w", demoNamespace, a.name, err)
	}
	return nil
}

func (a hpa) status(ctx context.Context) (status, error) {
	object, err := a.client.AutoscalingV2().HorizontalPodAutoscalers(demoNamespace).Get(ctx, a.name,
		metav1.GetOptions{})
	if err != nil {
		return status{}, fmt.Errorf("get horizontalpodautoscaler %s/%s: %w", demoNamespace, a.name, err)
	}
	var s status
	if len(object.Status.CurrentMetrics) > 0 {
		s.value = observehorizontal.ValueOf(&object.Status.CurrentMetrics[0])
	}
	for _, c := range object.Status.Conditions {
		s.conditions = append(s.conditions, condition{string(c.Type), string(c.Status), c.Reason, c.Message})
	}
	return s, nil
}

// workloadAutoscaler is a WorkloadAutoscaler.
type workloadAutoscaler struct {
	client *wla.Client
	name   string
	spec   plimsollv1alpha1.WorkloadAutoscalerSpec
}

// pasted is the spec of an HPA: each of its fields is a field of a WorkloadAutoscaler too. The metrics have names
// beside them.
func pasted(spec autoscalingv2.HorizontalPodAutoscalerSpec) (plimsollv1alpha1.WorkloadAutoscalerSpec, error) {
	var own plimsollv1alpha1.WorkloadAutoscalerSpec
	text, err := json.Marshal(spec)
	if err == nil {
		err = json.Unmarshal(text, &own)
	}
	if err != nil {
		return own, fmt.Errorf("spec of a WorkloadAutoscaler: %w", err)
	}
	for i := range own.Metrics {
		own.Metrics[i].Name = own.Metrics[i].Resource.Name
	}
	return own, nil
}

func (a workloadAutoscaler) create(ctx context.Context) error {
	object := &plimsollv1alpha1.WorkloadAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: a.name}, Spec: a.spec}
	if _, err := a.client.WorkloadAutoscalers(demoNamespace).Create(ctx, object, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create workloadautoscaler %s/%s: %w", demoNamespace, a.name, err)
	}
	return nil
}

func (a workloadAutoscaler) status(ctx context.Context) (status, error) {
	object, err := a.client.WorkloadAutoscalers(demoNamespace).Get(ctx, a.name, metav1.GetOptions{})
	if err != nil {
		return status{}, fmt.Errorf("get workloadautoscaler %s/%s: %w", demoNamespace, a.name, err)
	}
	return workloadStatus(&object.Status), nil
}

// workloadStatus is a WorkloadAutoscaler's status. The lines are its fields of that name.
func workloadStatus(from *plimsollv1alpha1.WorkloadAutoscalerStatus) status {
	var s status
	for i := range from.Metrics {
		m, replicas := &from.Metrics[i], "?"
		if i == 0 {
			s.value = autoscalingv2.MetricValueStatus{
				Value: m.Value, AverageValue: m.AverageValue, AverageUtilization: m.AverageUtilization,
			}
		}
		if m.Replicas != nil {
			replicas = fmt.Sprint(*m.Replicas)
		}
		line := fmt.Sprintf("metrics: %s %s", m.Name, replicas)
		if m.Failure != nil {
			line += " " + m.Failure.Message
		}
		s.lines = append(s.lines, line)
	}
	for i := range from.Conditions {
		c := &from.Conditions[i]
		s.conditions = append(s.conditions, condition{c.Type, string(c.Status), c.Reason, c.Message})
	}
	for _, p := range from.Proposals {
		s.lines = append(s.lines, fmt.Sprintf("proposals: %s %s %d", p.Source, p.Name, p.Replicas))
	}
	if from.Limit != nil {
		s.lines = append(s.lines, fmt.Sprintf("limit: %s %s", from.Limit.Reason, from.Limit.Message))
	}
	if from.Next != nil {
		s.lines = append(s.lines, fmt.Sprintf("next: %s %s", from.Next.Reason, from.Next.Message))
	}
	return s
}
