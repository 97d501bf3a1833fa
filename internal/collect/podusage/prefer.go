package podusage

import (
	"context"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// preference is the time for which Prefer prefers a node.
const preference = 5 * time.Second

func (s *Subscription) prefer(now time.Time, nodes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, node := range nodes {
		s.preferred[node] = now.Add(preference)
	}
}

// stillPreferred returns the nodes whose preference has not ended.
func (s *Subscription) stillPreferred(now time.Time) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	nodes := make([]string, 0, len(s.preferred))
	for node, until := range s.preferred {
		if now.After(until) {
			delete(s.preferred, node)
			continue
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// promotePreferred makes late preferred nodes urgent, and counts the scrapes that the budget delayed.
func (s *session) promotePreferred(ctx context.Context) {
	var before scrape.Totals
	rounds := s.kubelets.rounds
	for timing.Pause(ctx, s.period/2) == nil {
		now := time.Now()
		for _, of := range s.subscriptions {
			if late := s.agentsOf(of).uncovered(s.late(of, now), now); len(late) > 0 {
				rounds.Urgent(late...)
			}
		}
		totals := rounds.Totals()
		s.service.metrics.countDelayed(&before, &totals)
		before = totals
	}
}

// late returns the preferred nodes whose last scrape began more than a period ago: none where the budget has room for
// all.
func (s *session) late(of *Subscription, now time.Time) (late []string) {
	period := of.cadence.Kubelets
	for _, node := range of.stillPreferred(now) {
		state, isTarget := s.kubelets.rounds.State(node)
		if isTarget && now.Sub(state.Started) >= period+period/4 {
			late = append(late, node)
		}
	}
	return late
}
