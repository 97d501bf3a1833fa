package podusage

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Origins counts the pods of the last Latest by the origin of their samples.
type Origins struct {
	// AgentPods and KubeletPods count the pods with samples of one or the other.
	AgentPods, KubeletPods int
	// Silent lists the agents that do not respond, of nodes with pods without samples of an agent.
	Silent []SilentAgent
}

// SilentAgent is an agent that does not respond.
type SilentAgent struct {
	Node string
	Err  error
}

// IsFromAgents reports whether all samples of the last Latest came from agents, and there was at least one.
func (v *View) IsFromAgents() bool {
	isAny := false
	for _, from := range v.View.Origins() {
		if from == podload.FromKubelet {
			return false
		}
		isAny = isAny || from == podload.FromAgent
	}
	return isAny
}

// Origins returns the origins of the samples of the last Latest, for the pods of that call.
func (v *View) Origins(now time.Time, pods []*observe.Pod) Origins {
	var o Origins
	isNoted := map[string]bool{}
	for i, from := range v.View.Origins() {
		switch from {
		case podload.FromAgent:
			o.AgentPods++
			continue
		case podload.FromKubelet:
			o.KubeletPods++
		}
		node := pods[i].Node()
		if v.agents == nil || node == "" || isNoted[node] {
			continue
		}
		isNoted[node] = true
		if err := v.agents.silence(node, now); err != nil {
			o.Silent = append(o.Silent, SilentAgent{Node: node, Err: err})
		}
	}
	return o
}
