package sources

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Selector selects series of a metric by their labels. It is comparable. The zero value selects all. Unlike the labels
// of objects, those of series may have any values.
type Selector struct {
	// text is the requirements as JSON, sorted.
	text string
}

// Requirement is one of the requirements of a selector, all of which must be met.
type Requirement struct {
	Label    string                       `json:"label"`
	Operator metav1.LabelSelectorOperator `json:"operator"`
	Values   []string                     `json:"values,omitempty"`
}

// MaxSelectorValues is the maximum number of a selector's labels and values: each series of a page is compared with
// them.
const MaxSelectorValues = 256

// SelectorOf converts the selector.
func SelectorOf(selector *metav1.LabelSelector) (Selector, error) {
	if selector == nil {
		return Selector{}, nil
	}
	size := len(selector.MatchLabels)
	for i := range selector.MatchExpressions {
		size += 1 + len(selector.MatchExpressions[i].Values)
	}
	if size > MaxSelectorValues {
		return Selector{}, fmt.Errorf("has %d labels and values: at most %d", size, MaxSelectorValues)
	}
	var all []Requirement
	for label, value := range selector.MatchLabels {
		all = append(all, Requirement{Label: label, Operator: metav1.LabelSelectorOpIn, Values: []string{value}})
	}
	for i := range selector.MatchExpressions {
		e := &selector.MatchExpressions[i]
		values := slices.Sorted(slices.Values(e.Values))
		all = append(all, Requirement{Label: e.Key, Operator: e.Operator, Values: slices.Compact(values)})
	}
	for i := range all {
		if err := all[i].check(); err != nil {
			return Selector{}, err
		}
	}
	if len(all) == 0 {
		return Selector{}, nil
	}
	slices.SortFunc(all, func(a, b Requirement) int {
		return cmp.Or(strings.Compare(a.Label, b.Label), strings.Compare(string(a.Operator), string(b.Operator)),
			slices.Compare(a.Values, b.Values))
	})
	text, err := json.Marshal(all)
	if err != nil {
		panic("requirements are JSON: " + err.Error())
	}
	return Selector{text: string(text)}, nil
}

func (r *Requirement) check() error {
	if r.Label == "" {
		return fmt.Errorf("label: %w", errAbsent)
	}
	switch r.Operator {
	case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
		if len(r.Values) == 0 {
			return fmt.Errorf("%s: values: %w", r.Label, errAbsent)
		}
	case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		if len(r.Values) > 0 {
			return fmt.Errorf("%s: %s takes no values", r.Label, r.Operator)
		}
	default:
		return fmt.Errorf("%s: %q is not an operator", r.Label, r.Operator)
	}
	return nil
}

// Requirements returns the selector's.
func (s Selector) Requirements() []Requirement {
	if s.text == "" {
		return nil
	}
	var all []Requirement
	if err := json.Unmarshal([]byte(s.text), &all); err != nil {
		panic("a selector is JSON: " + err.Error())
	}
	return all
}

// String returns the selector in kubectl's format; empty if it selects all.
func (s Selector) String() string {
	var parts []string
	for _, r := range s.Requirements() {
		values := strings.Join(r.Values, ",")
		switch {
		case r.Operator == metav1.LabelSelectorOpIn && len(r.Values) == 1:
			parts = append(parts, r.Label+"="+values)
		case r.Operator == metav1.LabelSelectorOpIn:
			parts = append(parts, fmt.Sprintf("%s in (%s)", r.Label, values))
		case r.Operator == metav1.LabelSelectorOpNotIn:
			parts = append(parts, fmt.Sprintf("%s notin (%s)", r.Label, values))
		case r.Operator == metav1.LabelSelectorOpExists:
			parts = append(parts, r.Label)
		default:
			parts = append(parts, "!"+r.Label)
		}
	}
	return strings.Join(parts, ",")
}
