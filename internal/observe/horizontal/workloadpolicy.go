package horizontal

import (
	"fmt"
	"slices"
	"strings"

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

// extend adds to the policy the settings that only a WorkloadAutoscaler has, and returns the specs of the metrics that
// Plimsoll reads itself.
func extend(
	p *horizontal.Policy, wla *plimsollv1alpha1.WorkloadAutoscaler, o Options,
) ([]sources.Spec, field.ErrorList) {
	own, errs := workloadPolicyOf(wla)
	p.WorkloadAutoscaler = own
	metrics, path := wla.Spec.Metrics, field.NewPath("spec", "metrics")
	specs, isAny := make([]sources.Spec, len(metrics)), false
	for i := range metrics {
		spec, problems := sources.Of(&metrics[i], &p.Metrics[i], path.Index(i))
		specs[i], isAny = spec, isAny || spec != sources.Spec{}
		if set := &p.Metrics[i]; set.SelectorError != "" && set.Type != source.PodEndpoint {
			at := path.Index(i).Child(strings.ToLower(string(set.Type)), "metric", "selector")
			set.SelectorError = at.String() + ": " + set.SelectorError
		}
		errs = append(append(errs, problems...), setExtras(&p.Metrics[i], &metrics[i], o, path.Index(i))...)
	}
	if len(metrics)+len(wla.Spec.Schedules) == 0 {
		errs = append(errs, field.Required(path, "there are no schedules either"))
	}
	if !isAny {
		return nil, errs
	}
	return specs, append(errs, sources.CheckPages(specs, path)...)
}

// refusal returns the reason why a spec with these errors is not acted on.
func (a Autoscaler) refusal(errs field.ErrorList) horizontal.Refusal {
	message := ""
	switch {
	case a.IsWorkload() && a.Workload.Unreadable != "":
		message = "the spec cannot be read: " + a.Workload.Unreadable
	case errs != nil:
		message = errs.ToAggregate().Error()
	default:
		return horizontal.Refusal{}
	}
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

// setExtras adds to a metric the settings that an HPA's metric lacks, for all types.
func setExtras(spec *source.Spec, m *plimsollv1alpha1.MetricSpec, o Options, path *field.Path) field.ErrorList {
	spec.GivenName = m.Name
	if m.ActivationValue != nil {
		spec.ActivationMilli = observe.Milli(m.ActivationValue, observe.ModeOf(o.Divergences))
	}
	f := m.Fallback
	if f == nil {
		return nil
	}
	var errs field.ErrorList
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
