package bounds_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// TestPodResources has a pod that requests 500m and 512Mi at pod level, with limits of 1000m and 512Mi. The API server
// refuses it if its containers request more, or one of them has a higher limit.
func TestPodResources(t *testing.T) {
	whole := vertical.Resized{Requests: vertical.Of(500, 512*mi), Limits: vertical.Of(1000, 512*mi)}
	plain := bounds.Container{Name: "web"}
	limited := bounds.Container{Name: "web", Requests: vertical.Of(300, 256*mi), Limits: vertical.Of(500, 512*mi)}
	proxy := bounds.Container{Name: "proxy", Requests: vertical.Of(100, 112*mi)}
	for why, c := range map[string]struct {
		containers []bounds.Container
		sidecar    vertical.Amounts
		want       vertical.Amounts
	}{
		"alone":                 {containers: []bounds.Container{plain}, want: vertical.Of(500, 512*mi)},
		"limits in proportion":  {containers: []bounds.Container{limited}, want: vertical.Of(500, 256*mi)},
		"beside one that stays": {containers: []bounds.Container{plain, proxy}, want: vertical.Of(400, 400*mi)},
		"beside sidecars": {containers: []bounds.Container{plain}, sidecar: vertical.Of(200, 12*mi),
			want: vertical.Of(300, 500*mi)},
		"beside sidecars that leave nothing": {containers: []bounds.Container{plain}, sidecar: vertical.Of(500, 512*mi)},
	} {
		pod := bounds.Pod{Containers: c.containers, Resources: whole, InitContainers: vertical.InitContainers{
			{Name: "mesh", Sidecar: true, Resized: vertical.Resized{Requests: c.sidecar}},
		}}
		got, caps := bounds.Fit([]vertical.Recommendation{rec("web", 700, 800*mi)}, pod, nil, nil, divergence.Default)
		if len(got) != 1 || got[0].Target != c.want || len(caps) != 2 ||
			caps[0].String() != "cpu capped to fit the pod's resources" {
			t.Errorf("%s: %+v with caps %v, want a target of %+v", why, got, caps, c.want)
		}
		got, _ = bounds.Fit([]vertical.Recommendation{rec("web", 700, 800*mi)}, pod, nil, nil, divergence.None)
		if got[0].Target != vertical.Of(700, 800*mi) {
			t.Errorf("%s: without the divergence %+v, want upstream's", why, got)
		}
	}
}

// TestPodResourcesHold: with any recommendation, the API server accepts the pod, and the bounds stay around the target.
func TestPodResourcesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		containers, recs, policies := somePod(t)
		var requests vertical.Amounts
		for _, c := range containers {
			requests = requests.Plus(c.Requests)
		}
		spare := vertical.Amount(rapid.Int64Range(0, 3000).Draw(t, "spare"))
		whole := vertical.Resized{Requests: requests.Plus(vertical.Of(spare, spare))}
		whole.Limits = whole.Requests.Plus(vertical.Of(9002, 9002))
		fitted, _ := bounds.Fit(recs, bounds.Pod{Containers: containers, Resources: whole}, policies, nil, divergence.Default)
		var sum vertical.Amounts
		for _, c := range containers {
			given, limits := after(c, fitted, policies)
			for _, r := range []vertical.Resource{vertical.CPU, vertical.Memory} {
				limit, _ := limits.Get(r)
				if most, _ := whole.Limits.Get(r); limit > most {
					t.Fatalf("%s of %s: a limit of %d above the pod's %d", r, c.Name, limit, most)
				}
			}
			sum = sum.Plus(given)
		}
		for _, r := range []vertical.Resource{vertical.CPU, vertical.Memory} {
			inOrder(t, fitted, r)
			all, _ := sum.Get(r)
			if most, _ := whole.Requests.Get(r); all > most {
				t.Fatalf("%s: %d is requested together, and %d by the pod: %+v", r, all, most, fitted)
			}
		}
	})
}

// TestLimitRequestRatio: limits of 2000m and 2000Mi stay while a LimitRange allows
// four times the request.
func TestLimitRequestRatio(t *testing.T) {
	pod := bounds.Pod{Containers: []bounds.Container{{Name: "web", Requests: vertical.Of(1000, 1000*mi),
		Limits: vertical.Of(2000, 2000*mi)}}}
	four := bounds.Range{MaxRatioMilli: vertical.Of(4000, 4000)}
	only := []vertical.ContainerPolicy{{Container: "*", Values: vertical.RequestsOnly}}
	low := []vertical.Recommendation{rec("web", 150, 60*mi)}
	for why, c := range map[string]struct {
		policies []vertical.ContainerPolicy
		ranges   bounds.Ranges
		d        divergence.Set
		want     vertical.Amounts
	}{
		"of containers": {only, bounds.Ranges{Container: four}, divergence.Default,
			vertical.Of(500, 500*mi)},
		"of containers, as upstream": {only, bounds.Ranges{Container: four}, divergence.None, vertical.Of(150, 60*mi)},
		"limits follow":              {nil, bounds.Ranges{Container: four}, divergence.Default, vertical.Of(150, 60*mi)},
		"of pods: it stays as it was": {only, bounds.Ranges{HasPod: true, Pod: four}, divergence.Default,
			vertical.Amounts{}},
		"of pods, where limits follow": {nil, bounds.Ranges{HasPod: true, Pod: four}, divergence.Default,
			vertical.Of(150, 60*mi)},
		"a ratio that is no whole one": {only, bounds.Ranges{Container: bounds.Range{MaxRatioMilli: vertical.Of(7001, 0)}},
			divergence.Default, vertical.Of(286, 60*mi)},
		"a ratio that is kept to": {only,
			bounds.Ranges{Container: bounds.Range{MaxRatioMilli: vertical.Of(14000, 40000)}}, divergence.Default,
			vertical.Of(150, 60*mi)},
		"of pods, that is kept to": {only,
			bounds.Ranges{HasPod: true, Pod: bounds.Range{MaxRatioMilli: vertical.Of(14000, 40000)}}, divergence.Default,
			vertical.Of(150, 60*mi)},
		"of pods, not kept to by 1 mCPU": {only,
			bounds.Ranges{HasPod: true, Pod: bounds.Range{MaxRatioMilli: vertical.Of(13333, 40000)}}, divergence.Default,
			vertical.Amounts{}.With(vertical.Memory, 60*mi)},
	} {
		got, _ := bounds.Fit(low, pod, c.policies, &c.ranges, c.d)
		if len(got) != 1 || got[0].Target != c.want {
			t.Errorf("%s: %+v, want a target of %+v", why, got, c.want)
		}
	}
}
