package sources

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// PodSet names pods of the object's namespace that are not the target's. It is comparable. The zero value stands for
// the target's pods.
type PodSet struct {
	// Service is the name of a Service whose selector selects the pods.
	Service string
	// Labels is a label selector as text.
	Labels string
}

// IsTarget reports whether it stands for the target's pods.
func (s PodSet) IsTarget() bool { return s == PodSet{} }

// Selector returns the label selector of a set without a Service.
func (s PodSet) Selector() labels.Selector {
	selector, err := labels.Parse(s.Labels)
	if err != nil {
		panic("the text of a selector is a selector: " + err.Error())
	}
	return selector
}

// String returns the pods as messages name them; empty for the target's.
func (s PodSet) String() string {
	switch {
	case s.Service != "":
		return "service " + s.Service
	case s.Labels != "":
		return "pods " + s.Labels
	}
	return ""
}

// SelectorText names the field with what selects the pods.
func (s PodSet) SelectorText() string {
	if s.Service != "" {
		return "the selector of service " + s.Service
	}
	return "podSelector " + s.Labels
}

// Aggregate is how several values become one.
type Aggregate uint8

// The ways.
const (
	Sum Aggregate = iota
	Average
	Max
)

// String returns the name of the API.
func (a Aggregate) String() string { return [...]string{"Sum", "Average", "Max"}[a] }

func aggregateOf(name plimsollv1alpha1.Aggregate) (Aggregate, error) {
	for _, a := range [...]Aggregate{Sum, Average, Max} {
		if string(name) == a.String() || name == "" && a == Sum {
			return a, nil
		}
	}
	return Sum, fmt.Errorf("aggregate: %q is neither Sum nor Average nor Max", name)
}

var (
	errBothPods = errors.New("service: may not be set beside podSelector")
	errAllPods  = errors.New("podSelector: must require a label: it would select all pods of the namespace")
	errRates    = errors.New("aggregate: must be Sum where valueType is Rate, unless podSelector or service is set: the " +
		"rates of a pod's series are always summed")
)

// setPods sets which pods expose the metric, and how their values become one.
func (p *PodEndpoint) setPods(m *plimsollv1alpha1.PodEndpointMetricSource) error {
	var err error
	if p.Aggregate, err = aggregateOf(m.Aggregate); err != nil {
		return err
	}
	p.Pods.Service = m.Service
	if m.PodSelector != nil {
		if m.Service != "" {
			return errBothPods
		}
		required := m.PodSelector.AsLabelSelector()
		if required == nil || !selectsByLabel(required) {
			return errAllPods
		}
		selector, err := metav1.LabelSelectorAsSelector(required)
		if err != nil {
			return fmt.Errorf("podSelector: %w", err)
		}
		p.Pods.Labels = selector.String()
	}
	if p.IsRate && p.Aggregate != Sum && p.Pods.IsTarget() {
		return errRates
	}
	return nil
}

// selectsByLabel reports whether pods must have a label to be selected.
func selectsByLabel(s *metav1.LabelSelector) bool {
	return len(s.MatchLabels) > 0 || slices.ContainsFunc(s.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		return r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpExists
	})
}

// podsIdentity returns the fields as part of the metric's identity: none for the target's pods and sums.
func (p *PodEndpoint) podsIdentity() []string {
	if p.Pods.IsTarget() && p.Aggregate == Sum {
		return nil
	}
	return []string{p.Pods.Service, p.Pods.Labels, p.Aggregate.String()}
}
