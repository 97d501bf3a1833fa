package surge_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// asking returns a surge result with twice the count of ten pods.
func asking() surge.Result {
	return surge.Result{Verdict: surge.Asking, Replicas: 20, Ratio: 2, Counted: 10, Showing: 10}
}

// cpu is the metric of these surges.
var cpu = []source.Spec{{Type: source.Resource, Name: source.CPU,
	Target: source.Target{Type: source.Utilization, Percent: 50}}}

// stable returns the stable window's result for ten pods at this ratio to their target.
func stable(ratio float64) []metric.Result {
	return []metric.Result{{Ratio: ratio, Replicas: 10, Counts: metric.Counts{Counted: 10}}}
}

// verdict returns the result that remains after the history was updated.
func verdict(m *surge.History, after time.Duration, r surge.Result, results []metric.Result) surge.Verdict {
	m.Judge(noon.Add(after), &r, 10, cpu[:len(results)], results)
	return r.Verdict
}

// TestUnconfirmed: if the stable window does not show a surge after 20 s, the next ones are ignored for 10 minutes,
// then 20, up to two hours. A surge that it shows ends that, also while surges are ignored.
func TestUnconfirmed(t *testing.T) {
	var m surge.History
	at := time.Duration(0)
	for _, minutes := range []int{10, 20, 40, 80, 120, 120} {
		doubt := time.Duration(minutes) * time.Minute
		if got := verdict(&m, at, asking(), stable(1)); got != surge.Asking {
			t.Fatalf("at %s: %s", at, got)
		}
		at += surge.Confirmation
		verdict(&m, at, surge.Result{}, stable(1.4))
		if until := m.DoubtedUntil.Sub(noon.Add(at)); until != doubt {
			t.Fatalf("doubted for %s, want %s", until, doubt)
		}
		at += doubt
	}
	m.DoubtedUntil = noon.Add(at + time.Hour)
	if got := verdict(&m, at, asking(), stable(1)); got != surge.Doubted {
		t.Errorf("while it is doubted: %s", got)
	}
	verdict(&m, at+surge.Confirmation, surge.Result{}, stable(1.5))
	if got := verdict(&m, at+surge.Confirmation, asking(), stable(1.5)); got != surge.Asking || m.Unconfirmed != 0 {
		t.Errorf("after one that was confirmed: %s, %+v", got, m)
	}
}

// TestNotJudged: a failing metric neither confirms nor refutes a surge. Neither do its values long after the surge, nor
// another metric at its position. The next surge counts, and the doubt about earlier ones stays the same.
func TestNotJudged(t *testing.T) {
	failed := []metric.Result{{Failure: &source.Failure{}}}
	pending := []metric.Result{{Pending: true}}
	memory := []source.Spec{{Type: source.Resource, Name: "memory", Target: cpu[0].Target}}
	higher := []source.Spec{{Type: source.Resource, Name: source.CPU,
		Target: source.Target{Type: source.Utilization, Percent: 90}}}
	type look struct {
		after   time.Duration
		specs   []source.Spec
		results []metric.Result
	}
	for name, tt := range map[string]struct {
		looks                 []look
		isJudged, isStillOpen bool
	}{
		"it fails for a moment": {looks: []look{{25 * time.Second, cpu, failed}}, isStillOpen: true},
		"and is there again": {looks: []look{{25 * time.Second, cpu, failed}, {30 * time.Second, cpu, stable(1)}},
			isJudged: true},
		"it fails for hours":           {looks: []look{{25 * time.Second, cpu, failed}, {2 * time.Hour, cpu, failed}}},
		"and is there again, with use": {looks: []look{{25 * time.Second, cpu, failed}, {2 * time.Hour, cpu, stable(2)}}},
		"and is there again, without":  {looks: []look{{25 * time.Second, cpu, failed}, {2 * time.Hour, cpu, stable(1)}}},
		"no answer for hours": {looks: []look{{25 * time.Second, cpu, pending}, {2 * time.Hour, cpu, pending},
			{3 * time.Hour, cpu, stable(1)}}},
		"no decision for hours":     {looks: []look{{2 * time.Hour, cpu, stable(1)}}},
		"the metric is removed":     {looks: []look{{25 * time.Second, nil, nil}}},
		"another one has its place": {looks: []look{{25 * time.Second, memory, stable(1)}}},
		"it has another target":     {looks: []look{{25 * time.Second, higher, stable(1)}}},
	} {
		t.Run(name, func(t *testing.T) {
			before := surge.History{Unconfirmed: 1, DoubtedUntil: noon.Add(-time.Minute)}
			m := before
			verdict(&m, 0, asking(), stable(1))
			for _, l := range tt.looks {
				m.Judge(noon.Add(l.after), &surge.Result{}, 10, l.specs, l.results)
			}
			isJudged := m.Unconfirmed != before.Unconfirmed || !m.DoubtedUntil.Equal(before.DoubtedUntil)
			if isStillOpen := !m.Since.IsZero(); isJudged != tt.isJudged || isStillOpen != tt.isStillOpen {
				t.Errorf("judged: %v, still to be judged: %v; want %v, %v: %+v", isJudged, isStillOpen, tt.isJudged, tt.isStillOpen,
					m)
			}
		})
	}
}

// TestJudgedByLaterSamples: averages that end at about the time of the surge do not judge it, as those of pods whose
// kubelets renew samples after 20 s. If later samples do not arrive, they do after all.
func TestJudgedByLaterSamples(t *testing.T) {
	endsAt := func(after time.Duration, ratio float64) []metric.Result {
		results := stable(ratio)
		results[0].Oldest = noon.Add(after)
		return results
	}
	const s = time.Second
	for name, tt := range map[string]struct {
		looks       map[time.Duration][]metric.Result
		unconfirmed int
	}{
		"confirmed by later ones": {
			map[time.Duration][]metric.Result{20 * s: endsAt(-5*s, 1), 40 * s: endsAt(15*s, 2)}, 0},
		"not confirmed by later ones":    {map[time.Duration][]metric.Result{20 * s: endsAt(-5*s, 1), 40 * s: endsAt(15*s, 1)}, 1},
		"there are only such as are old": {map[time.Duration][]metric.Result{20 * s: endsAt(-40*s, 1), 45 * s: endsAt(-15*s, 1)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var m surge.History
			verdict(&m, 0, asking(), stable(1))
			for _, after := range slices.Sorted(maps.Keys(tt.looks)) {
				verdict(&m, after, surge.Result{}, tt.looks[after])
			}
			if m.Unconfirmed != tt.unconfirmed || !m.Since.IsZero() {
				t.Errorf("%d not confirmed, want %d: %+v", m.Unconfirmed, tt.unconfirmed, m)
			}
		})
	}
}

// TestOldMemory: an entry from before entries had the name of their metric is judged by its position.
func TestOldMemory(t *testing.T) {
	var m surge.History
	verdict(&m, 0, asking(), stable(1))
	m.Source = ""
	if verdict(&m, surge.Confirmation, surge.Result{}, stable(1)); m.Unconfirmed != 1 {
		t.Errorf("%+v", m)
	}
}

// TestMorePodsDoNotHelp: if ten more pods leave the others at twice the target, they have not taken over load; at 1.5
// times, which is half of the expected effect, they have.
func TestMorePodsDoNotHelp(t *testing.T) {
	for name, tt := range map[string]struct {
		ratio float64
		want  surge.Verdict
	}{"no help": {2, surge.Unhelped}, "half": {1.5, surge.Asking}} {
		var m surge.History
		verdict(&m, 0, asking(), stable(1))
		r := asking()
		r.Replicas, r.Ratio, r.Sharing = 40, tt.ratio, 10
		m.Judge(noon.Add(2*time.Second), &r, 20, cpu, stable(1.5))
		if r.Verdict != tt.want {
			t.Errorf("%s: %s, want %s", name, r.Verdict, tt.want)
		}
	}
}

// TestMorePodsDoNotHelpASample: pods outside the sample count as much as those in it, also if the size of the sample
// changes.
func TestMorePodsDoNotHelpASample(t *testing.T) {
	for name, tt := range map[string]struct {
		counted, unasked, sharing int
		want                      surge.Verdict
	}{
		"more pods":               {10, 190, 0, surge.Unhelped},
		"new pods of the sample":  {10, 180, 10, surge.Unhelped},
		"a larger sample":         {40, 160, 0, surge.Unhelped},
		"a sample no longer":      {200, 0, 0, surge.Unhelped},
		"as many in a larger one": {40, 60, 0, surge.Asking},
		"as many, all asked":      {100, 0, 0, surge.Asking},
	} {
		var m surge.History
		r := asking()
		r.Replicas, r.Unasked = 200, 90
		m.Judge(noon, &r, 100, cpu, stable(1))
		r = asking()
		r.Replicas, r.Counted, r.Showing, r.Unasked, r.Sharing = 400, tt.counted, tt.counted, tt.unasked, tt.sharing
		current := int32(tt.counted + tt.unasked + tt.sharing)
		m.Judge(noon.Add(2*time.Second), &r, current, cpu, stable(1.5))
		if r.Verdict != tt.want {
			t.Errorf("%s: %s, want %s", name, r.Verdict, tt.want)
		}
	}
}

// TestFewPods: if the stable window proposes four pods instead of two, a surge may propose one more, and twice the
// count after four seconds without a gap.
func TestFewPods(t *testing.T) {
	var m surge.History
	results := []metric.Result{{Ratio: 2, Replicas: 4, Counts: metric.Counts{Counted: 2}}}
	for _, tt := range []struct {
		second int
		want   int32
	}{{0, 5}, {1, 5}, {3, 5}, {4, 8}, {7, 8}, {15, 5}, {16, 5}, {19, 8}} {
		r := surge.Result{Verdict: surge.Asking, Replicas: 20, Ratio: 10, Counted: 2, Showing: 2}
		m.Judge(noon.Add(time.Duration(tt.second)*time.Second), &r, 2, cpu, results)
		if !r.Proposes() || r.Replicas != tt.want {
			t.Errorf("after %d s: %s, %d, want %d", tt.second, r.Verdict, r.Replicas, tt.want)
		}
	}
	// The limit at first is five pods, which there already are.
	var five surge.History
	r := surge.Result{Verdict: surge.Asking, Replicas: 20, Ratio: 10, Counted: 2, Showing: 2}
	if five.Judge(noon, &r, 5, cpu, results); r.Verdict != surge.Brief {
		t.Errorf("%s", r.Verdict)
	}
}
