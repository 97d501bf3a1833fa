package ownership

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
)

// SelectorKnown returns the selector of a workload. It makes no call: before Run has requested a scale, it returns
// ErrUnknown.
func (t *Tree) SelectorKnown(o Owner) (labels.Selector, error) {
	if informer, isKnown := t.informer(o); isKnown {
		object, err := t.object(o, informer)
		if err != nil {
			return nil, err
		}
		selector, err := selectorOf(object)
		if err != nil {
			return nil, as(ErrUnsupported, err)
		}
		return selector, nil
	}
	k, err := keyOf(o)
	if err != nil {
		return nil, err
	}
	a := t.known(k)
	if a.err != nil {
		return nil, a.err
	}
	if a.scale.Status.Selector == "" {
		return nil, as(ErrUnsupported, fmt.Errorf("%s has an empty selector in its scale", o))
	}
	selector, err := labels.Parse(a.scale.Status.Selector)
	if err != nil {
		return nil, as(ErrUnsupported, err)
	}
	return selector, nil
}
