package bounds_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// TestEachChangeIsNamed: if a target differs from the estimate, a cap is named, and the last one has the target's
// amount.
func TestEachChangeIsNamed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := drawing{t}
		var pod bounds.Pod
		var recs []vertical.Recommendation
		var policies []vertical.ContainerPolicy
		for _, name := range []string{"web", "log", "side"}[:rapid.IntRange(1, 3).Draw(t, "containers")] {
			requests := draw.amounts("request", 500)
			pod.Containers = append(pod.Containers, bounds.Container{
				Name: name, Requests: requests, Limits: draw.amounts("limit", 900),
			})
			policies = append(policies, vertical.ContainerPolicy{
				Container: name, MinAllowed: draw.amounts("min", 100), MaxAllowed: draw.amounts("max", 900),
				Values: vertical.Values(rapid.IntRange(0, 1).Draw(t, "values")),
			})
			if rapid.IntRange(0, 4).Draw(t, "recommended") > 0 {
				target := draw.amounts("target", 900)
				recs = append(recs, vertical.Recommendation{Container: name, Target: target, Lower: target, Upper: target})
			}
		}
		if rapid.Bool().Draw(t, "pod resources") {
			pod.Resources = vertical.Resized{Requests: draw.amounts("pod request", 900), Limits: draw.amounts("pod limit", 1500)}
		}
		ranges := &bounds.Ranges{
			Container: draw.rangeOf("container"), Pod: draw.rangeOf("pod"), HasPod: rapid.Bool().Draw(t, "pod LimitRange"),
		}
		set := rapid.SampledFrom([]divergence.Set{divergence.None, divergence.Default}).Draw(t, "divergences")
		fitted, caps := bounds.Fit(recs, pod, policies, ranges, set)
		for i := range fitted {
			for r := range vertical.Resource(vertical.Resources) {
				checkNamed(t, &fitted[i], recs, caps, r)
			}
		}
	})
}

func checkNamed(
	t *rapid.T, fitted *vertical.Recommendation, recs []vertical.Recommendation, caps []bounds.Cap, r vertical.Resource,
) {
	var last *bounds.Cap
	for i := range caps {
		if caps[i].Container == fitted.Container && caps[i].Resource == r {
			last = &caps[i]
		}
	}
	to, has := fitted.Target.Get(r)
	from, had := vertical.Amount(0), false
	if rec, ok := vertical.RecommendationOf(recs, fitted.Container); ok {
		from, had = rec.Target.Get(r)
	}
	switch {
	case last == nil && (to != from || has != had):
		t.Fatalf("%s of %s from %d (%t) to %d (%t), and nothing says why", r, fitted.Container, from, had, to, has)
	case last != nil && (last.To != to || last.IsRemoved == has):
		t.Fatalf("%s of %s is %d (%t), and the last cap is %+v", r, fitted.Container, to, has, last)
	}
}

// drawing draws amounts, many of them missing.
type drawing struct{ t *rapid.T }

func (d drawing) amounts(name string, most int64) (a vertical.Amounts) {
	for r := range vertical.Resource(vertical.Resources) {
		if rapid.IntRange(0, 2).Draw(d.t, name+" set") > 0 {
			a = a.With(r, vertical.Amount(rapid.Int64Range(1, most).Draw(d.t, name)))
		}
	}
	return a
}

func (d drawing) rangeOf(of string) bounds.Range {
	return bounds.Range{
		Min: d.amounts(of+" min", 100), Max: d.amounts(of+" max", 900), Default: d.amounts(of+" default", 900),
		MaxRatioMilli: d.amounts(of+" ratio", 5000),
	}
}
