package horizontal

import (
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/scheduled"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// PolicyOf is what the object and the flags ask for. Of a WorkloadAutoscaler whose spec is invalid
// in a way that the API server did not refuse, the refusal says so, and the policy is not to be
// acted on.
func PolicyOf(a Autoscaler, o Options) (horizontal.Policy, horizontal.Refusal) {
	p := Policy(a.HorizontalPodAutoscaler, o)
	errs := setForecast(&p, a, o)
	if a.Workload == nil {
		p.Forecast.Identity = identity(&p, a)
		return p, horizontal.Refusal{}
	}
	own, problems := workloadPolicyOf(a.Workload)
	errs = append(errs, problems...)
	for i := range a.Workload.Spec.Metrics {
		errs = append(errs, extendSpec(&p.Metrics[i], &a.Workload.Spec.Metrics[i], o, i)...)
	}
	if len(a.Workload.Spec.Metrics)+len(a.Workload.Spec.Schedules) == 0 {
		errs = append(errs, field.Required(field.NewPath("spec", "metrics"), "there are no schedules either"))
	}
	errs = append(errs, sources.CheckPages(a.Workload.Spec.Metrics, field.NewPath("spec", "metrics"))...)
	p.WorkloadAutoscaler = own
	p.Forecast.Identity = identity(&p, a)
	switch {
	case a.Workload.Unreadable != "":
		return p, refusal("the spec cannot be read: " + a.Workload.Unreadable)
	case errs != nil:
		return p, refusal(errs.ToAggregate().Error())
	}
	return p, horizontal.Refusal{}
}

func refusal(message string) horizontal.Refusal {
	return horizontal.Refusal{Reason: statusreport.InvalidSpec, Message: message, Summary: "the spec is invalid"}
}

func workloadPolicyOf(wla *plimsollv1alpha1.WorkloadAutoscaler) (*horizontal.WorkloadAutoscaler, field.ErrorList) {
	var errs field.ErrorList
	spec, path := &wla.Spec, field.NewPath("spec")
	own := &horizontal.WorkloadAutoscaler{}
	if p := spec.Paused; p != nil {
		own.PausedReplicas = &p.Replicas
	}
	var toZero plimsollv1alpha1.ScaleToZero
	if spec.ScaleToZero != nil {
		toZero = *spec.ScaleToZero
	}
	own.Zero = zero.Settings{
		CooldownPeriod:        seconds(ptr.Deref(toZero.CooldownSeconds, plimsollv1alpha1.DefaultCooldownSeconds)),
		InitialCooldownPeriod: seconds(ptr.Deref(toZero.InitialCooldownSeconds, 0)),
	}
	var isKnown bool
	if own.Mode, isKnown = mode.Parse(string(spec.Mode)); !isKnown {
		errs = append(errs, field.NotSupported(path.Child("mode"), spec.Mode, modes))
	}
	if s := spec.SelectionStrategy; s != "" && !slices.Contains(selectionStrategies, s) {
		errs = append(errs, field.NotSupported(path.Child("selectionStrategy"), s, selectionStrategies))
	}
	for i := range spec.Schedules {
		schedule, problems := scheduled.Of(&spec.Schedules[i], path.Child("schedules").Index(i))
		if !spec.Schedules[i].Suspend {
			own.Schedules = append(own.Schedules, schedule)
		}
		if most, least := schedule.MaxReplicas, ptr.Deref(spec.MinReplicas, 1); most > 0 && most < least {
			problems = append(problems, field.Invalid(path.Child("schedules").Index(i).Child("maxReplicas"), most,
				fmt.Sprintf("must not be below the minReplicas of the object, %d", least)))
		}
		errs = append(errs, problems...)
	}
	if len(errs) > 0 {
		own.Schedules = nil
	}
	return own, errs
}

var modes = []plimsollv1alpha1.Mode{
	plimsollv1alpha1.ModeActive, plimsollv1alpha1.ModePreview, plimsollv1alpha1.ModePaused,
}

var selectionStrategies = []plimsollv1alpha1.SelectionStrategy{
	plimsollv1alpha1.SelectionStrategyLabelSelector, plimsollv1alpha1.SelectionStrategyOwnerReference,
}

// extendSpec adds to a metric what an HPA's metric does not have.
func extendSpec(spec *source.Spec, m *plimsollv1alpha1.MetricSpec, o Options, i int) field.ErrorList {
	path := field.NewPath("spec", "metrics").Index(i)
	errs := sources.Extend(spec, m, observe.ModeOf(o.Divergences), path)
	spec.GivenName = m.Name
	if m.ActivationValue != nil {
		spec.ActivationMilli = observe.Milli(m.ActivationValue, observe.ModeOf(o.Divergences))
	}
	f := m.Fallback
	if f == nil {
		return errs
	}
	policy, isKnown := source.ParseFallbackPolicy(string(f.Policy))
	if !isKnown {
		errs = append(errs, field.NotSupported(path.Child("fallback", "policy"), f.Policy, fallbackPolicies))
	}
	spec.Fallback = source.Fallback{
		FailureDuration: seconds(ptr.Deref(f.FailureDurationSeconds, plimsollv1alpha1.DefaultFailureDurationSeconds)),
		Replicas:        ptr.Deref(f.Replicas, 0), Policy: policy,
	}
	return errs
}

var fallbackPolicies = []plimsollv1alpha1.FallbackPolicy{
	plimsollv1alpha1.FallbackStatic, plimsollv1alpha1.FallbackCurrentReplicas,
	plimsollv1alpha1.FallbackCurrentReplicasIfHigher, plimsollv1alpha1.FallbackCurrentReplicasIfLower,
}

// ShownOf are the conditions of a WorkloadAutoscaler that are True in its status.
func ShownOf(hpa *autoscalingv2.HorizontalPodAutoscaler) horizontal.Shown {
	shown := horizontal.Shown{
		ScheduleActive: shows(hpa, statusreport.ScheduleActive), FallbackActive: shows(hpa, statusreport.FallbackActive),
	}
	for i := range hpa.Status.Conditions {
		c := &hpa.Status.Conditions[i]
		if c.Type == autoscalingv2.ScalingLimited && c.Reason == mode.Paused.String() {
			shown.LimitedByPause = true
		}
	}
	return shown
}
