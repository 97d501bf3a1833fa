package bounds_test

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

const mi = 1 << 20

var amounts = cmp.AllowUnexported(vertical.Amounts{})

// rec returns a recommendation with its bounds at a half and at twice the target.
func rec(container string, cpu, memory vertical.Amount) vertical.Recommendation {
	return vertical.Recommendation{
		Container: container, Target: vertical.Of(cpu, memory),
		Lower: vertical.Of(cpu/2, memory/2), Upper: vertical.Of(2*cpu, 2*memory),
	}
}

func TestPolicy(t *testing.T) {
	policy := vertical.ContainerPolicy{
		MinAllowed: vertical.Of(200, 0), MaxAllowed: vertical.Amounts{}.With(vertical.CPU, 300),
	}
	got := bounds.Policy(rec("web", 180, 100*mi), policy, vertical.Of(100, 150*mi))
	want := vertical.Recommendation{
		Container: "web",
		Lower:     vertical.Of(200, 50*mi),  // a minimum of 0 means none
		Target:    vertical.Of(200, 100*mi), // raised
		// The maximum of the VPA takes precedence over the global one; memory has only the latter.
		Upper: vertical.Of(300, 150*mi),
	}
	if diff := cmp.Diff(want, got, amounts); diff != "" {
		t.Error(diff)
	}
}

func TestProportionalLimit(t *testing.T) {
	for why, c := range map[string]struct {
		requests, limits, defaults, recommended, want vertical.Amounts
		notes                                         []string
	}{
		"twice the request stays twice": {
			requests: vertical.Of(100, 100), limits: vertical.Of(200, 200), recommended: vertical.Of(150, 70),
			want: vertical.Of(300, 140),
		},
		"cut to whole units": {
			requests: vertical.Of(300, 300), limits: vertical.Of(400, 400), recommended: vertical.Of(50, 10),
			want: vertical.Of(66, 13),
		},
		"without a limit there is none": {requests: vertical.Of(100, 100), recommended: vertical.Of(150, 70)},
		"the default of the LimitRange": {
			requests: vertical.Of(100, 100), defaults: vertical.Of(400, 100), recommended: vertical.Of(150, 70),
			want: vertical.Of(600, 70),
		},
		"a limit without a request means that they are equal": {
			limits: vertical.Of(200, 200), recommended: vertical.Of(150, 70), want: vertical.Of(150, 70),
		},
		"one limit of two": {
			requests: vertical.Of(100, 100), limits: vertical.Amounts{}.With(vertical.Memory, 200),
			recommended: vertical.Of(150, 70),
			want:        vertical.Amounts{}.With(vertical.Memory, 140),
			notes:       []string{"cpu: limit NOT set since originalLimit is nil or 0"},
		},
		"no recommendation of one": {
			requests: vertical.Of(100, 100), limits: vertical.Of(200, 200),
			recommended: vertical.Amounts{}.With(vertical.CPU, 70),
			want:        vertical.Amounts{}.With(vertical.CPU, 140),
			notes:       []string{"memory: limit NOT set since recommendedRequest is nil or 0"},
		},
		"larger than any integer": {
			requests: vertical.Of(1, 100), limits: vertical.Of(math.MaxInt64/2, 200), recommended: vertical.Of(3, 70),
			want:  vertical.Of(math.MaxInt64, 140),
			notes: []string{"cpu: failed to keep limit to request ratio; capping limit to int64"},
		},
	} {
		got, notes := bounds.ProportionalLimits(c.requests, c.limits, c.defaults, c.recommended)
		var words []string
		for _, n := range notes {
			words = append(words, n.String())
		}
		if got != c.want || !slices.Equal(words, c.notes) {
			t.Errorf("%s: %+v %q, want %+v %q", why, got, words, c.want, c.notes)
		}
	}
}

func TestFitOneContainer(t *testing.T) {
	web := bounds.Container{Name: "web", Requests: vertical.Of(100, 100*mi), Limits: vertical.Of(200, 200*mi)}
	for why, c := range map[string]struct {
		policy vertical.ContainerPolicy
		ranges bounds.Range
		target vertical.Amounts
		caps   []string
	}{
		"nothing to fit": {target: vertical.Of(400, 400*mi)},
		"the limit, twice as high, must be below the maximum": {
			ranges: bounds.Range{Max: vertical.Of(500, 1<<40)}, target: vertical.Of(250, 400*mi),
			caps: []string{"cpu capped to fit Max in container LimitRange"},
		},
		"the request must be above the minimum": {
			ranges: bounds.Range{Min: vertical.Of(500, 0)}, target: vertical.Of(500, 400*mi),
			caps: []string{"cpu capped to fit Min in container LimitRange"},
		},
		"the policy goes before the LimitRange": {
			ranges: bounds.Range{Max: vertical.Of(500, 1<<40)},
			policy: vertical.ContainerPolicy{MinAllowed: vertical.Of(300, 0)},
			target: vertical.Of(300, 400*mi),
			caps:   []string{"cpu capped to fit Max in container LimitRange", "cpu capped to minAllowed"},
		},
		"limits that stay": {
			policy: vertical.ContainerPolicy{Values: vertical.RequestsOnly, MaxAllowed: vertical.Of(0, 300*mi)},
			target: vertical.Of(200, 200*mi),
			caps:   []string{"memory capped to maxAllowed", "cpu capped to container limit", "memory capped to container limit"},
		},
	} {
		c.policy.Container = vertical.AllContainers
		recs := []vertical.Recommendation{rec("gone", 1, 1), rec("web", 400, 400*mi)}
		got, caps := bounds.Fit(
			recs, bounds.Pod{Containers: []bounds.Container{web}}, []vertical.ContainerPolicy{c.policy},
			&bounds.Ranges{Container: c.ranges}, divergence.Default)
		if len(got) != 1 || got[0].Target != c.target {
			t.Errorf("%s: %+v, want a target of %+v alone", why, got, c.target)
		}
		var words []string
		for _, c := range caps {
			words = append(words, c.String())
		}
		if !slices.Equal(words, c.caps) {
			t.Errorf("%s: %q, want %q", why, words, c.caps)
		}
		if recs[1] != rec("web", 400, 400*mi) {
			t.Errorf("%s: the recommendations given were changed", why)
		}
	}
}

func TestAnd(t *testing.T) {
	a := bounds.Range{Min: vertical.Of(10, 100), Max: vertical.Of(50, 500), Default: vertical.Of(20, 200)}
	b := bounds.Range{
		Min: vertical.Amounts{}.With(vertical.CPU, 5), Max: vertical.Of(40, 600),
		Default: vertical.Amounts{}.With(vertical.CPU, 30),
	}
	want := bounds.Range{
		Min: vertical.Of(10, 100), Max: vertical.Of(40, 500), Default: vertical.Amounts{}.With(vertical.CPU, 30),
	}
	if got := (bounds.Range{}).And(a).And(b); got != want {
		t.Errorf("%+v and %+v are %+v, want %+v", a, b, got, want)
	}
}
