package horizontal

import (
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// writeSamples prints where CPU and memory were from, and which agents of nodes did not answer.
func (r *Result) writeSamples(p *output.Page) {
	s := r.Step.Snapshot.Samples
	if s == nil {
		return
	}
	var parts []string
	for _, from := range []struct {
		pods int
		name string
	}{{s.AgentPods, "the agents of their nodes"}, {s.KubeletPods, "the kubelets of their nodes"}} {
		if from.pods > 0 {
			parts = append(parts, fmt.Sprintf("%s from %s", ofPods(from.pods), from.name))
		}
	}
	if text := r.unreadText(); text != "" {
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		parts = []string{"of no pod"}
	}
	p.Add("samples", "%s", strings.Join(parts, ", "))
	for i := range s.SilentAgents {
		p.Detail("no agent", s.SilentAgents[i].Node+": "+s.SilentAgents[i].Message)
	}
	if s.MoreSilentAgents > 0 {
		p.Detail("no agent", fmt.Sprintf("%d more nodes", s.MoreSilentAgents))
	}
}

// unreadText is which nodes cannot be read, and why, and whether metrics.k8s.io has samples instead; empty if all can.
func (r *Result) unreadText() string {
	s := r.Step.Snapshot.Samples
	switch {
	case s == nil || s.NodesUnread == "":
		return ""
	case s.AgentPods+s.KubeletPods > 0:
		return s.NodesUnread
	case r.hasNoUsage():
		return "neither from the nodes nor from metrics.k8s.io: " + s.NodesUnread
	}
	return "from metrics.k8s.io instead of the nodes: " + s.NodesUnread
}

// hasNoUsage reports whether no metric of CPU or memory could be computed.
func (r *Result) hasNoUsage() bool {
	n := 0
	for i := range r.Decision.Metrics {
		if t := r.Policy.Metrics[i].Type; t != source.Resource && t != source.ContainerResource {
			continue
		}
		if n++; r.Decision.Metrics[i].Failure == nil {
			return false
		}
	}
	return n > 0
}

func ofPods(n int) string {
	if n == 1 {
		return "of 1 pod"
	}
	return fmt.Sprintf("of %d pods", n)
}
