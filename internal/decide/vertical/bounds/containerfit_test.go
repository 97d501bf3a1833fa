package bounds_test

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// TestRequestsOnlyUnderALimitRange: if limits stay, the min and max of a LimitRange bound the request itself, not in
// proportion (kubernetes/autoscaler #7063: a request of 50m with a limit of 3, which is the max, was never raised).
func TestRequestsOnlyUnderALimitRange(t *testing.T) {
	only := []vertical.ContainerPolicy{{Container: "*", Values: vertical.RequestsOnly}}
	web := bounds.Container{Name: "web", Requests: vertical.Of(50, 100*mi), Limits: vertical.Of(3000, 1000*mi)}
	plain := bounds.Container{Name: "web", Requests: vertical.Of(50, 100*mi)}
	most, least := vertical.Of(3000, 0), vertical.Of(600, 0)
	for why, c := range map[string]struct {
		container bounds.Container
		limits    bounds.Range
		d         divergence.Set
		want      vertical.Amounts
	}{
		"the max bounds the limit": {web, bounds.Range{Max: most}, divergence.Default, vertical.Of(500, 700*mi)},
		"as upstream":              {web, bounds.Range{Max: most}, divergence.None, vertical.Of(50, 700*mi)},
		"the max bounds the request": {plain, bounds.Range{Max: vertical.Of(400, 0)}, divergence.Default,
			vertical.Of(400, 700*mi)},
		"the min is the request's": {web, bounds.Range{Min: least}, divergence.Default, vertical.Of(600, 700*mi)},
		"a limit that the pod is given": {plain, bounds.Range{Default: vertical.Of(300, 600*mi)}, divergence.Default,
			vertical.Of(300, 600*mi)},
	} {
		got, _ := bounds.Fit([]vertical.Recommendation{rec("web", 500, 700*mi)},
			bounds.Pod{Containers: []bounds.Container{c.container}}, only, &bounds.Ranges{Container: c.limits}, c.d)
		if len(got) != 1 || got[0].Target != c.want {
			t.Errorf("%s: %+v, want a target of %+v", why, got, c.want)
		}
	}
}
