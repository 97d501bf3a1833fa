package vertical

import (
	"time"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/priority"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
)

// Gates has the feature gates of upstream that the updater uses.
type Gates struct {
	// InPlace is about the update mode of that name, CPUStartupBoost about the end of
	// start-up boosts, PerVPAConfig about evictAfterOOMSeconds.
	InPlace, CPUStartupBoost, PerVPAConfig bool
}

// UpdatePolicyOf returns the object's policy for the updater; defaults are the operator's settings, for fields that the
// object leaves out.
func UpdatePolicyOf(spec *vpav1.VerticalPodAutoscalerSpec, defaults *update.Policy, gates Gates) update.Policy {
	p := *defaults
	p.Mode, p.Containers = ModeOf(spec), PoliciesOf(spec)
	if p.Mode == vertical.ModeInPlace && !gates.InPlace {
		p.Mode = vertical.ModeOff
	}
	if gates.CPUStartupBoost {
		p.Boost = BoostOf(spec.StartupBoost)
		p.HasBoost = HasBoost(spec)
		inheritDurations(spec, p.Containers, p.Boost)
	}
	own := spec.UpdatePolicy
	if own == nil {
		p.Unrestricted = true
		return p
	}
	if own.MinReplicas != nil {
		p.MinReplicas = int(*own.MinReplicas)
	}
	if own.EvictAfterOOMSeconds != nil && gates.PerVPAConfig {
		p.AfterOOM = time.Duration(*own.EvictAfterOOMSeconds) * time.Second
	}
	for i := range own.EvictionRequirements {
		p.Requirements = append(p.Requirements, requirementOf(&own.EvictionRequirements[i]))
	}
	return p
}

// HasBoost reports whether the object gives any container a start-up boost.
func HasBoost(spec *vpav1.VerticalPodAutoscalerSpec) bool {
	if spec.StartupBoost != nil {
		return true
	}
	if spec.ResourcePolicy == nil {
		return false
	}
	for i := range spec.ResourcePolicy.ContainerPolicies {
		if spec.ResourcePolicy.ContainerPolicies[i].StartupBoost != nil {
			return true
		}
	}
	return false
}

// inheritDurations gives boosts of containers without a duration that of the whole object.
func inheritDurations(
	spec *vpav1.VerticalPodAutoscalerSpec, policies []vertical.ContainerPolicy, whole *vertical.Boost,
) {
	for i := range policies {
		boost := policies[i].Boost
		if boost == nil || whole == nil {
			continue
		}
		if spec.ResourcePolicy.ContainerPolicies[i].StartupBoost.CPU.DurationSeconds == nil {
			boost.Duration = whole.Duration
		}
	}
}

var directions = map[vpav1.EvictionChangeRequirement]priority.Direction{
	vpav1.TargetHigherThanRequests: priority.Higher, vpav1.TargetLowerThanRequests: priority.Lower,
}

func requirementOf(r *vpav1.EvictionRequirement) priority.Requirement {
	required := priority.Requirement{Direction: directions[r.ChangeRequirement]}
	for _, name := range r.Resources {
		if resource, ok := resourceNamed(name); ok {
			required.Resources = append(required.Resources, resource)
		}
	}
	return required
}

// PastOf returns the updater's last pass from the object's status.
func PastOf(status *vpav1.VerticalPodAutoscalerStatus) disruption.Past {
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == report.Type {
			return disruption.Past{
				Updating:    c.Reason == report.Updating || c.Reason == reason.WaitingForReplacement.String(),
				Open:        c.Reason == reason.CircuitOpen.String() || c.Reason == reason.FailedCreate.String(),
				NotAdmitted: c.Reason == reason.NotAdmitted.String(),
			}
		}
	}
	return disruption.Past{}
}

// RequestOf returns the settings of the object that not every cluster supports.
func RequestOf(spec *vpav1.VerticalPodAutoscalerSpec) report.Request {
	return report.Request{
		Mode: ModeOf(spec), Boost: HasBoost(spec), OOMTime: spec.UpdatePolicy != nil &&
			spec.UpdatePolicy.EvictAfterOOMSeconds != nil,
	}
}

// KnownGates returns the updater's gates, as far as the object's status shows them; known is false if the updater that
// writes it does not report them.
func KnownGates(status *vpav1.VerticalPodAutoscalerStatus) (gates Gates, known bool) {
	gates = Gates{InPlace: true, CPUStartupBoost: true, PerVPAConfig: true}
	for i := range status.Conditions {
		c := &status.Conditions[i]
		switch c.Type {
		case report.Type:
			known = true
		case report.FeatureType:
			known = true
			gates.InPlace = !report.HasFeature(c.Reason, report.InPlace)
			gates.CPUStartupBoost = !report.HasFeature(c.Reason, report.CPUStartupBoost)
			gates.PerVPAConfig = !report.HasFeature(c.Reason, report.PerVPAConfig)
		}
	}
	return gates, known
}
