package noise

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

// TestDefaultsMeetTheTargets keeps the surge window's defaults: with less of a
// margin noise is taken for a surge, and the test says so.
func TestDefaultsMeetTheTargets(t *testing.T) {
	for name, c := range map[string]Config{
		"kubelets": {Seeds: 6}, "agents four times a second": {Seeds: 3, Agents: 250 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			c.WorkSeeds, c.Window = 1, surge.Defaults()
			results, err := Measure(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			checkTargets(t, &results)
		})
	}
}

func checkTargets(t *testing.T, results *Results) {
	t.Helper()
	for _, miss := range results.Misses() {
		t.Error(miss)
	}
	for i := range results.Surges[:2] {
		s := &results.Surges[i]
		if s.NearWith.Median() > s.NearAlone.Median()/2 {
			t.Errorf("%s: nine tenths after %s s, without the surge window after %s s", s.Name, s.NearWith, s.NearAlone)
		}
	}
	for i := range results.Surges {
		// Pods that become ready within a second of the API's count with a little of their
		// start; in the median that is nothing.
		if s := &results.Surges[i]; s.MostWith.Median() > 1.1 || s.MostWith.Most() > 1.3 || s.MostAlone.Most() > 1.1 {
			t.Errorf("%s: %s of what it takes", s.Name, s.MostWith)
		}
	}
	var text strings.Builder
	if err := results.WriteTables(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{noises[0].name, surges[0].name, works[0].name, "Targets met"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the tables do not say %q:\n%s", want, &text)
		}
	}
	if err := report.WriteJSON(filepath.Join(t.TempDir(), "noise.json"), results); err != nil {
		t.Error(err)
	}
}

// TestMissesAreNoticed: a surge window that takes anything for a surge misses the
// targets.
func TestMissesAreNoticed(t *testing.T) {
	window := surge.Settings{Window: time.Minute, SteepFactor: 1.01, Margin: 1.01}
	pairs, err := play(t.Context(), &noises[1], Config{Seeds: 2, Window: window})
	if err != nil {
		t.Fatal(err)
	}
	results := Results{Seeds: 2, Noises: []Noise{noiseOfPairs(&noises[1], pairs)}}
	if len(results.Misses()) == 0 || results.Noises[0].Asked == 0 {
		t.Errorf("nothing is missed: %+v", results.Noises[0])
	}
}

// TestSameSeedSameRun: a run is made of its seed alone, and another seed is another
// run.
func TestSameSeedSameRun(t *testing.T) {
	run := func(seed uint64) outcome {
		w, err := newRun(&surges[0], seed, surge.Defaults())
		if err != nil {
			t.Fatal(err)
		}
		return w.play()
	}
	if a, b := run(1), run(1); a != b {
		t.Errorf("%+v and %+v", a, b)
	}
	if a, b := run(1), run(2); a == b {
		t.Errorf("two seeds, one run: %+v", a)
	}
}

// TestWithoutSurgeWindowBothAreOne: what is compared is the surge window alone.
func TestWithoutSurgeWindowBothAreOne(t *testing.T) {
	for _, s := range []*scenario{&noises[4], &noises[6], &surges[1]} {
		short := *s
		short.lasts = 5 * time.Minute
		pairs, err := play(t.Context(), &short, Config{Seeds: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pairs {
			if diff := cmp.Diff(p.alone, p.with, cmp.AllowUnexported(outcome{}), cmp.Comparer(func(a, b float64) bool {
				return a == b || math.IsNaN(a) && math.IsNaN(b)
			})); diff != "" {
				t.Errorf("%s: %s", s.name, diff)
			}
		}
	}
}

func TestMeasureStops(t *testing.T) {
	if _, err := Measure(t.Context(), Config{}); err == nil {
		t.Error("no seeds are measured")
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Measure(ctx, Config{Seeds: 1000, WorkSeeds: 1, Window: surge.Defaults()}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestSpikes: a spike is five times the load for one second, where the scenario
// wants it; the rest of the load is at the target.
func TestSpikes(t *testing.T) {
	for _, s := range []*scenario{&noises[2], &noises[3], &noises[4]} {
		t.Run(s.name, func(t *testing.T) {
			times := s.spikeTimes(rand.New(rand.NewPCG(1, 1)))
			load, err := s.load(rand.New(rand.NewPCG(1, 1)), 0)
			if err != nil || len(times) < 20 {
				t.Fatalf("%d spikes, %v", len(times), err)
			}
			end := warmUp + s.lasts
			got := load.Requests(end)
			atTargetPerSecond := s.atTargetPerSecond()
			if want := atTargetPerSecond * (end.Seconds() + 4*float64(len(times))); math.Abs(got-want) > 1e-3 {
				t.Errorf("%v requests, want %v", got, want)
			}
			inside := 0
			for _, at := range times {
				if r := load.Rate(at + 500*time.Millisecond); r != 5*atTargetPerSecond {
					t.Errorf("%v: %v requests a second", at, r)
				}
				if at%time.Second == 0 {
					inside++
				}
			}
			if wantsInside := s.spikeAfter == 0; (inside == len(times)) != wantsInside || !wantsInside && inside > 0 {
				t.Errorf("%d of %d spikes lie within a sample", inside, len(times))
			}
		})
	}
}

// TestHotPod: one pod is hot when the scenario says so, and no other; noise begins after
// the warm-up.
func TestHotPod(t *testing.T) {
	s := noises[6]
	s.lasts = 5 * time.Minute
	r, err := newRun(&s, 1, surge.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if len(r.hot) < 4 || r.hot[0] < warmUp {
		t.Fatalf("hot at %v", r.hot)
	}
	check := func(wantNoise, wantCost float64) {
		t.Helper()
		for _, p := range r.world.Pods() {
			got, want := r.profileOf(p), wantCost
			if p.Number > 0 {
				want = requestCostMilliS
			}
			if got.Noise != wantNoise || got.CPUPerRequestMilliCoreSeconds != want {
				t.Errorf("pod %d at %v: noise %v and %v a request, want %v and %v", p.Number, r.world.Now(), got.Noise,
					got.CPUPerRequestMilliCoreSeconds, wantNoise, want)
			}
		}
	}
	check(0, requestCostMilliS)
	r.world.AdvanceTo(warmUp)
	check(noiseOf, requestCostMilliS)
	r.world.AdvanceTo(r.hot[0])
	check(noiseOf, 20*requestCostMilliS)
	r.world.AdvanceTo(r.hot[1])
	check(noiseOf, requestCostMilliS)

	// What that gives: ten pods at their target, one of them at twenty times it.
	used := func(from, to time.Duration) (milli float64) {
		r, err := newRun(&s, 1, surge.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		r.scenario.lasts = from - warmUp
		r.play()
		first, _ := r.world.Pods()[0].Stats()
		r.scenario.lasts = to - warmUp
		r.play()
		last, _ := r.world.Pods()[0].Stats()
		return (last.CPUSeconds - first.CPUSeconds) * 1000 / (to - from).Seconds()
	}
	const target = requestMilli * targetPercent / 100
	if got := used(r.hot[0]-10*time.Second, r.hot[0]); got < 0.8*target || got > 1.2*target {
		t.Errorf("before: %.0fm", got)
	}
	if got := used(r.hot[0], r.hot[0]+2*time.Second); got < 0.8*20*target || got > 1.2*20*target {
		t.Errorf("while it is hot: %.0fm", got)
	}
}

// TestSmallRatesAreNoSurge: among few requests a multiple of the target comes by chance, in all pods at once. The surge
// window does not ask then; without its least number of events it would.
func TestSmallRatesAreNoSurge(t *testing.T) {
	for i := range noises {
		s := noises[i]
		if s.ratePerPod == 0 {
			continue
		}
		asked, above := 0, 0
		for seed := range uint64(4) {
			r, err := newRun(&s, seed, surge.Defaults())
			if err != nil {
				t.Fatal(err)
			}
			asked += r.play().asked
			above += r.above
		}
		t.Logf("%s: asked %d times, intervals above the margin %d times", s.name, asked, above)
		if asked > 0 || s.ratePerPod < 1 && above == 0 {
			t.Errorf("%s: asked %d times, intervals above the margin %d times", s.name, asked, above)
		}
	}
}
