package metric

import (
	"fmt"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/divergence"
)

// Failure says why a metric could not be computed, in upstream's words.
type Failure struct {
	// Reason is the reason of the condition and the event.
	Reason string
	// Message is the event's message.
	Message string
	// Error is the message with the words of the metric's type before it, as
	// the error of the whole computation quotes it.
	Error string
}

const (
	noPods     = "no pods returned by selector while calculating replica count"
	noRequests = "no metrics returned matched known pods"
)

// sourceError is what keeps the metric from being computed at all: a spec that
// cannot be used, an API error, an empty or a lying answer.
func sourceError(spec *Spec, reading *Reading, c *Context) string {
	switch {
	case !known(spec.Type):
		return fmt.Sprintf("unknown metric source type %q", string(spec.Type))
	case spec.SelectorError != "" && (spec.Type != External || spec.Target.Type != ""):
		return spec.SelectorError
	case spec.Target.Type == "":
		return noTarget(spec.Type)
	case reading.Error != "":
		return before(spec, c) + fmt.Sprintf("unable to fetch metrics from %s metrics API: %s", api(spec.Type), reading.Error)
	case reading.Empty:
		return before(spec, c) + fmt.Sprintf("no metrics returned from %s metrics API", api(spec.Type))
	case !fits(spec, reading, c):
		return before(spec, c) + "the values do not belong to the pods"
	case c.Divergences.Has(divergence.RejectNegative):
		if text := negative(reading, c); text != "" {
			return before(spec, c) + text
		}
	}
	return ""
}

// fits reports whether the reading holds what the calculation indexes. One that
// does not is a defect of whoever collected it, and a metric less, not a panic.
func fits(spec *Spec, reading *Reading, c *Context) bool {
	if spec.Type == Object || spec.Type == External {
		return len(reading.Series) > 0
	}
	withRequests := len(reading.Requests) > 0 || spec.Target.Type == Utilization
	return len(reading.Samples) == len(c.Pods) && (!withRequests || len(reading.Requests) == len(c.Pods))
}

func known(t Type) bool {
	return slices.Contains([]Type{Resource, ContainerResource, Pods, Object, External}, t)
}

func noTarget(t Type) string {
	switch t {
	case Object:
		return "invalid object metric source: neither a value target nor an average value target was set"
	case External:
		return "invalid external metric source: neither a value target nor an average value target was set"
	case Pods:
		return "invalid pods metric source: no average value target was set"
	default:
		return "invalid resource metric source: neither an average utilization target nor an average value (usage) target was set"
	}
}

func api(t Type) string {
	switch t {
	case Resource, ContainerResource:
		return "resource"
	case External:
		return "external"
	default:
		return "custom"
	}
}

// before is what upstream says of the metric in front of its API's error.
func before(spec *Spec, c *Context) string {
	switch spec.Type {
	case Object:
		return fmt.Sprintf("unable to get metric %s on %s %s/%s: ", spec.Name, spec.Object.Kind, c.Namespace, spec.Object.Name)
	case Pods:
		return fmt.Sprintf("unable to get metric %s: ", spec.Name)
	case External:
		return fmt.Sprintf("unable to get external metric %s/%s/%s: ", c.Namespace, spec.Name, spec.SelectorText)
	default:
		return fmt.Sprintf("unable to get metrics for resource %s: ", spec.Name)
	}
}

func negative(reading *Reading, c *Context) string {
	for i, s := range reading.Samples {
		if s.Present && s.Milli < 0 {
			return fmt.Sprintf("negative value of pod %s: %dm", c.Pods[i].Name, s.Milli)
		}
	}
	for _, milli := range slices.Concat(reading.Extraneous, reading.Series) {
		if milli < 0 {
			return fmt.Sprintf("negative value: %dm", milli)
		}
	}
	return ""
}

// fail puts the words of the metric's type around the error.
func fail(spec *Spec, text string) *Failure {
	f := &Failure{Reason: "FailedGet" + string(spec.Type) + "Metric", Message: text}
	average := spec.Target.Type == AverageValue
	// An Object metric's unusable selector fails before the target is looked at.
	selector := text == spec.SelectorError
	switch spec.Type {
	case Resource, ContainerResource:
		f.Message = resourceWords(spec) + text
		subject := spec.Name + " resource"
		if spec.Type == ContainerResource {
			subject = spec.Container + " container"
		}
		f.Error = fmt.Sprintf("failed to get %s metric value: %s", subject, f.Message)
	case Pods:
		f.Error = "failed to get pods metric value: " + text
	case Object:
		f.Error = "failed to get object metric value: " + text
		if average && !selector {
			f.Error = fmt.Sprintf("failed to get object metric value: failed to get %s object metric: %s", spec.Name, text)
		}
	case External:
		f.Error = fmt.Sprintf("failed to get %s external metric value: %s%s", spec.Name, externalWords(spec), text)
	default:
		f.Reason, f.Error = "InvalidMetricSourceType", text
	}
	return f
}

func resourceWords(spec *Spec) string {
	switch spec.Target.Type {
	case Utilization:
		return fmt.Sprintf("failed to get %s utilization: ", spec.Name)
	case AverageValue:
		return fmt.Sprintf("failed to get %s usage: ", spec.Name)
	default:
		return ""
	}
}

func externalWords(spec *Spec) string {
	switch spec.Target.Type {
	case AverageValue:
		return fmt.Sprintf("failed to get %s external metric: ", spec.Name)
	case Value:
		return fmt.Sprintf("failed to get external metric %s: ", spec.Name)
	default:
		return ""
	}
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
		if s.Target.Type == Value || set.Has(divergence.TrueMessages) {
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
