package summary

import (
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
)

// isReadElsewhere reports whether the decision lacks the value of a metric that the controller has.
func (w *writer) isReadElsewhere() bool {
	i := w.firstElsewhere()
	return i >= 0 && w.Elsewhere[i] == ""
}

// firstElsewhere is the first metric whose value only the controller has; below 0 if there is none.
func (w *writer) firstElsewhere() int {
	for i := range w.Metrics {
		if _, isElsewhere := w.Elsewhere[i]; isElsewhere && w.Metrics[i].Pending {
			return i
		}
	}
	return -1
}

// decidedElsewhere is of a decision that only the controller can make, with what the status has of the last one.
func (w *writer) decidedElsewhere() string {
	replicas := "1 replica"
	if w.Current != 1 {
		replicas = fmt.Sprintf("%d replicas", w.Current)
	}
	text := fmt.Sprintf("Is decided by %s, which only the controller reads; it has %s", w.metricName(w.firstElsewhere()),
		replicas)
	if w.ShownDesired > 0 {
		text += fmt.Sprintf(", and by the status the controller wants %d", w.ShownDesired)
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
		return fmt.Sprintf("; the forecast, which asks for %d by the status, counts once the load is known", w.ShownForecast)
	case w.IsHistoryUnknown:
		return fmt.Sprintf("; the forecast asks for %d by the status", w.ShownForecast)
	}
	return ""
}

// onlyElsewhere names a metric that only the controller reads, if the sentence does not.
func (w *writer) onlyElsewhere(text string) string {
	if !w.isReadElsewhere() {
		return ""
	}
	if name := w.metricName(w.firstElsewhere()); !strings.Contains(text, name+", which only") {
		return "; only the controller reads " + name
	}
	return ""
}
