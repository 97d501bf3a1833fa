package horizontal_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
)

// TestTriggers: the trigger determines whether a decision may lower the replica count, and the decision has the
// trigger. A deferred decision changes no state.
func TestTriggers(t *testing.T) {
	for name, tt := range map[string]struct {
		reason  string
		trigger trigger.Kind
		awaited bool
		asks    int32
		want    int32
		branch  horizontal.Branch
	}{
		"sync period, less": {"all was asked anew", trigger.Periodic, false, 2, 2, horizontal.BranchMetrics},
		"samples, less": {"they show the pods that there are", trigger.Samples, false, 2, 2,
			horizontal.BranchMetrics},
		"event, less": {"the load of a pod that went has not come to the others", trigger.Event, false, 2, 4,
			horizontal.BranchAwaiting},
		"event, as many":        {"there is nothing to lower", trigger.Event, false, 4, 4, horizontal.BranchMetrics},
		"event, more":           {"more is never too early", trigger.Event, false, 6, 6, horizontal.BranchMetrics},
		"awaited, less":         {"what stands in may be older", trigger.Periodic, true, 2, 4, horizontal.BranchAwaiting},
		"awaited samples, less": {"what stands in may be older", trigger.Samples, true, 2, 4, horizontal.BranchAwaiting},
		"awaited, more":         {"more is never too early", trigger.Periodic, true, 6, 6, horizontal.BranchMetrics},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy(1, 100)
			p.DownscaleStabilization, p.Divergences = 0, p.Divergences&^divergence.NewerSamples
			o := see(4, sampled(tt.asks, 0))
			o.Trigger, o.NewerAwaited = tt.trigger, tt.awaited
			before := remembering(past{time.Hour, 1})
			before.Version, before.Count = horizontal.StateVersion, history.Count{Replicas: 4, IsKnown: true}
			before.Ready = history.Ready{{Time: noon}} // the pods that were seen remain
			d, after := horizontal.Decide(noon, &p, before.Clone(), &o)
			if d.Desired != tt.want || d.Branch != tt.branch || d.Trigger != tt.trigger {
				t.Errorf("%s: %d by %s on %s, want %d by %s", tt.reason, d.Desired, d.Branch, d.Trigger, tt.want, tt.branch)
			}
			left := cmp.Diff(before, after, cmpopts.IgnoreUnexported(horizontal.State{}), cmpopts.EquateEmpty())
			if (left == "") != (tt.branch == horizontal.BranchAwaiting) {
				t.Errorf("the state (-before +after):\n%s", left)
			}
		})
	}
}

// TestNothingIsRememberedOfADeferredDecision: the first window begins with the first decision that is not deferred.
func TestNothingIsRememberedOfADeferredDecision(t *testing.T) {
	p, o := policy(1, 100), see(4, sampled(2, 0))
	o.Trigger = trigger.Event
	if _, s := horizontal.Decide(noon, &p, horizontal.State{}, &o); !s.Recommendations.Empty() {
		t.Error("the window has begun")
	}
}

// TestCalmAtTheMost: an object at its max is calm at any usage; one that was just raised to it is not.
func TestCalmAtTheMost(t *testing.T) {
	p := policy(1, 4)
	for _, tt := range []struct {
		current, asks int32
		want          bool
	}{{4, 9, true}, {2, 4, false}, {2, 2, true}} {
		o := see(tt.current, sampled(tt.asks, 0))
		d, state := horizontal.Decide(noon.Add(time.Minute), &p, horizontal.State{}, &o)
		if got := d.FollowUp(&state, &o, nil).Calm; got.Is != tt.want {
			t.Errorf("%d pods that need %d: %+v", tt.current, tt.asks, got)
		}
	}
}
