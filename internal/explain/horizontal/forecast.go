package horizontal

import (
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
	return f, nil
}
