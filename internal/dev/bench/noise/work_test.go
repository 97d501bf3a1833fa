package noise

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// peaks are the largest counts of a case until its work begins for the second time, and
// from then on.
func peaks(t *testing.T, s scenario, begin func(s *scenario) (*run, error)) (first, later int32) {
	t.Helper()
	r, err := begin(&s)
	if err != nil {
		t.Fatal(err)
	}
	whole := s.lasts
	s.lasts = r.working[2] - warmUp
	first = r.play().most
	s.lasts, r.seen.most = whole, 0
	return first, r.play().most
}

// TestCronIsNoLoad: in its first seconds the work cannot be distinguished from a load of which
// ten pods use (100m + 200m)/100m of their target. That asks for 30, or with noise for
// what the lowest of its intervals shows; the work is over before new pods could show
// more. Later times are ignored: the averages alone decide.
//
// Three intervals of samples that come four times a second lie within two seconds, so that the noise of one
// second may be in all of them. It is drawn for each pod and second: on average over ten, it is a pod more.
func TestCronIsNoLoad(t *testing.T) {
	s := works[0]
	target := float64(s.requestMilli()*targetPercent) / 100
	once := int32(podsAtFirst * (target + s.work.milli) / target)
	for i := range uint64(4) {
		seed, agents, atOnce := i/2, time.Duration(0), once
		if i%2 == 1 {
			agents, atOnce = 250*time.Millisecond, once+1
		}
		play := func(window surge.Settings) (first, later int32) {
			return peaks(t, s, func(s *scenario) (*run, error) { return newRunWithAgents(s, seed, window, agents) })
		}
		first, later := play(surge.Defaults())
		_, alone := play(surge.Settings{})
		_, upstream := peaks(t, s, func(s *scenario) (*run, error) { return newUpstreamRun(s, seed) })
		t.Logf("seed %d, agents every %v: %d at first, %d later, %d without the surge window, upstream %d", seed, agents, first,
			later, alone, upstream)
		if most := max(first, later); first > atOnce || most > upstream+atOnce-podsAtFirst {
			t.Errorf("seed %d: %d at first, %d later; one surge asks for %d, upstream for %d", seed, first, later, atOnce,
				upstream)
		}
		if later > alone+1 {
			t.Errorf("seed %d: %d later, %d without the surge window", seed, later, alone)
		}
	}
}

// TestCompilingIsNoLoad: new pods compile for as long as a start may last. The load
// doubles once and takes 20 pods; what their starts add is little, and gone with them.
func TestCompilingIsNoLoad(t *testing.T) {
	s := works[3]
	s.lasts = 5 * time.Minute
	need := float64(s.needed(true))
	for seed := range uint64(4) {
		for name, window := range map[string]surge.Settings{"with": surge.Defaults(), "without": {}} {
			r, err := newRun(&s, seed, window)
			if err != nil {
				t.Fatal(err)
			}
			if got := float64(r.play().most); got > 1.25*need || got < nearly*need {
				t.Errorf("seed %d, %s the surge window: %v replicas, the load takes %v", seed, name, got, need)
			}
		}
	}
}

// TestSameSeedSameWork: each of the three runs of a case is made of its seed alone.
func TestSameSeedSameWork(t *testing.T) {
	s := works[3]
	s.lasts = 5 * time.Minute
	play := func(seed uint64) trio {
		three, err := playTrio(&s, seed, Config{Window: surge.Defaults()})
		if err != nil {
			t.Fatal(err)
		}
		return three
	}
	if diff := cmp.Diff(play(1), play(1), cmp.AllowUnexported(trio{}, outcome{})); diff != "" {
		t.Error(diff)
	}
	if cmp.Equal(play(1), play(2), cmp.AllowUnexported(trio{}, outcome{})) {
		t.Error("two seeds, one run")
	}
}

// TestWorkOfPods: all pods use what the case says beside the load, when it says so, and
// new pods after they are ready where it is about those.
func TestWorkOfPods(t *testing.T) {
	s := works[0]
	r, err := newRun(&s, 1, surge.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.working); n != 30 {
		t.Fatalf("the work begins and ends %d times", n)
	}
	for i, at := range r.working[:4] {
		want := s.work.milli * float64((i+1)%2)
		r.world.AdvanceTo(at)
		for _, p := range r.world.Pods() {
			if got := r.profileOf(p).IdleCPUMilli; got != want {
				t.Errorf("%s uses %vm at %v, want %v", p.Name, got, at, want)
			}
		}
	}

	compiling := works[3]
	r, err = newRun(&compiling, 1, surge.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	r.world.Scale(podsAtFirst + 1)
	for _, step := range []struct {
		at          time.Duration
		isCompiling bool
	}{{toBeReady + 30*time.Second, true}, {toBeReady + 32*time.Second, false}} {
		r.world.AdvanceTo(step.at)
		stats, _ := r.world.Pods()[podsAtFirst].Stats()
		if got := stats.CPUMilli >= compiling.work.milli; got != step.isCompiling {
			t.Errorf("a new pod uses %.0fm %v after it was asked for", stats.CPUMilli, step.at)
		}
	}
}
