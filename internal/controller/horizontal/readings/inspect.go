package readings

import (
	"errors"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// AddTo adds the response for each metric, or the nodes' samples, to a snapshot of the decision. It leaves out
// responses that have not arrived, and metrics that Plimsoll reads itself: the snapshot has their readings.
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
	switch {
	case hasSamples:
		step.AddPodMetrics(d.Scratch.view.PodMetrics(d.Pods, d.Policy.Metrics))
		step.Snapshot.Samples = samplesOf(d.Scratch.view.Origins(d.Start, d.Pods))
		if r.unreadable > 0 {
			step.Snapshot.Samples.NodesUnread = d.Scratch.view.Unreadable().String()
		}
	case r.nodesUnread != "":
		step.Snapshot.Samples = &snapshothorizontal.Samples{NodesUnread: r.nodesUnread}
	}
}

// samplesOf returns the origin of the samples. It bounds the list of agents without samples: their errors are often the
// same.
func samplesOf(o podusage.Origins) *snapshothorizontal.Samples {
	samples := &snapshothorizontal.Samples{AgentPods: o.AgentPods, KubeletPods: o.KubeletPods}
	for i := range o.Silent {
		if i == snapshothorizontal.MaxSilentAgents {
			samples.MoreSilentAgents = len(o.Silent) - i
			break
		}
		samples.SilentAgents = append(samples.SilentAgents,
			snapshothorizontal.SilentAgent{Node: o.Silent[i].Node, Message: o.Silent[i].Err.Error()})
	}
	return samples
}
