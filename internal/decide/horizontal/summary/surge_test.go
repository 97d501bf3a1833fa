package summary

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
)

// TestRaisedBySurge: a count that is there because of an earlier surge has when that was, and what the count would be
// without it.
func TestRaisedBySurge(t *testing.T) {
	p := queueOf(mode.Active)
	of := func(raised, without int32, count history.Count) Input {
		in := played(&p, []int{60}, queued(5, 50))
		in.State.Surges.Raised, in.State.Surges.Without, in.State.Count = raised, without, count
		return in
	}
	at := history.Count{Replicas: 5, IsKnown: true, ChangedAt: noon.Add(12 * time.Second)}
	lowered, foreign := at, at
	lowered.IsLowered, foreign.IsForeign = true, true
	const plain = "Stays at 5: queue is at 100 % of its target."
	for name, tt := range map[string]struct {
		in   Input
		want string
	}{
		"a surge":               {of(5, 4, at), "Stays at 5 (raised by a surge at 12:00:12, 4 without it): queue is at 100 % of its target."},
		"none":                  {of(0, 0, at), plain},
		"of another count":      {of(6, 4, at), plain},
		"lowered to that since": {of(5, 4, lowered), plain},
		"by another writer":     {of(5, 4, foreign), plain},
		"when is not known":     {of(5, 4, history.Count{Replicas: 5, IsKnown: true}), plain},
	} {
		if got := Of(tt.in).Text; got != tt.want {
			t.Errorf("%s: got  %s", name, got)
		}
	}
}
