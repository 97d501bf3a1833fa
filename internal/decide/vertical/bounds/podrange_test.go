package bounds_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// TestInjectedSidecar: upstream's updater panics in each of these cases, and stops for all workloads.
func TestInjectedSidecar(t *testing.T) {
	web := bounds.Container{Name: "web", Requests: vertical.Of(100, 100*mi), Limits: vertical.Of(200, 200*mi)}
	pod := bounds.Ranges{HasPod: true, Pod: bounds.Range{Max: vertical.Of(1000, 1000*mi)}}
	for why, sidecar := range map[string]bounds.Container{
		"without requests":              {Name: "proxy"},
		"without requests, but limits":  {Name: "proxy", Limits: vertical.Of(200, 200*mi)},
		"with requests":                 {Name: "proxy", Requests: vertical.Of(50, 50*mi), Limits: vertical.Of(200, 200*mi)},
		"with requests, without limits": {Name: "proxy", Requests: vertical.Of(50, 50*mi)},
	} {
		for _, d := range []divergence.Set{divergence.None, divergence.Default} {
			got, _ := bounds.Fit([]vertical.Recommendation{rec("web", 800, 800*mi)},
				bounds.Pod{Containers: []bounds.Container{web, sidecar}}, nil, &pod, d)
			room, _ := sidecar.Limits.Get(vertical.CPU)
			cpu, _ := got[0].Target.Get(vertical.CPU)
			if d == divergence.Default && (len(got) != 1 || cpu != (1000-room)/2) {
				t.Errorf("%s: %+v, want %d, the half of what the sidecar leaves of 1000, for web alone", why, got, (1000-room)/2)
			}
		}
	}
}

// TestExactSharesAreNotRounded: two containers of 250m with limits of 375m each, half as high again, may have 600m
// together. 200m with limits of 300m fit exactly.
func TestExactSharesAreNotRounded(t *testing.T) {
	of := func(name string) bounds.Container {
		return bounds.Container{Name: name, Requests: vertical.Of(100, 100*mi), Limits: vertical.Of(150, 150*mi)}
	}
	pod := bounds.Ranges{HasPod: true, Pod: bounds.Range{Max: vertical.Amounts{}.With(vertical.CPU, 600)}}
	recs := []vertical.Recommendation{rec("a", 250, 100*mi), rec("b", 250, 100*mi)}
	for _, d := range []divergence.Set{divergence.None, divergence.Default} {
		got, _ := bounds.Fit(recs, bounds.Pod{Containers: []bounds.Container{of("a"), of("b")}}, nil, &pod, d)
		for _, rec := range got {
			if cpu, _ := rec.Target.Get(vertical.CPU); cpu != 200 {
				t.Errorf("divergences %s: %s is given %dm, want 200m", d, rec.Container, cpu)
			}
		}
	}
}

// TestOthersTakeAll: the container without a recommendation has a limit of 400m, which is the maximum of the pod. Both
// are halved, as upstream does; otherwise no pod could start.
func TestOthersTakeAll(t *testing.T) {
	of := func(name string) bounds.Container {
		return bounds.Container{Name: name, Requests: vertical.Of(400, 100*mi), Limits: vertical.Of(400, 100*mi)}
	}
	pod := bounds.Ranges{HasPod: true, Pod: bounds.Range{Max: vertical.Amounts{}.With(vertical.CPU, 400)}}
	upstream, _ := bounds.Fit([]vertical.Recommendation{rec("web", 400, 100*mi)},
		bounds.Pod{Containers: []bounds.Container{of("web"), of("proxy")}}, nil, &pod, divergence.None)
	got, _ := bounds.Fit([]vertical.Recommendation{rec("web", 400, 100*mi)},
		bounds.Pod{Containers: []bounds.Container{of("web"), of("proxy")}}, nil, &pod, divergence.Default)
	for i, name := range []string{"web", "proxy"} {
		theirs, _ := upstream[i].Target.Get(vertical.CPU)
		cpu, _ := got[i].Target.Get(vertical.CPU)
		if got[i].Container != name || cpu != 200 || theirs != 200 {
			t.Errorf("%s is given %dm, by upstream %dm, want 200m of both", got[i].Container, cpu, theirs)
		}
	}
	if _, has := got[1].Target.Get(vertical.Memory); has {
		t.Errorf("proxy is given memory, of which there is enough: %+v", got[1])
	}
}

// TestBoundsStayAroundTheTarget: upstream's shares differ between the bounds and the target, so that the target may
// exceed the upper bound, and each pass replaces pods.
func TestBoundsStayAroundTheTarget(t *testing.T) {
	containers := []bounds.Container{
		{Name: "a", Requests: vertical.Of(100, 0), Limits: vertical.Of(100, 0)},
		{Name: "b", Requests: vertical.Of(100, 0), Limits: vertical.Of(100, 0)},
	}
	cpu := func(name string, lower, target, upper vertical.Amount) vertical.Recommendation {
		of := func(a vertical.Amount) vertical.Amounts { return vertical.Amounts{}.With(vertical.CPU, a) }
		return vertical.Recommendation{Container: name, Lower: of(lower), Target: of(target), Upper: of(upper)}
	}
	recs := []vertical.Recommendation{cpu("a", 100, 600, 700), cpu("b", 100, 200, 2100)}
	pod := bounds.Ranges{HasPod: true, Pod: bounds.Range{Max: vertical.Of(700, 0)}}

	upstream, _ := bounds.Fit(recs, bounds.Pod{Containers: containers}, nil, &pod, divergence.None)
	if want := cpu("a", 100, 525, 175); upstream[0] != want {
		t.Errorf("as upstream: %+v, want %+v, of which the target is above the upper bound", upstream[0], want)
	}
	ours, _ := bounds.Fit(recs, bounds.Pod{Containers: containers}, nil, &pod, divergence.LimitRangeOrder)
	if want := cpu("a", 100, 525, 525); ours[0] != want {
		t.Errorf("%+v, want %+v", ours[0], want)
	}
}

// somePod draws containers and recommendations for some of them. Limits are not below requests, because the API server
// refuses such pods.
func somePod(t *rapid.T) ([]bounds.Container, []vertical.Recommendation, []vertical.ContainerPolicy) {
	var containers []bounds.Container
	var recs []vertical.Recommendation
	var policies []vertical.ContainerPolicy
	amount := rapid.Custom(func(t *rapid.T) vertical.Amount {
		return vertical.Amount(rapid.Int64Range(1, 3000).Draw(t,
			"amount"))
	})
	for _, name := range []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "containers")] {
		c := bounds.Container{Name: name}
		rec := vertical.Recommendation{Container: name}
		for _, r := range []vertical.Resource{vertical.CPU, vertical.Memory} {
			request := amount.Draw(t, "request")
			if rapid.Bool().Draw(t, "has request") {
				c.Requests = c.Requests.With(r, request)
			}
			if rapid.Bool().Draw(t, "has limit") {
				c.Limits = c.Limits.With(r, request*vertical.Amount(rapid.IntRange(1, 3).Draw(t, "ratio"))+1)
			}
			lower, target, upper := amount.Draw(t, "lower"), amount.Draw(t, "target"), amount.Draw(t, "upper")
			rec.Lower, rec.Target, rec.Upper = rec.Lower.With(r, lower), rec.Target.With(r, lower+target),
				rec.Upper.With(r, lower+target+upper)
		}
		containers = append(containers, c)
		if rapid.IntRange(0, 3).Draw(t, "recommended") > 0 {
			recs = append(recs, rec)
		}
		if rapid.IntRange(0, 2).Draw(t, "requests only") == 0 {
			policies = append(policies, vertical.ContainerPolicy{Container: name, Values: vertical.RequestsOnly})
		}
	}
	return containers, recs, policies
}

// after returns the requests and limits that the pod would get.
func after(
	c bounds.Container, recs []vertical.Recommendation, policies []vertical.ContainerPolicy,
) (requests, limits vertical.Amounts) {
	rec, found := vertical.RecommendationOf(recs, c.Name)
	if !found {
		return c.Requests, c.Limits
	}
	requests, limits = c.Requests, c.Limits
	given, _ := bounds.ProportionalLimits(c.Requests, c.Limits, vertical.Amounts{}, rec.Target)
	for r := range vertical.Resource(vertical.Resources) {
		target, recommended := rec.Target.Get(r)
		if !recommended {
			continue
		}
		requests = requests.With(r, target)
		if vertical.PolicyOf(policies, c.Name).Values == vertical.RequestsOnly {
			continue
		}
		if limit, has := given.Get(r); has {
			limits = limits.With(r, limit)
		} else {
			limits = limits.Without(r)
		}
	}
	return requests, limits
}

// TestFitKeepsOrderAndRange: with any LimitRange of pods, the bounds stay around the target. If a change can make the
// pod fit, the total of its requests and limits is within the range.
func TestFitKeepsOrderAndRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		containers, recs, policies := somePod(t)
		limit := vertical.Amount(rapid.Int64Range(1000, 6000).Draw(t, "limit"))
		ranges := bounds.Ranges{HasPod: true}
		isMax := rapid.Bool().Draw(t, "is a maximum")
		if isMax {
			ranges.Pod.Max = vertical.Of(limit, limit)
		} else {
			ranges.Pod.Min = vertical.Of(limit, limit)
		}
		fitted, _ := bounds.Fit(recs, bounds.Pod{Containers: containers}, policies, &ranges, divergence.Default)
		if len(fitted) < len(recs) {
			t.Fatalf("%d recommendations became %d", len(recs), len(fitted))
		}
		after := pod{containers, fitted, policies}
		for _, r := range []vertical.Resource{vertical.CPU, vertical.Memory} {
			inOrder(t, fitted, r)
			after.inRange(t, r, limit, isMax)
		}
	})
}

func inOrder(t *rapid.T, fitted []vertical.Recommendation, r vertical.Resource) {
	for _, rec := range fitted {
		lower, _ := rec.Lower.Get(r)
		target, _ := rec.Target.Get(r)
		upper, _ := rec.Upper.Get(r)
		if lower > target || target > upper {
			t.Fatalf("%s of %s: %d, %d, %d are out of order", r, rec.Container, lower, target, upper)
		}
	}
}

// pod is an admitted pod.
type pod struct {
	containers []bounds.Container
	fitted     []vertical.Recommendation
	policies   []vertical.ContainerPolicy
}

func (p pod) recommends(container string, r vertical.Resource) bool {
	return slices.ContainsFunc(p.fitted, func(rec vertical.Recommendation) bool {
		_, has := rec.Target.Get(r)
		return has && rec.Container == container
	})
}

func (p pod) inRange(t *rapid.T, r vertical.Resource, limit vertical.Amount, isMax bool) {
	var requests, limits, stay, capped vertical.Amount
	changeable := 0
	for _, c := range p.containers {
		q, l := after(c, p.fitted, p.policies)
		request, _ := q.Get(r)
		most, limited := l.Get(r)
		requests, limits = requests+request, limits+most
		recommended := p.recommends(c.Name, r)
		keeps := vertical.PolicyOf(p.policies, c.Name).Values == vertical.RequestsOnly
		if recommended {
			changeable++
		} else {
			stay += request
		}
		if !recommended || keeps && limited {
			capped += most
		}
	}
	// If the margin is only a few units, whole units cannot be scaled into it.
	if feasible := changeable > 0 && stay < limit-100 && capped < limit-100; !feasible {
		return
	}
	if isMax && (requests > limit || limits > limit) {
		t.Fatalf("%s: requests of %d and limits of %d are above the maximum of %d: %+v", r, requests, limits, limit, p.fitted)
	}
	if !isMax && requests < limit && capped == 0 {
		t.Fatalf("%s: requests of %d are below the minimum of %d: %+v", r, requests, limit, p.fitted)
	}
}
