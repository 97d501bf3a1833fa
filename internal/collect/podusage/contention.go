package podusage

import (
	"context"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
)

// Contention requests from the agent of a node the counters of CPU that containers did not get. There is no answer
// where the agent is not requested or does not answer. isWhole says that the agent knows all containers of the node
// that anybody has looked at lately, so that its kubelet knows no more.
func (s *Source) Contention(ctx context.Context, node string) (answer []byte, isWhole bool, err error) {
	session := s.session.Load()
	if session == nil || session.agents == nil {
		return nil, false, nil
	}
	return session.agents.contention(ctx, node)
}

func (a *agents) contention(ctx context.Context, node string) (answer []byte, isWhole bool, err error) {
	now := time.Now()
	wanted := a.selected(node, now)
	state, isAsked := a.rounds.State(node)
	if wanted == nil || !isAsked || !a.isAnswering(node, now) {
		return nil, false, nil
	}
	answer, err = a.scraper.Contention(ctx, state.Target, wanted)
	return answer, err == nil && a.knowsAll(node, now), err
}

// knowsAll reports whether the agent has samples of all containers that are wanted of its node. What it answers about
// CPU that they did not get has nothing of a container without a limit, so that this cannot be seen there.
func (a *agents) knowsAll(node string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	of := a.wanted[node]
	if of == nil {
		return false
	}
	var known []rate.ContainerUsage
	for name, pod := range of.pods {
		known, _ = a.store.Usage(rate.Query{
			Node: node, Namespace: name.namespace, Pod: name.name, Window: averaging.StableWindow, Now: now,
		}, known[:0])
		if len(known) != len(pod.running.Containers) {
			return false
		}
		for i := range known {
			if !known[i].HasMemory {
				return false
			}
		}
	}
	return true
}
