package vertical

import (
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// TestOutside: the sentence names the request that is outside of the bounds, or missing.
func TestOutside(t *testing.T) {
	const mebi = 1 << 20
	e := Explanation{Published: []vertical.Recommendation{{
		Container: "app", Target: vertical.Of(200, 300*mebi), Lower: vertical.Of(100, 250*mebi),
		Upper: vertical.Of(400, 600*mebi),
	}}}
	for want, requests := range map[string]vertical.Amounts{
		"app requests memory 64Mi, less than the lower bound of 250Mi": vertical.Of(200, 64*mebi),
		"app requests cpu 500m, more than the upper bound of 400m":     vertical.Of(500, 300*mebi),
		"app requests no memory":                                       vertical.Amounts{}.With(vertical.CPU, 200),
		"a request is outside of the recommended bounds, or missing":   vertical.Of(200, 300*mebi),
	} {
		pod := vertical.Pod{Containers: []vertical.PodContainer{{Name: "proxy"}, {Name: "app", Requests: requests}}}
		if got := e.because(&update.Verdict{Pod: &pod, Reason: reason.OutsideRange}); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		// A LimitRange changes the bounds: the updater does not compare with those that are published.
		capped := update.Verdict{Pod: &pod, Reason: reason.OutsideRange, Caps: make([]bounds.Cap, 1)}
		if got := e.because(&capped); strings.Contains(got, "app") {
			t.Errorf("capped: %s", got)
		}
	}
}
