package statusreport

import "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"

// selectorTexts has the texts about a selector's problem: reason and message in a condition, event and error in an
// event.
type selectorTexts struct {
	reason, message, event, error string
}

func selectorOf(s podselector.Selector) selectorTexts {
	switch s.Problem {
	case podselector.Missing:
		return selectorTexts{
			reason: "InvalidSelector", message: "the HPA target's scale is missing a selector", event: "SelectorRequired",
			error: "selector is required",
		}
	case podselector.Ambiguous:
		return selectorTexts{reason: "AmbiguousSelector", message: s.Message, event: "AmbiguousSelector", error: s.Message}
	}
	return selectorTexts{reason: "InvalidSelector", message: s.Message, event: "InvalidSelector", error: s.Message}
}
