package readings

import (
	"errors"

	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// AddTo adds what was answered to each metric, or known without a request, to a snapshot of the
// decision. Answers that are on their way are not part of it.
func (r *Result) AddTo(step *snapshothorizontal.Step, d *Decision) {
	hasSamples := false
	for i := range r.answers {
		a := &r.answers[i]
		if errors.Is(a.Err, errAwaited) {
			continue
		}
		if a.usage == nil {
			step.AddAnswer(i, &a.Response)
			step.AddAsked(i, a.asked)
			continue
		}
		hasSamples = true
		if text := r.Readings[i].Error; text != "" {
			step.AddError(i, text)
		}
	}
	if hasSamples {
		step.AddPodMetrics(d.Scratch.view.PodMetrics(d.Pods, d.Policy.Metrics))
	}
}
