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

// TestDecide checks the patches for a pod with a container web, of 100m and 100Mi with limits twice as high, and a
// container proxy without any.
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
			// The texts for the second are upstream's for an empty object without changes.
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
				Mode: vertical.ModeInitial, Recommended: true, Recommendations: []vertical.Recommendation{target("proxy", 310, mi)},
			},
			ranges: &bounds.Ranges{Container: bounds.Range{Default: cpu(250), Max: cpu(300)}},
			want:   []admit.Change{{}, {Requests: vertical.Of(300, mi), Limits: cpu(300)}},
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

// With little history a new pod gets at least its own requests, and more if the recommendation is higher.
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

// TestRefusedPods: if the API server would refuse the changed pod, it stays unchanged, and an annotation has the
// reason. If only a boost is too large, only that is omitted.
func TestRefusedPods(t *testing.T) {
	has := container("web", vertical.Of(300, 500*mi), vertical.Amounts{})
	limited := container("web", vertical.Of(300, 500*mi), vertical.Of(600, 1000*mi))
	zero := container("web", vertical.Of(0, 500*mi), cpu(0))
	below := bounds.Range{Min: vertical.Of(200, 400*mi)}
	both := vertical.Controls()
	most := []vertical.ContainerPolicy{{Container: "*", MaxAllowed: vertical.Of(100, 200*mi), Controlled: both}}
	least := []vertical.ContainerPolicy{{Container: "*", MinAllowed: vertical.Of(700, 0), Controlled: both}}
	above := bounds.Range{Max: vertical.Of(1000, 2000*mi)}
	const unreached = "no resources of shop: cpu of container web: the min of a LimitRange is not reached"
	for why, c := range map[string]struct {
		container admit.Container
		policies  []vertical.ContainerPolicy
		boost     *vertical.Boost
		ranges    bounds.Ranges
		want      admit.Change
		refused   string
	}{
		"maxAllowed below the min": {has, most, nil, bounds.Ranges{Container: below}, admit.Change{}, unreached},
		"maxAllowed below the min of pods": {has, most, nil, bounds.Ranges{HasPod: true, Pod: below}, admit.Change{},
			"no resources of shop: cpu of the pod: the min of a LimitRange is not reached"},
		"minAllowed above the max": {limited, least, nil, bounds.Ranges{Container: above},
			admit.Change{}, "no resources of shop: cpu of container web: the max of a LimitRange is exceeded"},
		"a limit of 0": {zero, nil, nil, bounds.Ranges{}, admit.Change{},
			"no resources of shop: cpu of container web: the request is above the limit"},
		"a boost above the max": {limited, nil, &vertical.Boost{Factor: 9},
			bounds.Ranges{Container: above},
			admit.Change{Requests: vertical.Of(150, 600*mi), Limits: vertical.Of(300, 1200*mi)},
			"no start-up boost of shop: cpu of container web: the max of a LimitRange is exceeded"},
		"a boost of a pod below the min": {has, most, &vertical.Boost{Factor: 1}, bounds.Ranges{Container: below},
			admit.Change{}, unreached},
		"all is within the range": {has, nil, nil,
			bounds.Ranges{Container: bounds.Range{Min: vertical.Of(150, 600*mi)}},
			admit.Change{Requests: vertical.Of(150, 600*mi)}, ""},
	} {
		policy := admit.Policy{
			Name: "shop", Mode: vertical.ModeInitial, Recommended: true, Containers: c.policies, Boost: c.boost,
			Recommendations: []vertical.Recommendation{target("web", 150, 600*mi)},
		}
		pod := admit.Pod{Containers: []admit.Container{c.container}}
		got := admit.Decide(policy, pod, &c.ranges, admit.Options{Boosts: true, Divergences: divergence.Default})
		if diff := cmp.Diff([]admit.Change{c.want}, got.Changes, values); diff != "" || got.Refused != c.refused ||
			got.Observed != "web" || (got.Updates == "") != (c.want.Requests.IsEmpty()) {
			t.Errorf("%s: %+v, want %q and (-want +got)\n%s", why, got, c.refused, diff)
		}
		upstream := admit.Decide(policy, pod, &c.ranges, admit.Options{Boosts: true, Divergences: divergence.None})
		if upstream.Refused != "" || upstream.Updates == "" {
			t.Errorf("%s: without the divergence %+v", why, upstream)
		}
	}
}
