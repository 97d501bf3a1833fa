package podusage

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// lackAfter is for how long a kubelet is asked as often as without an agent after somebody has looked at a ready pod
// that the agent does not know. An object whose kubelets are asked every second is decided as often.
const lackAfter = 5 * time.Second

// isEnough reports whether the agent's samples are used, and its node's kubelet is needed for no ready pod.
func (a *agents) isEnough(node string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.wanted[node]
	return a.isHeard(node, now) && (of == nil || now.Sub(of.lacked) > lackAfter)
}

// lacks notes that an agent that answers does not know a pod. If it is the first for a while, the kubelet is due.
func (a *agents) lacks(now time.Time, pod *observe.Pod) {
	node := pod.Node()
	a.mu.Lock()
	of := a.wanted[node]
	isFirst := of != nil && now.Sub(of.lacked) > lackAfter
	if of != nil {
		of.lacked = now
	}
	a.mu.Unlock()
	if isFirst {
		a.session.rounds.Urgent(node)
	}
}

// without are the nodes for which agents are not enough.
func (a *agents) without(nodes []string, now time.Time) []string {
	if a == nil {
		return nodes
	}
	var left []string
	for _, node := range nodes {
		if !a.isEnough(node, now) {
			left = append(left, node)
		}
	}
	return left
}

// stretch is how many times less often a kubelet is asked.
func (a *agents) stretch(target kubelet.Target) float64 {
	if a.isEnough(target.Node, time.Now()) {
		return agentStretch
	}
	return 1
}
