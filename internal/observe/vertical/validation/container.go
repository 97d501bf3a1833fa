package validation

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

var (
	scalingModes = []string{string(vpav1.ContainerScalingModeAuto), string(vpav1.ContainerScalingModeOff)}
	resources    = []string{string(corev1.ResourceCPU), string(corev1.ResourceMemory)}
)

func (r *rules) containerPolicy(
	p *vpav1.ContainerResourcePolicy, at *field.Path,
) (warnings []string, errs field.ErrorList) {
	if p.ContainerName == "" {
		errs = append(errs, field.Required(at.Child("containerName"), ""))
	}
	if p.Mode != nil && !slices.Contains(scalingModes, string(*p.Mode)) {
		errs = append(errs, field.NotSupported(at.Child("mode"), *p.Mode, scalingModes))
	}
	errs = append(errs, allowed(p, at)...)
	if p.Mode != nil && p.ControlledValues != nil &&
		*p.Mode == vpav1.ContainerScalingModeOff && *p.ControlledValues == vpav1.ContainerControlledValuesRequestsAndLimits {
		errs = append(errs, field.Forbidden(at.Child("controlledValues"),
			"controlledValues shouldn't be specified if container scaling mode is off"))
	}
	warnings, unknown := r.controlledResources(p, at)
	errs = append(append(errs, unknown...), r.overrides(p, at)...)
	if p.StartupBoost != nil {
		errs = append(errs, r.startupBoost(p.StartupBoost, at.Child("startupBoost"))...)
	}
	return warnings, errs
}

// allowed checks minimum and maximum, in a fixed order.
func allowed(p *vpav1.ContainerResourcePolicy, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(p.MinAllowed)) {
		least := p.MinAllowed[name]
		errs = append(errs, wholeUnits(name, least, at.Child("minAllowed").Key(string(name)))...)
		if most, found := p.MaxAllowed[name]; found && most.Cmp(least) < 0 {
			errs = append(errs, field.Invalid(at.Child("maxAllowed").Key(string(name)), most.String(),
				fmt.Sprintf("max resource for %v is lower than min of \"%v\"", name, least.String())))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.MaxAllowed)) {
		errs = append(errs, wholeUnits(name, p.MaxAllowed[name], at.Child("maxAllowed").Key(string(name)))...)
	}
	return errs
}

// controlledResources permits an unknown resource that was there before, with a warning.
func (r *rules) controlledResources(
	p *vpav1.ContainerResourcePolicy, at *field.Path,
) (warnings []string, errs field.ErrorList) {
	if p.ControlledResources == nil {
		return nil, nil
	}
	for i, name := range *p.ControlledResources {
		at := at.Child("controlledResources").Index(i)
		switch {
		case slices.Contains(resources, string(name)):
		case r.controlled[name]:
			warnings = append(warnings, fmt.Sprintf(
				"%s: unsupported value %q is allowed only because it is present in the existing VPA object; supported values: "+
					"%q, %q",
				at, name, corev1.ResourceCPU, corev1.ResourceMemory))
		default:
			errs = append(errs, field.NotSupported(at, name, resources))
		}
	}
	return warnings, errs
}

func (r *rules) overrides(p *vpav1.ContainerResourcePolicy, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.OOMBumpUpRatio != nil {
		ratio := float64(quantity.Milli(p.OOMBumpUpRatio)) / 1000
		errs = append(errs, r.perVPA(at.Child("oomBumpUpRatio"), ratio >= 1,
			ratio, "must be greater than or equal to 1.0")...)
	}
	if p.OOMMinBumpUp != nil {
		bytes := quantity.Value(p.OOMMinBumpUp)
		errs = append(errs, r.perVPA(at.Child("oomMinBumpUp"), bytes >= 0, bytes, "must be greater than or equal to 0")...)
	}
	if seconds := p.MemoryAggregationIntervalSeconds; seconds != nil {
		errs = append(errs, r.perVPA(at.Child("memoryAggregationIntervalSeconds"),
			*seconds >= 1, *seconds, "must be greater than or equal to 1")...)
	}
	if count := p.MemoryAggregationIntervalCount; count != nil {
		errs = append(errs, r.perVPA(at.Child("memoryAggregationIntervalCount"),
			*count >= 1, *count, "must be greater than or equal to 1")...)
	}
	return errs
}
