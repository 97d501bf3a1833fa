package horizontal

import (
	"fmt"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/output"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// writeSamples prints where CPU and memory were from, and which agents of nodes did not answer.
func writeSamples(p *output.Page, s *snapshothorizontal.Samples) {
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
	if text := unreadText(s); text != "" {
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

// unreadText is which nodes cannot be read, and why; empty if all can.
func unreadText(s *snapshothorizontal.Samples) string {
	if s != nil && s.NodesUnread != "" && s.AgentPods+s.KubeletPods == 0 {
		return "from metrics.k8s.io instead of the nodes: " + s.NodesUnread
	}
	if s != nil {
		return s.NodesUnread
	}
	return ""
}

func ofPods(n int) string {
	if n == 1 {
		return "of 1 pod"
	}
	return fmt.Sprintf("of %d pods", n)
}
