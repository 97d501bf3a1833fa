package podusage

import (
	"context"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// preference is how long a node goes before others after it was asked for.
const preference = 5 * time.Second

// prefer keeps nodes before others for a while.
func (s *session) prefer(now time.Time, nodes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, node := range nodes {
		s.preferred[node] = now.Add(preference)
	}
}

// hurry makes preferred nodes urgent that have not had their turn for longer than
// a period: where the budget has room for all, none. And it tells what the budget does.
func (s *session) hurry(ctx context.Context) {
	var late []string
	var before scrape.Totals
	for timing.Pause(ctx, s.period/2) == nil {
		late = late[:0]
		now := time.Now()
		for _, node := range s.stillPreferred(now) {
			if state, isAsked := s.rounds.State(node); isAsked && now.Sub(state.Started) >= s.period+s.period/4 {
				late = append(late, node)
			}
		}
		if late = s.agents.without(late, now); len(late) > 0 {
			s.rounds.Urgent(late...)
		}
		totals := s.rounds.Totals()
		s.source.metrics.heldBack(&before, &totals)
		before = totals
	}
}

func (s *session) stillPreferred(now time.Time) []string {
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
