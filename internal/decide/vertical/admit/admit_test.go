package admit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/admit"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

const mi = 1 << 20

var values = cmp.AllowUnexported(vertical.Amounts{})

func container(name string, requests, limits vertical.Amounts) admit.Container {
	return admit.Container{
		Container: bounds.Container{Name: name, Requests: requests, Limits: limits},
		Bare:      requests.IsEmpty() && limits.IsEmpty(),
	}
}

func target(name string, cpu, memory vertical.Amount) vertical.Recommendation {
	return vertical.Recommendation{Container: name, Target: vertical.Of(cpu, memory)}
}

func cpu(milli vertical.Amount) vertical.Amounts { return vertical.Amounts{}.With(vertical.CPU, milli) }

// TestDecide: what a pod with a container web, of 100m and 100Mi with limits twice
// as high, and one named proxy without any is given.
func TestDecide(t *testing.T) {
	containers := []admit.Container{
		container("web", vertical.Of(100, 100*mi), vertical.Of(200, 200*mi)),
		container("proxy", vertical.Amounts{}, vertical.Amounts{}),
	}
	for why, c := range map[string]struct {
		policy  admit.Policy
		ranges  *bounds.Ranges
		options admit.Options
		want    []admit.Change
		updates string
	}{
		"limits keep their proportion": {
			policy: admit.Policy{
				Mode: vertical.ModeInitial, Recommended: true,
				Recommendations: []vertical.Recommendation{target("web", 150, 60*mi), target("proxy", 10, mi)},
			},
			want: []admit.Change{{Requests: vertical.Of(150, 60*mi), Limits: vertical.Of(300, 120*mi)},
				{Requests: vertical.Of(10, mi)}},
			updates: "container 0: cpu request, memory request, cpu limit, memory limit; container 1: cpu request, memory request",
		},
		"a container that is not recommended for keeps what it has": {
			policy: admit.Policy{
				Mode: vertical.ModeInitial, Recommended: true,
				Recommendations: []vertical.Recommendation{target("web", 150, 60*mi)},
			},
			want: []admit.Change{{Requests: vertical.Of(150, 60*mi), Limits: vertical.Of(300, 120*mi)}, {}},
			// The texts for the second are upstream's, for an empty object that changes nothing.
			updates: "container 0: cpu request, memory request, cpu limit, memory limit; container 1: ",
		},
		"limits stay, and requests below them": {
			policy: admit.Policy{
				Mode: vertical.ModeInitial, Recommended: true,
				Recommendations: []vertical.Recommendation{target("web", 250, 60*mi), target("proxy", 1, 1)},
				Containers: []vertical.ContainerPolicy{
					{Container: "*", Values: vertical.RequestsOnly, MinAllowed: vertical.Of(0, 70*mi),
						MaxAllowed: vertical.Of(240, 0)},
				},
			},
			want: []admit.Change{{Requests: vertical.Of(200, 70*mi)}, {Requests: vertical.Of(1, 70*mi)}},
			updates: "container 0: cpu capped to maxAllowed, memory capped to minAllowed, cpu capped to container limit, cpu " +
				"request, memory request; " +
				"container 1: memory capped to minAllowed, cpu request, memory request",
		},
		"the default limit of a LimitRange": {
			policy: admit.Policy{
				Mode: vertical.ModeInitial, Recommended: true, Recommendations: []vertical.Recommendation{target("proxy", 10, mi)},
			},
			ranges: &bounds.Ranges{Container: bounds.Range{Default: cpu(500), Max: vertical.Of(6, 0)}},
			want:   []admit.Change{{}, {Requests: vertical.Of(6, mi), Limits: cpu(6)}},
			updates: "container 1: cpu capped to fit Max in container LimitRange, memory: limit NOT set since originalLimit " +
				"is nil or 0, cpu request, memory request, cpu limit",
		},
		"off changes nothing": {
			policy: admit.Policy{
				Mode: vertical.ModeOff, Recommended: true, Recommendations: []vertical.Recommendation{target("web", 150, 60*mi)},
			},
			want:    []admit.Change{{}, {}},
			updates: "container 1: ",
		},
		"a boost multiplies what is recommended, and what is asked for": {
			policy: admit.Policy{
				Mode: vertical.ModeInitial, Recommended: true,
				Recommendations: []vertical.Recommendation{target("web", 150, 60*mi)},
				Boost:           &vertical.Boost{Factor: 3},
				Containers:      []vertical.ContainerPolicy{{Container: "proxy", Boost: &vertical.Boost{AddMilli: 50}}},
			},
			options: admit.Options{Boosts: true},
			want: []admit.Change{
				{Requests: vertical.Of(450, 60*mi), Limits: vertical.Of(900, 120*mi), Boosted: true},
				{Requests: cpu(50), Boosted: true},
			},
			updates: "container 0: cpu request, memory request, cpu limit, memory limit; container 1: cpu request",
		},
		"off may still boost": {
			policy: admit.Policy{
				Mode: vertical.ModeOff, Recommended: true, Recommendations: []vertical.Recommendation{target("web", 150, 60*mi)},
				Containers: []vertical.ContainerPolicy{{Container: "web", Boost: &vertical.Boost{Factor: 2}}},
			},
			options: admit.Options{Boosts: true},
			want:    []admit.Change{{Requests: cpu(200), Limits: cpu(400), Boosted: true}, {}},
			updates: "container 0: cpu request, cpu limit; container 1: ",
		},
		"a boost is bounded": {
			policy:  admit.Policy{Mode: vertical.ModeOff, Boost: &vertical.Boost{Factor: 9}},
			options: admit.Options{Boosts: true, MaxBoostMilli: 300},
			want:    []admit.Change{{Requests: cpu(300), Limits: cpu(600), Boosted: true}, {Requests: cpu(0), Boosted: true}},
			updates: "container 0: cpu request, cpu limit; container 1: cpu request",
		},
		"a boost stays just below a limit that stays": {
			policy: admit.Policy{
				Mode: vertical.ModeOff, Boost: &vertical.Boost{Factor: 9},
				Containers: []vertical.ContainerPolicy{{Container: "web", Values: vertical.RequestsOnly},
					{Container: "proxy", Off: true}},
			},
			options: admit.Options{Boosts: true},
			want:    []admit.Change{{Requests: cpu(199), Boosted: true}, {}},
			updates: "container 0: cpu request",
		},
	} {
		c.policy.Name = "shop"
		c.options.Divergences = divergence.Default
		got := admit.Decide(c.policy, admit.Pod{Containers: containers}, c.ranges, c.options)
		want := admit.Decision{Changes: c.want, Observed: "web, proxy"}
		if c.updates != "" {
			want.Updates = "Pod resources updated by shop: " + c.updates
		}
		if diff := cmp.Diff(want, got, values); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", why, diff)
		}
	}
}

// While little is known a new pod gets no less than it asks for, and more where that is
// recommended.
func TestLittleHistory(t *testing.T) {
	pod := admit.Pod{Containers: []admit.Container{container("web", vertical.Of(100, 100*mi), vertical.Of(200, 200*mi))}}
	for why, c := range map[string]struct {
		little  bool
		without divergence.Set
		want    vertical.Amounts
	}{
		"little is known": {little: true, want: vertical.Of(150, 100*mi)},
		"much is known":   {want: vertical.Of(150, 60*mi)},
		"as upstream":     {little: true, without: divergence.LittleHistory, want: vertical.Of(150, 60*mi)},
	} {
		got := admit.Decide(admit.Policy{
			Mode: vertical.ModeInitial, Recommended: true, Recommendations: []vertical.Recommendation{target("web", 150, 60*mi)},
			LittleHistory: c.little,
		}, pod, nil, admit.Options{Divergences: divergence.Default &^ c.without})
		if diff := cmp.Diff(c.want, got.Changes[0].Requests, values); diff != "" {
			t.Errorf("%s: %s", why, diff)
		}
	}
}
