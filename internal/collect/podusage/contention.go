package podusage

import (
	"context"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
)

// Contention requests from the agent of a node the counters of CPU throttling and pressure. There is no response where
// the agent is not scraped or does not respond. isWhole reports whether the agent has all containers of the node that
// were set, so that its kubelet has no more.
func (s *Subscription) Contention(ctx context.Context, node string) (response []byte, isWhole bool, err error) {
	session := s.service.session.Load()
	if session == nil {
		return nil, false, nil
	}
	if a := session.agentsOf(s); a != nil {
		return a.contention(ctx, node)
	}
	return nil, false, nil
}

func (a *agents) contention(ctx context.Context, node string) (response []byte, isWhole bool, err error) {
	now := time.Now()
	selected := a.selected(node)
	state, isTarget := a.rounds.State(node)
	if selected == nil || !isTarget || !a.isHealthy(node, now) {
		return nil, false, nil
	}
	response, err = a.contentions.Contention(ctx, state.Target, selected)
	return response, err == nil && a.knowsAll(node, now), err
}

// knowsAll reports whether the agent has samples of all containers that are wanted of its node. A container without a
// limit has no throttling counters, so that the response does not show this.
func (a *agents) knowsAll(node string, now time.Time) bool {
	knows := true
	var known []rate.ContainerUsage
	a.subscription.wanted.each(node, func(name podName, containers int) bool {
		known, _ = a.store.Usage(rate.Query{
			Node: node, Namespace: name.namespace, Pod: name.name, Window: averaging.StableWindow, Now: now,
		}, known[:0])
		knows = len(known) == containers
		for i := range known {
			knows = knows && known[i].HasMemory
		}
		return knows
	})
	return knows
}
