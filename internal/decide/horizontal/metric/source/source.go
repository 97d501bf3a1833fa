// Package source describes metric sources, of autoscaling/v2 and those that Plimsoll reads itself, and their names in
// messages.
package source

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// Type is the type of a metric source, named as in the API.
type Type string

// The metric source types.
const (
	Resource          Type = "Resource"
	ContainerResource Type = "ContainerResource"
	Pods              Type = "Pods"
	Object            Type = "Object"
	External          Type = "External"

	// Those that Plimsoll reads itself, of a WorkloadAutoscaler only.
	PodEndpoint    Type = "PodEndpoint"
	Prometheus     Type = "Prometheus"
	ExternalScaler Type = "ExternalScaler"
	Scaler         Type = "Scaler"
)

// TargetType says how a metric is compared with its target.
type TargetType string

// The target types of autoscaling/v2.
const (
	Utilization  TargetType = "Utilization"
	Value        TargetType = "Value"
	AverageValue TargetType = "AverageValue"
)

// Upstream's messages print a missing label selector as "nil".
const noSelector = "nil"

// CPU is the resource of which samples of starting pods do not count.
const CPU = "cpu"

// Spec is one metric of a HorizontalPodAutoscaler or a WorkloadAutoscaler.
type Spec struct {
	Type Type
	// GivenName is the name that a WorkloadAutoscaler gives the metric; empty for an HPA.
	GivenName string
	// Name is the resource's or the metric's name.
	Name string
	// Container is the container's name of a ContainerResource metric.
	Container string
	// Object is the described object of an Object metric.
	Object ObjectRef
	// SelectorText is the metric's label selector as messages print it.
	SelectorText string
	// SelectorError says why the metric's label selector cannot be used; empty
	// when it can.
	SelectorError string
	// Target is the target of the metric. An empty Target.Type means that the object has no usable target for this type:
	// the metric fails.
	Target Target
	// The following fields are set for a WorkloadAutoscaler only. An Object, External or Prometheus metric with a value
	// above ActivationMilli is active, which keeps the target above zero replicas. An ExternalScaler reports itself
	// whether it is active.
	Fallback        Fallback
	ActivationMilli int64
	// Identity distinguishes metrics that Plimsoll reads itself: a hash of all fields that select what is measured. It is
	// empty for the types of autoscaling/v2.
	Identity string
	// IsOwnTarget is set if the target's value comes with the reading; Target.Milli is not used.
	IsOwnTarget bool
	// IsRate is set if a PodEndpoint metric is events per second.
	IsRate bool
	// OtherPods names the pods of a PodEndpoint metric that are not the target's, such as "service gateway"; it is empty
	// for the target's. Such a metric is one value for the whole target, as an Object metric is.
	OtherPods string
}

// HasValueWithoutPods reports whether the metric has a value while its target has no pods.
func (s *Spec) HasValueWithoutPods() bool { return s.OtherPods != "" || s.Type.hasValueWithoutPods() }

// IsPerPod reports whether the metric has a sample for each pod.
func (s *Spec) IsPerPod() bool { return s.OtherPods == "" && s.Type.isPerPod() }

func (t Type) hasValueWithoutPods() bool {
	return t == Object || t == External || t == Prometheus || t.ReportsActivity()
}

// ReportsActivity reports whether a scaler reports beside the values whether it is active.
func (t Type) ReportsActivity() bool { return t == ExternalScaler || t == Scaler }

func (t Type) isPerPod() bool {
	return t == Resource || t == ContainerResource || t == Pods || t == PodEndpoint
}

// IsCPU reports whether the metric is CPU use of the pods. Samples of pods that are starting show their start.
func (s *Spec) IsCPU() bool {
	return (s.Type == Resource || s.Type == ContainerResource) && s.Name == CPU
}

// IsShared reports whether the target is one value for all pods together, though each has a sample.
func (s *Spec) IsShared() bool { return s.IsPodEndpoint() && s.Target.Type == Value }

// IsPodEndpoint reports whether each pod of the target exposes the metric itself.
func (s *Spec) IsPodEndpoint() bool { return s.Type == PodEndpoint && s.OtherPods == "" }

// ObjectRef names the object that an Object metric describes.
type ObjectRef struct {
	Kind, Name string
}

// Target is the wanted value of a metric.
type Target struct {
	Type TargetType
	// Percent is the wanted utilization of the request; for Utilization.
	Percent int32
	// Milli is the wanted value in milli-units; for Value and AverageValue.
	Milli int64
}

// ShortName returns the name in the status: the given one, or the metric's.
func (s *Spec) ShortName() string { return cmp.Or(s.GivenName, s.Name) }

// Describe returns the name of the metric in texts: the given one, or else upstream's.
func (s *Spec) Describe(set divergence.Set) string {
	if s.GivenName != "" {
		return fmt.Sprintf("metric %q", s.GivenName)
	}
	return s.Measured(set)
}

// Measured returns what the metric measures, as in upstream's reasons of a scaling (computeStatusFor*Metric).
func (s *Spec) Measured(set divergence.Set) string {
	switch s.Type {
	case Resource, ContainerResource:
		return s.describeResource()
	case Pods:
		return "pods metric " + s.Name
	case Object:
		if s.Target.Type == Value || set.Has(divergence.AccurateMessages) {
			return fmt.Sprintf("%s metric %s", s.Object.Kind, s.Name)
		}
	case PodEndpoint:
		if s.OtherPods != "" {
			return fmt.Sprintf("pod endpoint metric %s of %s", s.labelled(), s.OtherPods)
		}
		return "pod endpoint metric " + s.labelled()
	case Prometheus:
		return "Prometheus query " + s.Name
	case ExternalScaler:
		return strings.TrimSpace("external scaler metric " + s.Name)
	}
	return fmt.Sprintf("external metric %s(%s)", s.Name, s.SelectorText)
}

// labelled returns the metric's name with its label selector, if there is one.
func (s *Spec) labelled() string {
	if s.SelectorText == "" || s.SelectorText == noSelector {
		return s.Name
	}
	return fmt.Sprintf("%s(%s)", s.Name, s.SelectorText)
}

func (s *Spec) describeResource() string {
	switch {
	case s.Target.Type != Utilization:
		return s.Name + " resource"
	case s.Type == ContainerResource:
		return s.Name + " container resource utilization (percentage of request)"
	default:
		return s.Name + " resource utilization (percentage of request)"
	}
}
