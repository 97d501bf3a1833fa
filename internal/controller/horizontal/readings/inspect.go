package readings

import (
	"errors"

	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// AddTo adds what was answered to each metric, or known from kubelets, to a snapshot of the
// decision. Answers that are on their way are not part of it, and the snapshot has the readings of
// metrics that Plimsoll reads itself.
func (r *Result) AddTo(step *snapshothorizontal.Step, d *Decision) {
	hasSamples := false
	for i := range r.answers {
		a := &r.answers[i]
		if errors.Is(a.Err, errAwaited) || d.Own.Has(i) {
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
