package summary

import (
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
)

// isReadElsewhere reports whether the decision lacks the value of a metric that the controller has.
func (w *writer) isReadElsewhere() bool {
	i, found := w.firstElsewhere()
	return found && w.Elsewhere[i] == ""
}

// firstElsewhere is the first metric whose value only the controller has; false if there is none.
func (w *writer) firstElsewhere() (i int, found bool) {
	for i := range w.Metrics {
		if _, isElsewhere := w.Elsewhere[i]; isElsewhere && w.Metrics[i].Pending {
			return i, true
		}
	}
	return 0, false
}

// readsOnly is "only the controller reads requests", of the first metric that nobody else does.
func (w *writer) readsOnly() string {
	i, _ := w.firstElsewhere()
	return "only the controller reads " + w.metricName(i)
}

// ofStatus is added to what the object's status has, and is not decided here.
const ofStatus = " (from the object's status)"

// decidedElsewhere is of a decision that only the controller can make, with what the status has of the last one.
func (w *writer) decidedElsewhere() string {
	text := fmt.Sprintf("Cannot be decided here, because %s; the target has %s", w.readsOnly(), replicasText(w.Current))
	if w.ShownDesired > 0 {
		text += fmt.Sprintf(", and the controller wants %d", w.ShownDesired) + ofStatus
	}
	return text
}

// shownForecast is what the forecast asks for by the status, where the decision knows nothing of it: while the load is
// not known it raises no count, and without the controller's history nothing is known of it.
func (w *writer) shownForecast(text string) string {
	isLoadUnknown := w.Failed+w.Pending > 0 || w.Forecast.Reason == forecast.ReasonLoadUnknown
	isAhead := w.Policy.Forecast.Mode == forecast.Active && w.ShownForecast > w.Desired
	switch {
	case !isAhead || strings.Contains(text, "the forecast "):
		return ""
	case isLoadUnknown:
		return fmt.Sprintf("; the forecast asks for %d%s, which counts once the load is known", w.ShownForecast, ofStatus)
	case w.IsHistoryUnknown:
		return fmt.Sprintf("; the forecast asks for %d%s", w.ShownForecast, ofStatus)
	}
	return ""
}

// onlyElsewhere names a metric that only the controller reads, if the sentence does not.
func (w *writer) onlyElsewhere(text string) string {
	if !w.isReadElsewhere() {
		return ""
	}
	if only := w.readsOnly(); !strings.Contains(text, only) {
		return "; " + only
	}
	return ""
}
