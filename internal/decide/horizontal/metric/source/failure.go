package source

import (
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// Failure says why a metric could not be computed, for upstream's types with its messages.
type Failure struct {
	// Reason is the reason of the condition and the event.
	Reason string
	// Message is the event's message.
	Message string
	// Error is the message with the prefix of the metric's type, as
	// the error of the whole computation quotes it.
	Error string
}

// Known reports whether there is such a type.
func (t Type) Known() bool {
	return t.isPerPod() || t.hasValueWithoutPods()
}

// NoTarget returns the error of a source without a usable target.
func (t Type) NoTarget() string {
	switch t {
	case Object:
		return "invalid object metric source: neither a value target nor an average value target was set"
	case External:
		return "invalid external metric source: neither a value target nor an average value target was set"
	case Pods:
		return "invalid pods metric source: no average value target was set"
	case PodEndpoint, Prometheus, ExternalScaler, Scaler:
		return fmt.Sprintf("invalid %s metric source: neither a value target nor an average value target was set", t.words())
	default:
		return "invalid resource metric source: neither an average utilization target nor an average value (usage) target " +
			"was set"
	}
}

// Origin returns the source that the metric is read from.
func (t Type) Origin() string {
	switch t {
	case Resource, ContainerResource:
		return "resource metrics API"
	case External:
		return "external metrics API"
	case PodEndpoint:
		return "the pods"
	case Prometheus:
		return "Prometheus"
	case ExternalScaler:
		return "the external scaler"
	case Scaler:
		return "KEDA's scaler"
	default:
		return "custom metrics API"
	}
}

// Group returns the API group that serves metrics of the type; empty for those that Plimsoll reads itself.
func (t Type) Group() string {
	switch t {
	case Resource, ContainerResource:
		return "metrics.k8s.io"
	case Pods, Object:
		return "custom.metrics.k8s.io"
	case External:
		return "external.metrics.k8s.io"
	default:
		return ""
	}
}

// words returns the type as messages spell it, for types that Plimsoll reads itself.
func (t Type) words() string {
	switch t {
	case PodEndpoint:
		return "pod endpoint"
	case ExternalScaler:
		return "external scaler"
	case Scaler:
		return "scaler"
	default:
		return string(t)
	}
}

// Before returns the prefix of messages about errors of the metric's source, for upstream's types as upstream has it.
func (s *Spec) Before(namespace string) string {
	switch s.Type {
	case Object:
		return fmt.Sprintf("unable to get metric %s on %s %s/%s: ", s.Name, s.Object.Kind, namespace, s.Object.Name)
	case Pods:
		return fmt.Sprintf("unable to get metric %s: ", s.Name)
	case External:
		return fmt.Sprintf("unable to get external metric %s/%s/%s: ", namespace, s.Name, s.SelectorText)
	case PodEndpoint, Prometheus, ExternalScaler:
		return fmt.Sprintf("unable to get %s: ", s.Measured(divergence.None))
	default:
		return fmt.Sprintf("unable to get metrics for resource %s: ", s.Name)
	}
}

// Fail returns a failure with the prefixes of the metric's type.
func (s *Spec) Fail(text string) *Failure {
	f := &Failure{Reason: "FailedGet" + string(s.Type) + "Metric", Message: text}
	average := s.Target.Type == AverageValue
	// An Object metric's unusable selector fails before the target is compared.
	selector := text == s.SelectorError
	switch s.Type {
	case Resource, ContainerResource:
		f.Message = s.resourceWords() + text
		subject := s.Name + " resource"
		if s.Type == ContainerResource {
			subject = s.Container + " container"
		}
		f.Error = fmt.Sprintf("failed to get %s metric value: %s", subject, f.Message)
	case Pods:
		f.Error = "failed to get pods metric value: " + text
	case Object:
		f.Error = "failed to get object metric value: " + text
		if average && !selector {
			f.Error = fmt.Sprintf("failed to get object metric value: failed to get %s object metric: %s", s.Name, text)
		}
	case External:
		f.Error = fmt.Sprintf("failed to get %s external metric value: %s%s", s.Name, s.externalWords(), text)
	case PodEndpoint, Prometheus, ExternalScaler:
		f.Error = fmt.Sprintf("failed to get %s metric value: %s", s.Type.words(), text)
	default:
		f.Reason, f.Error = "InvalidMetricSourceType", text
	}
	if s.GivenName != "" {
		named := s.Describe(divergence.None) + ": "
		f.Message, f.Error = named+f.Message, named+f.Error
	}
	return f
}

// Bare returns the message of a failure without the prefixes that name the metric.
func (s *Spec) Bare(message string) string {
	if s.GivenName != "" {
		message = strings.TrimPrefix(message, s.Describe(divergence.None)+": ")
	}
	message = strings.TrimPrefix(message, s.resourceWords())
	if _, cause, found := strings.Cut(message, "unable to fetch metrics from "); found {
		return strings.TrimPrefix(cause, PodEndpoint.Origin()+": ") // The cause is about the pods itself.
	}
	const none = "no metrics returned"
	if at := strings.Index(message, none); at > 0 {
		return message[at:]
	}
	return message
}

func (s *Spec) resourceWords() string {
	switch s.Target.Type {
	case Utilization:
		return fmt.Sprintf("failed to get %s utilization: ", s.Name)
	case AverageValue:
		return fmt.Sprintf("failed to get %s usage: ", s.Name)
	default:
		return ""
	}
}

func (s *Spec) externalWords() string {
	switch s.Target.Type {
	case AverageValue:
		return fmt.Sprintf("failed to get %s external metric: ", s.Name)
	case Value:
		return fmt.Sprintf("failed to get external metric %s: ", s.Name)
	default:
		return ""
	}
}
