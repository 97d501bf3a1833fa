package podusage

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// Origins say where what Latest found comes from.
type Origins struct {
	// AgentPods and KubeletPods are how many pods are known from one or the other.
	AgentPods, KubeletPods int
	// Silent are the agents that do not answer, of nodes with pods that are not known from them.
	Silent []SilentAgent
}

// SilentAgent is an agent that does not answer.
type SilentAgent struct {
	Node string
	Err  error
}

// IsFromAgents reports whether agents know all pods of which the last Latest found something.
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

// Origins say where the last Latest found what. The pods are those that it was called with.
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
