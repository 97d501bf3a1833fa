// Package source says what a metric source of autoscaling/v2 is, and what
// upstream's messages call it.
package source

import (
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// Type is the type of a metric source, named as in autoscaling/v2.
type Type string

// The metric source types.
const (
	Resource          Type = "Resource"
	ContainerResource Type = "ContainerResource"
	Pods              Type = "Pods"
	Object            Type = "Object"
	External          Type = "External"
)

// TargetType says how a metric is compared with its target.
type TargetType string

// The target types of autoscaling/v2.
const (
	Utilization  TargetType = "Utilization"
	Value        TargetType = "Value"
	AverageValue TargetType = "AverageValue"
)

// CPU is the resource whose samples of pods that are starting are left out.
const CPU = "cpu"

// Spec is one metric of a HorizontalPodAutoscaler or a WorkloadAutoscaler.
type Spec struct {
	Type Type
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
	// Target is how the value is judged. An empty Target.Type means that the
	// object names no usable target for this metric type: an error of the metric.
	Target Target
	// Fallback and ActivationMilli are of a WorkloadAutoscaler alone. With a value above ActivationMilli an Object or
	// External metric is active, which keeps its target from having no replicas.
	Fallback        Fallback
	ActivationMilli int64
}

// HasValueWithoutPods reports whether a metric of the type has a value while its target has no pods.
func (t Type) HasValueWithoutPods() bool { return t == Object || t == External }

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

// Describe names the metric as the reasons of a scaling do (upstream:
// computeStatusFor*Metric).
func (s *Spec) Describe(set divergence.Set) string {
	switch s.Type {
	case Resource, ContainerResource:
		return s.describeResource()
	case Pods:
		return "pods metric " + s.Name
	case Object:
		if s.Target.Type == Value || set.Has(divergence.AccurateMessages) {
			return fmt.Sprintf("%s metric %s", s.Object.Kind, s.Name)
		}
	}
	return fmt.Sprintf("external metric %s(%s)", s.Name, s.SelectorText)
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
