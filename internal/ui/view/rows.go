package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// The kinds of rows.
const (
	HPA = "HorizontalPodAutoscaler"
	WLA = "WorkloadAutoscaler"
	VPA = "VerticalPodAutoscaler"
)

// IDOf names an autoscaler.
func IDOf(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

func rowOf(kind string, meta *metav1.ObjectMeta) Row {
	return Row{ID: IDOf(kind, meta.Namespace, meta.Name), Kind: kind, Namespace: meta.Namespace, Name: meta.Name}
}

// OfHPA is a HorizontalPodAutoscaler's row.
func OfHPA(hpa *autoscalingv2.HorizontalPodAutoscaler) (row Row) {
	row = rowOf(HPA, &hpa.ObjectMeta)
	defer row.cut()
	row.Target = hpa.Spec.ScaleTargetRef.Kind + "/" + hpa.Spec.ScaleTargetRef.Name
	row.Min, row.Max = ptr.To(ptr.Deref(hpa.Spec.MinReplicas, 1)), ptr.To(hpa.Spec.MaxReplicas)
	conditions := make([]condition, len(hpa.Status.Conditions))
	for i, c := range hpa.Status.Conditions {
		conditions[i] = condition{string(c.Type), string(c.Status), c.Reason, c.Message}
	}
	row.Health, row.Says = healthOf(conditions, horizontalRules)
	if len(conditions) == 0 {
		return row
	}
	row.Desired, row.Current = ptr.To(hpa.Status.DesiredReplicas), ptr.To(hpa.Status.CurrentReplicas)
	row.Load = loadOf(hpa.Spec.Metrics, hpa.Status.CurrentMetrics)
	if at := hpa.Status.LastScaleTime; at != nil {
		row.Scaled = at.UnixMilli()
	}
	return row
}

// OfWLA is a WorkloadAutoscaler's row.
func OfWLA(wla *plimsollv1alpha1.WorkloadAutoscaler) (row Row) {
	row = rowOf(WLA, &wla.ObjectMeta)
	defer row.cut()
	if wla.Unreadable != "" {
		row.Health, row.Says = Problem, "the spec cannot be read: "+wla.Unreadable
		return row
	}
	status := &wla.Status
	row.Target = wla.Spec.ScaleTargetRef.Kind + "/" + wla.Spec.ScaleTargetRef.Name
	row.Min = cmp.Or(status.MinReplicas, wla.Spec.MinReplicas)
	row.Max = cmp.Or(status.MaxReplicas, &wla.Spec.MaxReplicas)
	row.Health, row.Says = healthOf(conditionsOf(status.Conditions), horizontalRules)
	if mode := string(wla.Spec.Mode); mode != "" && mode != string(plimsollv1alpha1.ModeActive) {
		row.Mode = mode
	}
	if len(status.Conditions) == 0 {
		return row
	}
	row.Desired, row.Current = ptr.To(status.DesiredReplicas), ptr.To(status.CurrentReplicas)
	if status.Metrics != "" {
		row.Load = &Load{Text: status.Metrics}
	}
	if at := status.LastScaleTime; at != nil {
		row.Scaled = at.UnixMilli()
	}
	return row
}

// OfVPA is a VerticalPodAutoscaler's row.
func OfVPA(vpa *vpav1.VerticalPodAutoscaler) (row Row) {
	row = rowOf(VPA, &vpa.ObjectMeta)
	defer row.cut()
	if vpa.Unreadable != "" {
		row.Health, row.Says = Problem, "the spec cannot be read: "+vpa.Unreadable
		return row
	}
	if ref := vpa.Spec.TargetRef; ref != nil {
		row.Target = ref.Kind + "/" + ref.Name
	}
	row.Mode = "Auto"
	if policy := vpa.Spec.UpdatePolicy; policy != nil && policy.UpdateMode != nil {
		row.Mode = string(*policy.UpdateMode)
	}
	conditions := make([]condition, len(vpa.Status.Conditions))
	for i, c := range vpa.Status.Conditions {
		conditions[i] = condition{string(c.Type), string(c.Status), c.Reason, c.Message}
	}
	row.Health, row.Says = healthOf(conditions, verticalRules)
	return row
}

// mostBytes is how long a text of a row may be: the object has it whole, and a page gets the rows of 10,000.
const mostBytes = 500

// cut shortens the texts that are as long as their writers like. Names are short: they are checked by the API server.
func (r *Row) cut() {
	texts := []*string{&r.Target, &r.Mode, &r.Says}
	if r.Load != nil {
		texts = append(texts, &r.Load.Metric, &r.Load.Text)
	}
	for _, text := range texts {
		if len(*text) > mostBytes {
			*text = strings.ToValidUTF8((*text)[:mostBytes], "") + "…"
		}
	}
}

func conditionsOf(all []metav1.Condition) []condition {
	conditions := make([]condition, len(all))
	for i := range all {
		conditions[i] = condition{all[i].Type, string(all[i].Status), all[i].Reason, all[i].Message}
	}
	return conditions
}

// condition is one of any kind of object.
type condition struct{ kind, status, reason, message string }

// rule says how bad it is that a condition has a status.
type rule struct {
	kind, status string
	health       Health
	// unless are reasons with which it is as it should be.
	unless []string
}

var (
	horizontalRules = []rule{
		{"AbleToScale", string(corev1.ConditionFalse), Problem, []string{"BackoffDownscale", "BackoffBoth"}},
		{"ScalingActive", string(corev1.ConditionFalse), Problem, []string{"ScalingDisabled"}},
		{"AutoscalersConflict", string(corev1.ConditionTrue), Warning, nil},
		{"ScalingLimited", string(corev1.ConditionTrue), Warning,
			[]string{"TooFewReplicas", "ScaleUpLimit", "ScaleDownLimit"}},
	}
	verticalRules = []rule{
		{"ConfigUnsupported", string(corev1.ConditionTrue), Problem, nil},
		{"NoPodsMatched", string(corev1.ConditionTrue), Problem, nil},
		{"RecommendationProvided", string(corev1.ConditionFalse), Warning, nil},
		{"AutoscalersConflict", string(corev1.ConditionTrue), Warning, nil},
		{"UpdateBlocked", string(corev1.ConditionTrue), Warning, nil},
		{"LowConfidence", string(corev1.ConditionTrue), Warning, nil},
		{"ConfigDeprecated", string(corev1.ConditionTrue), Warning, nil},
	}
)

// noStatus is said of an object without conditions.
const noStatus = "no controller has written a status"

// healthOf is the worst that the rules find, with the message of its condition.
func healthOf(conditions []condition, rules []rule) (health Health, says string) {
	if len(conditions) == 0 {
		return Unknown, noStatus
	}
	for _, r := range rules {
		for _, c := range conditions {
			if c.kind == r.kind && c.status == r.status && !slices.Contains(r.unless, c.reason) {
				return r.health, cmp.Or(c.message, c.reason)
			}
		}
	}
	return OK, ""
}

// loadOf is the metric that is highest against its target. The statuses are in the order of the metrics; one that
// could not be read is empty.
func loadOf(specs []autoscalingv2.MetricSpec, statuses []autoscalingv2.MetricStatus) *Load {
	var highest *Load
	for i := range min(len(specs), len(statuses)) {
		if load := loadOfOne(&specs[i], &statuses[i]); load != nil && (highest == nil || *load.Ratio > *highest.Ratio) {
			highest = load
		}
	}
	return highest
}

func loadOfOne(spec *autoscalingv2.MetricSpec, status *autoscalingv2.MetricStatus) *Load {
	name, target, current := partsOf(spec, status)
	if target == nil || current == nil {
		return nil
	}
	switch {
	case target.AverageUtilization != nil && current.AverageUtilization != nil && *target.AverageUtilization > 0:
		return &Load{Metric: name, Ratio: ptr.To(float64(*current.AverageUtilization) / float64(*target.AverageUtilization)),
			Text: fmt.Sprintf("%d%%/%d%%", *current.AverageUtilization, *target.AverageUtilization)}
	case target.AverageValue != nil && current.AverageValue != nil:
		return amounts(name, current.AverageValue, target.AverageValue)
	case target.Value != nil && current.Value != nil:
		return amounts(name, current.Value, target.Value)
	}
	return nil
}

func amounts(name string, current, target *resource.Quantity) *Load {
	ratio := current.AsApproximateFloat64() / target.AsApproximateFloat64()
	// A quantity may be endless as a number.
	if target.Sign() <= 0 || math.IsNaN(ratio) || math.IsInf(ratio, 0) {
		return nil
	}
	return &Load{Metric: name, Ratio: &ratio,
		Text: current.String() + "/" + target.String()}
}

// partsOf are a metric's name, target and current value.
func partsOf(
	spec *autoscalingv2.MetricSpec, status *autoscalingv2.MetricStatus,
) (name string, target *autoscalingv2.MetricTarget, current *autoscalingv2.MetricValueStatus) {
	switch {
	case spec.Resource != nil && status.Resource != nil:
		return string(spec.Resource.Name), &spec.Resource.Target, &status.Resource.Current
	case spec.ContainerResource != nil && status.ContainerResource != nil:
		of := spec.ContainerResource
		return string(of.Name) + " of " + of.Container, &of.Target, &status.ContainerResource.Current
	case spec.Pods != nil && status.Pods != nil:
		return spec.Pods.Metric.Name, &spec.Pods.Target, &status.Pods.Current
	case spec.Object != nil && status.Object != nil:
		return spec.Object.Metric.Name, &spec.Object.Target, &status.Object.Current
	case spec.External != nil && status.External != nil:
		return spec.External.Metric.Name, &spec.External.Target, &status.External.Current
	}
	return "", nil, nil
}
