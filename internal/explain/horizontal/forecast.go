package horizontal

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/summary"
	"github.com/plimsoll-dev/plimsoll/internal/explain/historybounds"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// Forecast is the next decision on an object, as far as it is certain without its controller's history.
type Forecast struct {
	// Result is the decision with the history that limits changes least.
	Result
	// Least and Most bound the count.
	Least, Most int32
}

// IsCertain reports whether the count does not depend on the history.
func (f *Forecast) IsCertain() bool { return f.Least == f.Most }

// Summary returns the next decision in one sentence.
func (f *Forecast) Summary() string {
	if f.IsCertain() {
		return f.Sentence.Text
	}
	return summary.Between(f.input(), f.Least, f.Most)
}

// ForecastOf decides a step with each possible history.
func ForecastOf(step *snapshothorizontal.Step, known *historybounds.Known) (Forecast, error) {
	var f Forecast
	for i, state := range historybounds.Bounds(known, step.Snapshot.Time) {
		result, _, err := Evaluate(step, state, known.Divergences)
		if err != nil {
			return f, err
		}
		result.IsHistoryUnknown = true
		result.Sentence = summary.Of(result.input())
		desired := result.Decision.Desired
		if i == 0 {
			f = Forecast{Result: result, Least: desired, Most: desired}
		}
		f.Least, f.Most = min(f.Least, desired), max(f.Most, desired)
	}
	f.Most = max(f.Most, f.shownForecast())
	return f, nil
}

// shownForecast returns the count to which the controller's forecast raises that of the metrics, as far as the status
// has it; 0 if it raises none.
func (f *Forecast) shownForecast() int32 {
	d := &f.Decision
	isUnread := d.Branch != horizontal.BranchMetrics || d.Failed+d.Pending > 0
	isActing := f.Observation.Refusal.Reason == "" && d.Mode() == mode.Active
	if isUnread || !isActing || f.Policy.Forecast.Mode != forecast.Active {
		return 0
	}
	return min(f.Step.Autoscaler().ForecastReplicas(), d.Bounds.MaxReplicas)
}
