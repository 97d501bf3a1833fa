package vertical

import (
	"bytes"
	"errors"
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

// TestLeftOut: what the six lines have no place for is counted, and --verbose prints each of it.
func TestLeftOut(t *testing.T) {
	k := known()
	recommended := &k.Object.Status.Recommendation.ContainerRecommendations
	for _, name := range []string{"log", "mesh", "proxy"} {
		side := (*recommended)[0]
		side.ContainerName = name
		*recommended = append(*recommended, side)
	}
	older := *k.Checkpoints[1]
	older.Name = "web-older"
	k.Checkpoints = append(k.Checkpoints, &older)
	e := explainedBy(t, k, divergence.Default)
	var short, verbose bytes.Buffer
	if err := errors.Join(e.WriteText(&short, Style{}), e.WriteText(&verbose, Style{Verbose: true})); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(short.String()), "\n")
	const want = "  left out       3 containers, 1 checkpoint; --verbose prints all"
	if got := lines[len(lines)-1]; got != want || len(lines) != 1+mostNumbers+1 {
		t.Errorf("%d lines, the last one %q, want %q", len(lines), got, want)
	}
	for _, want := range []string{"log: ", "mesh: ", "proxy: ", "cpu 200m, lower bound 150m", "web-older"} {
		if !strings.Contains(verbose.String(), want) {
			t.Errorf("--verbose lacks %q:\n%s", want, &verbose)
		}
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
