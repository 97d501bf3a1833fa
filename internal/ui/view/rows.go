package view

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// The kinds of rows.
const (
	HPA = "HorizontalPodAutoscaler"
	WLA = "WorkloadAutoscaler"
	VPA = "VerticalPodAutoscaler"
)

// IDOf returns the ID of an autoscaler's row.
func IDOf(kind, namespace, name string) string { return kind + "/" + namespace + "/" + name }

func rowOf(kind string, meta *metav1.ObjectMeta) Row {
	return Row{ID: IDOf(kind, meta.Namespace, meta.Name), Kind: kind, Namespace: meta.Namespace, Name: meta.Name}
}

// OfHPA returns a HorizontalPodAutoscaler's row.
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
	if at := hpa.Status.LastScaleTime; at != nil {
		row.Scaled = at.UnixMilli()
	}
	row.setCounts(conditions, hpa.Status.DesiredReplicas, hpa.Status.CurrentReplicas)
	row.Load = loadOf(hpa.Spec.Metrics, hpa.Status.CurrentMetrics)
	row.Limit = limitOf(conditions)
	return row
}

// OfWLA returns a WorkloadAutoscaler's row.
func OfWLA(wla *plimsollv1alpha1.WorkloadAutoscaler) (row Row) {
	row = rowOf(WLA, &wla.ObjectMeta)
	defer row.cut()
	if wla.Unreadable != "" {
		row.Health, row.Says = Problem, "the spec cannot be read: "+wla.Unreadable
		return row
	}
	status := &wla.Status
	row.Target = wla.Spec.ScaleTargetRef.Kind + "/" + wla.Spec.ScaleTargetRef.Name
	row.Min = cmp.Or(status.EffectiveMinReplicas, wla.Spec.MinReplicas)
	row.Max = cmp.Or(status.EffectiveMaxReplicas, &wla.Spec.MaxReplicas)
	row.Health, row.Says = healthOf(conditionsOf(status.Conditions), workloadRules)
	if mode := string(wla.Spec.Mode); mode != "" && mode != string(plimsollv1alpha1.ModeActive) {
		row.Mode = mode
	}
	if len(status.Conditions) == 0 {
		return row
	}
	if at := status.LastScaleTime; at != nil {
		row.Scaled = at.UnixMilli()
	}
	row.setCounts(conditionsOf(status.Conditions), status.DesiredReplicas, status.CurrentReplicas)
	if row.Load = loadOfWLA(wla); row.Load == nil && status.Summary != nil && status.Summary.Metrics != "" {
		row.Load = &Load{Text: status.Summary.Metrics}
	}
	if l := status.Limit; l != nil {
		row.Limit = &Limit{Name: l.Reason, Says: l.Message}
	}
	return row
}

// setCounts sets the known replica counts of a status. In a status, 0 may also mean that a count was never set: both
// counts of a target whose scale could never be read, and the desired one beside running pods until a first count is
// computed.
func (r *Row) setCounts(conditions []condition, desired, current int32) {
	isUnread := slices.ContainsFunc(conditions, func(c condition) bool {
		return c.kind == "AbleToScale" && c.status == string(corev1.ConditionFalse) && c.reason == "FailedGetScale"
	})
	if isUnread && desired == 0 && current == 0 {
		return
	}
	r.Current = &current
	mayBeZero := current == 0 || ptr.Deref(r.Min, 1) == 0 && r.Scaled != 0
	if desired != 0 || mayBeZero {
		r.Desired = &desired
	}
}

// OfVPA returns a VerticalPodAutoscaler's row.
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

// mostBytes bounds a text of a row: a page gets up to 10,000 rows, and the object has the whole text.
const mostBytes = 500

// cut shortens texts without a limit on their length. The API server limits names.
func (r *Row) cut() {
	texts := []*string{&r.Target, &r.Mode, &r.Says}
	if r.Limit != nil {
		texts = append(texts, &r.Limit.Name, &r.Limit.Says)
	}
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

// condition is a condition of any kind of object.
type condition struct{ kind, status, reason, message string }

// rule is the health of an object with a status of a condition.
type rule struct {
	kind, status string
	health       Health
	// unless has reasons with which the status is fine.
	unless []string
}

var (
	horizontalRules = slices.Concat([]rule{
		{"AbleToScale", string(corev1.ConditionFalse), Problem, []string{"BackoffDownscale", "BackoffBoth"}},
		{"ScalingActive", string(corev1.ConditionFalse), Problem, []string{"ScalingDisabled"}},
	}, bothRules)
	workloadRules = slices.Concat([]rule{
		{statusreport.Ready, string(corev1.ConditionFalse), Problem,
			[]string{"AwaitingMetrics", statusreport.AnotherAutoscaler}},
		{statusreport.Ready, string(corev1.ConditionFalse), Warning, []string{"AwaitingMetrics"}},
	}, bothRules)
	bothRules = []rule{
		{"AutoscalersConflict", string(corev1.ConditionTrue), Warning, nil},
		{"ReplicasOverridden", string(corev1.ConditionTrue), Warning, nil},
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

// noStatus is the text for an object without conditions.
const noStatus = "no controller has written a status"

// boilerplate matches the start of upstream's messages, before the cause of a failure.
var boilerplate = regexp.MustCompile(`^the (?:HPA|WorkloadAutoscaler)(?: controller)? was unable to ` +
	`(?:compute the replica count|get the target's current scale): `)

// plain returns a condition's message shortened for a table.
func plain(message string) string {
	if strings.HasPrefix(message, behavior.TooManyReplicas.Message()) {
		return "maxReplicas is reached, and the load asks for more"
	}
	return boilerplate.ReplaceAllString(message, "")
}

// healthOf returns the worst health by the rules, with the message of its condition.
func healthOf(conditions []condition, rules []rule) (health Health, says string) {
	if len(conditions) == 0 {
		return Unknown, noStatus
	}
	for _, r := range rules {
		for _, c := range conditions {
			if c.kind == r.kind && c.status == r.status && !slices.Contains(r.unless, c.reason) {
				return r.health, cmp.Or(plain(c.message), c.reason)
			}
		}
	}
	return OK, ""
}

// limitOf returns the limit in the conditions of an HPA: the last one that changed the count, as in the loop.
func limitOf(conditions []condition) (limit *Limit) {
	for _, c := range conditions {
		isStabilized := c.kind == "AbleToScale" && (c.reason == "ScaleDownStabilized" || c.reason == "ScaleUpStabilized")
		isLimited := c.kind == "ScalingLimited"
		if c.status == string(corev1.ConditionTrue) && (isLimited || isStabilized && limit == nil) {
			limit = &Limit{Name: c.reason, Says: c.message}
		}
	}
	return limit
}
