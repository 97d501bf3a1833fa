package vertical

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
)

// TestShortForm: no more than six lines follow the sentence, with the recommendations, the pod that changes first and
// why, and the updater.
func TestShortForm(t *testing.T) {
	k := known()
	var got bytes.Buffer
	if err := explainedBy(t, k, divergence.Default).WriteText(&got, Style{}); err != nil {
		t.Fatal(err)
	}
	const want = `Recommends cpu 200m and memory 400Mi for container app; the next pass changes 1 of 3 pods: web-1 would be ` +
		`evicted, because app requests cpu 50m, less than the lower bound of 150m.
  object         VerticalPodAutoscaler shop/web at 2026-11-20T12:00:00Z
  target         Deployment/web: 3 pods; mode Recreate
  checkpoint     cannot be read: web-old: version "v1" instead of v3
  container      app: cpu 200m, lower bound 150m, upper bound 200m; memory 400Mi, lower bound 300Mi, upper bound 1024Mi
  pod            web-1 requests app cpu 50m and memory 400Mi
  updater        state unknown: the file has none; assumed to have just started
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

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
