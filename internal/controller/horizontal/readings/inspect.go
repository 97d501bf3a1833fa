package readings

import (
	"errors"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
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
			u := d.Scratch.view.Unreadable()
			step.Snapshot.Samples.NodesUnread, step.Snapshot.Samples.Unread = u.String(), unreadOf(u)
		}
	case r.nodesUnread != "":
		step.Snapshot.Samples = &snapshothorizontal.Samples{NodesUnread: r.nodesUnread, Unread: r.unread}
	}
}

// unreadOf returns the nodes that cannot be read.
func unreadOf(u *podload.Unreadable) *snapshothorizontal.UnreadNodes {
	return &snapshothorizontal.UnreadNodes{Nodes: 1 + u.OtherNodes, Message: u.Err.Error()}
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
