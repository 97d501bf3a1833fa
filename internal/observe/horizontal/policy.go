package horizontal

import (
	"fmt"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// PolicyOf returns the policy of the object and the flags, and the specs of the metrics that Plimsoll reads itself: nil
// if there are none. The object is only read. Policy.Metrics[i] is spec.metrics[i]. For a WorkloadAutoscaler whose spec
// is invalid in a way that the API server accepted, it returns a refusal and no specs, and the policy must not be acted
// on.
func PolicyOf(a Autoscaler, o Options) (horizontal.Policy, []sources.Spec, horizontal.Refusal) {
	p := commonPolicy(a, o)
	errs := setForecast(&p, a, o)
	var specs []sources.Spec
	if a.IsWorkload() {
		var problems field.ErrorList
		specs, problems = extend(&p, a.Workload, o)
		errs = append(errs, problems...)
	}
	p.Forecast.Identity = identity(&p, a)
	if refusal := a.refusal(errs); refusal.Reason != "" {
		return p, nil, refusal
	}
	return p, specs, horizontal.Refusal{}
}

// commonPolicy returns the part of the policy that both kinds have.
func commonPolicy(a Autoscaler, o Options) horizontal.Policy {
	p := horizontal.Policy{
		Namespace:               a.Namespace,
		MinReplicas:             ptr.Deref(a.MinReplicas(), 1),
		MaxReplicas:             a.MaxReplicas(),
		Metrics:                 make([]source.Spec, a.NumMetrics()),
		Tolerance:               metric.Tolerance{Up: o.Tolerance, Down: o.Tolerance},
		DownscaleStabilization:  o.DownscaleStabilization,
		CPUInitializationPeriod: o.CPUInitializationPeriod,
		InitialReadinessDelay:   o.InitialReadinessDelay,
		Surge:                   o.Surge,
		Divergences:             o.Divergences,
	}
	for i := range p.Metrics {
		p.Metrics[i] = specOf(a.Metric(i), observe.ModeOf(o.Divergences))
	}
	if b := a.behavior(); b != nil {
		p.Behavior = behaviorOf(b, o)
		p.Tolerance.Up = toleranceOf(b.ScaleUp, o.Tolerance)
		p.Tolerance.Down = toleranceOf(b.ScaleDown, o.Tolerance)
	}
	return p
}

// behaviorOf fills in the API server's defaults (pkg/apis/autoscaling/v2/defaults.go), so that objects that never
// passed an API server mean the same.
func behaviorOf(b *autoscalingv2.HorizontalPodAutoscalerBehavior, o Options) *behavior.Behavior {
	const period = 15 * time.Second
	up := behavior.Rules{Policies: []behavior.RatePolicy{
		{Type: behavior.RatePods, Value: 4, Period: period},
		{Type: behavior.RatePercent, Value: 100, Period: period},
	}}
	down := behavior.Rules{
		// The flag in whole seconds, like the field.
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

// specOf converts one metric. An unknown type stays unchanged, and a missing source has no target: both are errors of
// the metric.
func specOf(m Metric, mode arithmetic.Mode) source.Spec {
	spec := source.Spec{
		Type: m.Type, Name: m.Name, Container: m.Container, IsOwnTarget: m.IsOwnTarget,
		Object: source.ObjectRef{Kind: m.Object.Kind, Name: m.Object.Name},
	}
	if !m.HasSource {
		return spec
	}
	switch m.Type {
	case source.Resource, source.ContainerResource:
		spec.Target = resourceTarget(&m.Target, mode)
	case source.Pods:
		identify(&spec, m.Selector)
		spec.Target = averageTarget(&m.Target, mode)
	case source.Object:
		identify(&spec, m.Selector)
		spec.Target = objectTarget(&m.Target, mode)
	case source.External:
		identify(&spec, m.Selector)
		spec.Target = anyTarget(&m.Target, mode)
	default:
		spec.Target = anyTarget(&m.Target, mode)
		switch {
		case !m.IsOwnTarget:
		case m.IsTotal:
			spec.Target.Type = source.Value
		default:
			spec.Target.Type = source.AverageValue
		}
	}
	return spec
}

func identify(spec *source.Spec, selector *metav1.LabelSelector) {
	// As upstream's messages print it, nil included.
	spec.SelectorText = fmt.Sprintf("%+v", selector)
	if _, err := metav1.LabelSelectorAsSelector(selector); err != nil {
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

func anyTarget(t *autoscalingv2.MetricTarget, mode arithmetic.Mode) source.Target {
	if t.AverageValue != nil {
		return averageTarget(t, mode)
	}
	return valueTarget(t, mode)
}
