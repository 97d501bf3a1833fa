// Package validation validates a VerticalPodAutoscaler, by upstream's rules and with its messages: rules that the
// schema cannot express, and values that earlier versions accepted.
package validation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
)

// Features are upstream's feature gates that permit settings of an object.
type Features struct {
	CPUStartupBoost, PerVPAConfig, InPlace bool
}

// The feature gates' names.
const (
	CPUStartupBoost = "CPUStartupBoost"
	PerVPAConfig    = "PerVPAConfig"
	InPlace         = "InPlace"
)

// rules are the permitted settings of one object: those that are switched on, and those that it had before.
type rules struct {
	Features
	controlled map[corev1.ResourceName]bool
}

// Validate checks an object that is created, or updated from old, which is nil at
// creation. Warnings are for its owner, errors keep it out.
func Validate(vpa, old *vpav1.VerticalPodAutoscaler, features Features) (warnings []string, errs field.ErrorList) {
	r := rules{Features: features, controlled: map[corev1.ResourceName]bool{}}
	if old != nil {
		r.allowOld(&old.Spec)
	}
	spec, at := &vpa.Spec, field.NewPath("spec")
	if spec.UpdatePolicy != nil {
		w, e := r.updatePolicy(spec.UpdatePolicy, at.Child("updatePolicy"))
		warnings, errs = append(warnings, w...), append(errs, e...)
	}
	if spec.ResourcePolicy != nil {
		policies := at.Child("resourcePolicy", "containerPolicies")
		for i := range spec.ResourcePolicy.ContainerPolicies {
			w, e := r.containerPolicy(&spec.ResourcePolicy.ContainerPolicies[i], policies.Index(i))
			warnings, errs = append(warnings, w...), append(errs, e...)
		}
	}
	if spec.StartupBoost != nil {
		errs = append(errs, r.startupBoost(spec.StartupBoost, at.Child("startupBoost"))...)
	}
	if len(spec.Recommenders) > 1 {
		errs = append(errs, field.TooMany(at.Child("recommenders"), len(spec.Recommenders), 1))
	}
	return warnings, errs
}

// Problem returns the error of a stored object; empty if it is valid. All settings are permitted: merely outdated ones
// are fine, as in an update without a change.
func Problem(vpa *vpav1.VerticalPodAutoscaler) string {
	_, errs := Validate(vpa, vpa, Features{CPUStartupBoost: true, PerVPAConfig: true, InPlace: true})
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

// allowOld permits an update to keep the object's settings.
func (r *rules) allowOld(spec *vpav1.VerticalPodAutoscalerSpec) {
	if spec.StartupBoost != nil && spec.StartupBoost.CPU != nil {
		r.CPUStartupBoost = true
	}
	if p := spec.UpdatePolicy; p != nil {
		r.PerVPAConfig = r.PerVPAConfig || p.EvictAfterOOMSeconds != nil
		r.InPlace = r.InPlace || p.UpdateMode != nil && *p.UpdateMode == vpav1.UpdateModeInPlace
	}
	if spec.ResourcePolicy == nil {
		return
	}
	for i := range spec.ResourcePolicy.ContainerPolicies {
		r.allowOldPolicy(&spec.ResourcePolicy.ContainerPolicies[i])
	}
}

func (r *rules) allowOldPolicy(p *vpav1.ContainerResourcePolicy) {
	r.CPUStartupBoost = r.CPUStartupBoost || p.StartupBoost != nil
	r.PerVPAConfig = r.PerVPAConfig || p.OOMBumpUpRatio != nil || p.OOMMinBumpUp != nil ||
		p.MemoryAggregationIntervalCount != nil || p.MemoryAggregationIntervalSeconds != nil
	if p.ControlledResources == nil {
		return
	}
	for _, name := range *p.ControlledResources {
		r.controlled[name] = true
	}
}

// modes are the recommended modes; Auto is accepted with a warning.
var modes = []string{
	string(vpav1.UpdateModeInPlace), string(vpav1.UpdateModeInPlaceOrRecreate), string(vpav1.UpdateModeInitial),
	string(vpav1.UpdateModeOff),
	string(vpav1.UpdateModeRecreate),
}

func (r *rules) updatePolicy(p *vpav1.PodUpdatePolicy, at *field.Path) (warnings []string, errs field.ErrorList) {
	if p.UpdateMode == nil {
		errs = append(errs, field.Required(at.Child("updateMode"), "updateMode is required if UpdatePolicy is used"))
	} else {
		warnings, errs = r.updateMode(*p.UpdateMode, at)
	}
	if n := p.MinReplicas; n != nil && *n <= 0 {
		errs = append(errs, field.Invalid(at.Child("minReplicas"), *n, "minReplicas has to be positive"))
	}
	if seconds := p.EvictAfterOOMSeconds; seconds != nil {
		errs = append(errs, r.perVPA(at.Child("evictAfterOOMSeconds"),
			*seconds >= 1, *seconds, "must be greater than or equal to 1")...)
	}
	return warnings, errs
}

func (r *rules) updateMode(mode vpav1.UpdateMode, at *field.Path) (warnings []string, errs field.ErrorList) {
	switch {
	case mode == vpav1.UpdateModeAuto:
		return []string{fmt.Sprintf(
			"%s: %q mode is deprecated and will be removed in a future API version. Use explicit update modes like: %s. "+
				"See https://github.com/kubernetes/autoscaler/issues/8424 for more details.", at, mode, modes)}, nil
	case !slices.Contains(modes, string(mode)):
		return nil, field.ErrorList{field.NotSupported(at.Child("updateMode"), mode, modes)}
	case mode == vpav1.UpdateModeInPlace && !r.InPlace:
		return nil, field.ErrorList{field.Forbidden(at.Child("updateMode"), fmt.Sprintf(
			"in order to use UpdateMode %s, you must enable feature gate %s in the admission-controller args",
			vpav1.UpdateModeInPlace, InPlace))}
	}
	return nil, nil
}

// perVPA checks a value that the feature gate PerVPAConfig permits.
func (r *rules) perVPA(at *field.Path, fine bool, value any, want string) field.ErrorList {
	switch {
	case !r.PerVPAConfig:
		return field.ErrorList{field.Forbidden(at,
			fmt.Sprintf("not supported when feature flag %s is disabled", PerVPAConfig))}
	case !fine:
		return field.ErrorList{field.Invalid(at, value, want)}
	}
	return nil
}

func (r *rules) startupBoost(boost *vpav1.StartupBoost, at *field.Path) field.ErrorList {
	if !r.CPUStartupBoost {
		return field.ErrorList{field.Forbidden(at, fmt.Sprintf(
			"in order to use startupBoost, you must enable feature gate %s in the admission-controller args", CPUStartupBoost))}
	}
	if boost.CPU == nil {
		return nil
	}
	cpu, at := boost.CPU, at.Child("cpu")
	switch cpu.Type {
	case "":
		return field.ErrorList{field.Required(at.Child("type"),
			fmt.Sprintf("must be either %s or %s", vpav1.FactorStartupBoostType, vpav1.QuantityStartupBoostType))}
	case vpav1.FactorStartupBoostType:
		if cpu.Factor == nil {
			return field.ErrorList{field.Required(at.Child("factor"), "required when type is Factor")}
		}
		if *cpu.Factor < 1 {
			return field.ErrorList{field.Invalid(at.Child("factor"), *cpu.Factor, "must be >= 1 for type Factor")}
		}
	case vpav1.QuantityStartupBoostType:
		if cpu.Quantity == nil {
			return field.ErrorList{field.Required(at.Child("quantity"), "required when type is Quantity")}
		}
		return wholeUnits(corev1.ResourceCPU, *cpu.Quantity, at.Child("quantity"))
	default:
		return field.ErrorList{field.NotSupported(at.Child("type"), cpu.Type,
			[]string{string(vpav1.FactorStartupBoostType), string(vpav1.QuantityStartupBoostType)})}
	}
	return nil
}

// wholeUnits: an amount that cannot be requested exactly cannot be a bound either.
func wholeUnits(name corev1.ResourceName, q resource.Quantity, at *field.Path) field.ErrorList {
	unit, words := resource.Scale(0), "must be a whole number of bytes"
	switch name {
	case corev1.ResourceCPU:
		unit, words = resource.Milli, "must be a whole number of milli CPUs"
	case corev1.ResourceMemory:
	default:
		return nil
	}
	if _, exact := q.AsScale(unit); !exact {
		return field.ErrorList{field.Invalid(at, q.String(), words)}
	}
	return nil
}
