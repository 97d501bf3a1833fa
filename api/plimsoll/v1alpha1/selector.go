package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// LabelSelector selects series of a metrics API, or pods, by their labels. It has the fields and the syntax of the selectors of
// other Kubernetes objects. All of its requirements must be met.
//
// +structType=atomic
// +kubebuilder:validation:XValidation:rule=`(has(self.matchLabels) ? size(self.matchLabels) : 0) + (has(self.matchExpressions) ? self.matchExpressions.map(e, 1 + (has(e.values) ? size(e.values) : 0)).sum() : 0) <= 256`,message="must have at most 256 labels and values"
type LabelSelector struct {
	// The labels that must be there, each with its value.
	// +optional
	// +kubebuilder:validation:MaxProperties=256
	// +kubebuilder:validation:XValidation:rule=`self.all(k, k.matches('^([a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$'))`,message="must have keys with the syntax of labels"
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// Further requirements on the labels.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	MatchExpressions []LabelSelectorRequirement `json:"matchExpressions,omitempty"`
}

// LabelValue is the value of a label, with the syntax of Kubernetes' labels. It may be empty.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?)?$`
type LabelValue string

// LabelSelectorRequirement is a requirement on one label.
//
// +kubebuilder:validation:XValidation:rule=`!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)`,message="must be set where operator is In or NotIn",fieldPath=".values",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0`,message="may not be set where operator is Exists or DoesNotExist",fieldPath=".values",reason="FieldValueForbidden"
type LabelSelectorRequirement struct {
	// The label.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([a-z0-9-]*[a-z0-9])?([.][a-z0-9]([a-z0-9-]*[a-z0-9])?)*/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`
	Key string `json:"key"`

	// In: the label has one of the values. NotIn: it has none of them. Exists: the label is there. DoesNotExist: it is not.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`

	// The values. They are required where operator is In or NotIn, and may be set only there.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Values []LabelValue `json:"values,omitempty"`
}

// SeriesIdentifier names a metric that pods expose.
type SeriesIdentifier struct {
	// The name of the metric.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule=`self.matches('^[a-zA-Z_:][a-zA-Z0-9_:]*$')`,message="must have letters, digits, '_' and ':' only, and not begin with a digit"
	Name string `json:"name"`

	// The series of the metric, by their labels. Without it, or if it is empty, all series count.
	// +optional
	Selector *SeriesSelector `json:"selector,omitempty"`
}

// SeriesSelector selects series that pods expose, by their labels. These have the syntax of Prometheus: unlike the
// labels of Kubernetes objects, they may have any values. All of its requirements must be met.
//
// +structType=atomic
// +kubebuilder:validation:XValidation:rule=`(has(self.matchLabels) ? size(self.matchLabels) : 0) + (has(self.matchExpressions) ? self.matchExpressions.map(e, 1 + (has(e.values) ? size(e.values) : 0)).sum() : 0) <= 256`,message="must have at most 256 labels and values"
type SeriesSelector struct {
	// The labels that a series must have, each with its value.
	// +optional
	// +kubebuilder:validation:MaxProperties=256
	// +kubebuilder:validation:XValidation:rule=`self.all(k, k.matches('^[a-zA-Z_][a-zA-Z0-9_]*$'))`,message="must have keys of letters, digits and '_' only, which do not begin with a digit"
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// Further requirements on the labels of a series.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	MatchExpressions []SeriesSelectorRequirement `json:"matchExpressions,omitempty"`
}

// SeriesSelectorRequirement is a requirement on one label.
//
// +kubebuilder:validation:XValidation:rule=`!(self.operator in ['In', 'NotIn']) || (has(self.values) && size(self.values) > 0)`,message="must be set where operator is In or NotIn",fieldPath=".values",reason="FieldValueRequired"
// +kubebuilder:validation:XValidation:rule=`!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values) || size(self.values) == 0`,message="may not be set where operator is Exists or DoesNotExist",fieldPath=".values",reason="FieldValueForbidden"
type SeriesSelectorRequirement struct {
	// The label.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	Key string `json:"key"`

	// In: the label has one of the values. NotIn: it has none of them. Exists: the series has the label. DoesNotExist: it
	// does not have it.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`

	// The values. They are required where operator is In or NotIn, and may be set only there.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Values []string `json:"values,omitempty"`
}

// AsLabelSelector returns the selector of other Kubernetes objects that means the same; nil if it selects all.
func (s *LabelSelector) AsLabelSelector() *metav1.LabelSelector {
	if s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return nil
	}
	out := &metav1.LabelSelector{}
	for key, value := range s.MatchLabels {
		metav1.AddLabelToSelector(out, key, string(value))
	}
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		requirement := metav1.LabelSelectorRequirement{Key: e.Key, Operator: e.Operator}
		for _, value := range e.Values {
			requirement.Values = append(requirement.Values, string(value))
		}
		out.MatchExpressions = append(out.MatchExpressions, requirement)
	}
	return out
}

// AsLabelSelector returns a selector of the same requirements; nil if it selects all.
func (s *SeriesSelector) AsLabelSelector() *metav1.LabelSelector {
	if s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		return nil
	}
	out := &metav1.LabelSelector{MatchLabels: s.MatchLabels}
	for _, e := range s.MatchExpressions {
		out.MatchExpressions = append(out.MatchExpressions, metav1.LabelSelectorRequirement(e))
	}
	return out
}
