package horizontal_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
)

// TestUpstreamScaleEvents checks the scale events of a direction after one more change of 5, and the changes of the
// last minute before it (pkg/controller/podautoscaler/horizontal_test.go, TestStoreScaleEvents, v1.37.1). Subtests have
// upstream's names.
func TestUpstreamScaleEvents(t *testing.T) {
	ago := func(seconds int, replicas int32) past { return past{time.Duration(seconds) * time.Second, replicas} }
	two := []behavior.RatePolicy{pods(10, time.Minute), percent(100, time.Minute)}
	stored := func(replicas ...int32) history.Changes {
		var c history.Changes
		for _, n := range replicas {
			c = append(c, history.Change{Replicas: n})
		}
		return c
	}
	for name, tt := range map[string]struct {
		before []past
		// policies are nil for an object without behavior.
		policies []behavior.RatePolicy
		minute   int64
		after    history.Changes
	}{
		"empty entries with default behavior":                      {nil, nil, 0, nil},
		"empty entries with two-policy-behavior":                   {nil, two, 0, stored(5)},
		"one outdated entry to be kept untouched without behavior": {[]past{ago(61, 7)}, nil, 0, stored(7)},
		"one outdated entry to be replaced with behavior":          {[]past{ago(61, 7)}, two, 0, stored(5)},
		"one actual entry to be not touched with behavior":         {[]past{ago(58, 7)}, two, 7, stored(7, 5)},
		"two entries, one of them to be replaced": {
			[]past{ago(61, 7), ago(59, 6)}, []behavior.RatePolicy{pods(10, time.Minute)}, 6, stored(5, 6),
		},
		"replace one entry, use policies with different periods": {
			[]past{ago(29, 8), ago(59, 6), ago(61, 7), ago(61, 9)},
			[]behavior.RatePolicy{pods(10, time.Minute), percent(100, 30*time.Second)},
			14, history.Changes{{Replicas: 8}, {Replicas: 6}, {Replicas: 7, Outdated: true}, {Replicas: 5}},
		},
		"two entries, both actual": {
			[]past{ago(58, 7), ago(59, 6)},
			[]behavior.RatePolicy{pods(10, 2*time.Minute), percent(100, 30*time.Second)}, 13, stored(7, 6, 5),
		},
	} {
		for direction, change := range map[string]int32{"up": 5, "down": -5} {
			t.Run(name+", "+direction, func(t *testing.T) {
				p, o := policy(1, 100), see(10, length(10+change))
				p.Divergences, p.DownscaleStabilization = divergence.None, 0
				rules := unlimited()
				if tt.policies != nil {
					// The policy that permits the change must not be the tested one, and does not look back farther.
					rules.Policies = append(rules.Policies, tt.policies...)
					p.Behavior = rates(rules, rules)
				}
				events := changes(tt.before...)
				if got := events.Within(noon, time.Minute); got != tt.minute {
					t.Errorf("%d within a minute, want %d", got, tt.minute)
				}
				s := remembering(past{time.Hour, 1})
				if change > 0 {
					s.ScaleUps = events
				} else {
					s.ScaleDowns = events
				}
				d, s := horizontal.Decide(noon, &p, s, &o)
				if d.Desired != 10+change {
					t.Fatalf("desired %d, want %d", d.Desired, 10+change)
				}
				s = horizontal.Settle(s, horizontal.Outcome{At: noon})
				got := s.ScaleUps
				if change < 0 {
					got = s.ScaleDowns
				}
				if diff := cmp.Diff(tt.after, got, cmpopts.IgnoreFields(history.Change{}, "Time"),
					cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("scale events (-want +got):\n%s", diff)
				}
			})
		}
	}
}
