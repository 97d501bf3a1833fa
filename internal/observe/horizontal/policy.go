package horizontal

import (
	"fmt"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Policy is what the object and the flags ask for. The object is only read. Its
// metrics keep their order: Policy.Metrics[i] is spec.metrics[i].
func Policy(hpa *autoscalingv2.HorizontalPodAutoscaler, o Options) horizontal.Policy {
	p := horizontal.Policy{
		Namespace:               hpa.Namespace,
		MinReplicas:             1,
		MaxReplicas:             hpa.Spec.MaxReplicas,
		Metrics:                 make([]source.Spec, len(hpa.Spec.Metrics)),
		Tolerance:               metric.Tolerance{Up: o.Tolerance, Down: o.Tolerance},
		DownscaleStabilization:  o.DownscaleStabilization,
		CPUInitializationPeriod: o.CPUInitializationPeriod,
		InitialReadinessDelay:   o.InitialReadinessDelay,
		Surge:                   o.Surge,
		Divergences:             o.Divergences,
	}
	if hpa.Spec.MinReplicas != nil {
		p.MinReplicas = *hpa.Spec.MinReplicas
	}
	for i := range hpa.Spec.Metrics {
		p.Metrics[i] = specOf(&hpa.Spec.Metrics[i], observe.ModeOf(o.Divergences))
	}
	if b := hpa.Spec.Behavior; b != nil {
		p.Behavior = behaviorOf(b, o)
		p.Tolerance.Up = toleranceOf(b.ScaleUp, o.Tolerance)
		p.Tolerance.Down = toleranceOf(b.ScaleDown, o.Tolerance)
	}
	return p
}

// FirstState is what a controller that has just started knows of the object's past. The last scaling may have been a
// scale-down; to take it for a scale-up only means to wait for a newer sample.
func FirstState(hpa *autoscalingv2.HorizontalPodAutoscaler) horizontal.State {
	s := horizontal.State{Version: horizontal.StateVersion}
	if at := hpa.Status.LastScaleTime; at != nil {
		s.Count = history.Count{ChangedAt: at.Time, EffectiveAt: at.Time}
	}
	return s
}

// InConflict reports whether the object's status says that a vertical autoscaler
// is in its way.
func InConflict(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	return shows(hpa, conflict.Condition)
}

// IsOverridden reports whether the object's status says that another writer sets the replica count too.
func IsOverridden(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	return shows(hpa, statusreport.ReplicasOverridden)
}

// ScaledToZero reports whether the object's status says that its controller
// scaled the target to zero.
func ScaledToZero(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	return shows(hpa, autoscalingv2.ScaledToZero)
}

func shows(hpa *autoscalingv2.HorizontalPodAutoscaler, kind autoscalingv2.HorizontalPodAutoscalerConditionType) bool {
	for i := range hpa.Status.Conditions {
		if hpa.Status.Conditions[i].Type == kind {
			return hpa.Status.Conditions[i].Status == corev1.ConditionTrue
		}
	}
	return false
}

// behaviorOf fills what is missing with the API server's defaults (pkg/apis/
// autoscaling/v2/defaults.go), so that objects that never passed an API server
// mean the same.
func behaviorOf(b *autoscalingv2.HorizontalPodAutoscalerBehavior, o Options) *behavior.Behavior {
	const period = 15 * time.Second
	up := behavior.Rules{Policies: []behavior.RatePolicy{
		{Type: behavior.RatePods, Value: 4, Period: period},
		{Type: behavior.RatePercent, Value: 100, Period: period},
	}}
	down := behavior.Rules{
		// The flag in whole seconds, as the field would have it.
		Stabilization: o.DownscaleStabilization.Truncate(time.Second),
		Policies:      []behavior.RatePolicy{{Type: behavior.RatePercent, Value: 100, Period: period}},
	}
	return &behavior.Behavior{Up: rulesOf(b.ScaleUp, up), Down: rulesOf(b.ScaleDown, down)}
}

func rulesOf(set *autoscalingv2.HPAScalingRules, rules behavior.Rules) behavior.Rules {
	if set == nil {
		return rules
	}
	if set.StabilizationWindowSeconds != nil {
		rules.Stabilization = seconds(*set.StabilizationWindowSeconds)
	}
	if set.SelectPolicy != nil {
		rules.Select = selectOf(*set.SelectPolicy)
	}
	if set.Policies != nil {
		rules.Policies = make([]behavior.RatePolicy, len(set.Policies))
		for i, p := range set.Policies {
			rules.Policies[i] = behavior.RatePolicy{Value: p.Value, Period: seconds(p.PeriodSeconds)}
			if p.Type == autoscalingv2.PercentScalingPolicy {
				rules.Policies[i].Type = behavior.RatePercent
			}
		}
	}
	return rules
}

func selectOf(s autoscalingv2.ScalingPolicySelect) behavior.Select {
	switch s {
	case autoscalingv2.DisabledPolicySelect:
		return behavior.SelectDisabled
	case autoscalingv2.MinChangePolicySelect:
		return behavior.SelectMin
	default:
		return behavior.SelectMax
	}
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

func toleranceOf(rules *autoscalingv2.HPAScalingRules, flag float64) float64 {
	if rules == nil || rules.Tolerance == nil {
		return flag
	}
	return rules.Tolerance.AsApproximateFloat64()
}

// specOf translates one metric. An unknown type stays as it is, and a
// source that is not there names no target: both are errors of the metric.
func specOf(m *autoscalingv2.MetricSpec, mode arithmetic.Mode) source.Spec {
	spec := source.Spec{Type: source.Type(m.Type)}
	switch {
	case m.Type == autoscalingv2.ResourceMetricSourceType && m.Resource != nil:
		spec.Name = string(m.Resource.Name)
		spec.Target = resourceTarget(&m.Resource.Target, mode)
	case m.Type == autoscalingv2.ContainerResourceMetricSourceType && m.ContainerResource != nil:
		spec.Name, spec.Container = string(m.ContainerResource.Name), m.ContainerResource.Container
		spec.Target = resourceTarget(&m.ContainerResource.Target, mode)
	case m.Type == autoscalingv2.PodsMetricSourceType && m.Pods != nil:
		identify(&spec, &m.Pods.Metric)
		spec.Target = averageTarget(&m.Pods.Target, mode)
	case m.Type == autoscalingv2.ObjectMetricSourceType && m.Object != nil:
		identify(&spec, &m.Object.Metric)
		spec.Object = source.ObjectRef{Kind: m.Object.DescribedObject.Kind, Name: m.Object.DescribedObject.Name}
		spec.Target = objectTarget(&m.Object.Target, mode)
	case m.Type == autoscalingv2.ExternalMetricSourceType && m.External != nil:
		identify(&spec, &m.External.Metric)
		spec.Target = externalTarget(&m.External.Target, mode)
	}
	return spec
}

func identify(spec *source.Spec, id *autoscalingv2.MetricIdentifier) {
	spec.Name = id.Name
	// As upstream's messages print it, nil included.
	spec.SelectorText = fmt.Sprintf("%+v", id.Selector)
	if _, err := metav1.LabelSelectorAsSelector(id.Selector); err != nil {
		spec.SelectorError = err.Error()
	}
}

// The rules by which upstream chooses among a target's fields differ from type
// to type; only Object uses target.type.

func averageTarget(t *autoscalingv2.MetricTarget, mode arithmetic.Mode) source.Target {
	if t.AverageValue == nil {
		return source.Target{}
	}
	return source.Target{Type: source.AverageValue, Milli: observe.Milli(t.AverageValue, mode)}
}

func valueTarget(t *autoscalingv2.MetricTarget, mode arithmetic.Mode) source.Target {
	if t.Value == nil {
		return source.Target{}
	}
	return source.Target{Type: source.Value, Milli: observe.Milli(t.Value, mode)}
}

func resourceTarget(t *autoscalingv2.MetricTarget, mode arithmetic.Mode) source.Target {
	if t.AverageValue == nil && t.AverageUtilization != nil {
		return source.Target{Type: source.Utilization, Percent: *t.AverageUtilization}
	}
	return averageTarget(t, mode)
}

func objectTarget(t *autoscalingv2.MetricTarget, mode arithmetic.Mode) source.Target {
	switch t.Type {
	case autoscalingv2.ValueMetricType:
		return valueTarget(t, mode)
	case autoscalingv2.AverageValueMetricType:
		return averageTarget(t, mode)
	default:
		return source.Target{}
	}
}

func externalTarget(t *autoscalingv2.MetricTarget, mode arithmetic.Mode) source.Target {
	if t.AverageValue != nil {
		return averageTarget(t, mode)
	}
	return valueTarget(t, mode)
}
