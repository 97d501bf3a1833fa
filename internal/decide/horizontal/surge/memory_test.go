package surge_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

// asking is a surge window that asks for twice the count of ten pods.
func asking() surge.Result {
	return surge.Result{Verdict: surge.Asking, Replicas: 20, Ratio: 2, Counted: 10, Showing: 10}
}

// stable is what the stable window shows: what ten pods use, of their target.
func stable(ratio float64) []metric.Result {
	return []metric.Result{{Ratio: ratio, Replicas: 10, Counts: metric.Counts{Counted: 10}}}
}

// verdict is what is left of a result after so long.
func verdict(m *surge.Memory, after time.Duration, r surge.Result, results []metric.Result) surge.Verdict {
	m.Judge(noon.Add(after), &r, 10, results)
	return r.Verdict
}

// TestUnconfirmed: a surge that the stable window does not show 20 s later has the next
// ones not believed for 10 minutes, then 20, up to two hours. One that it shows heals
// that, also while it is not believed.
func TestUnconfirmed(t *testing.T) {
	var m surge.Memory
	at := time.Duration(0)
	for _, doubt := range []time.Duration{10, 20, 40, 80, 120, 120} {
		if got := verdict(&m, at, asking(), stable(1)); got != surge.Asking {
			t.Fatalf("at %s: %s", at, got)
		}
		at += surge.Confirmation
		verdict(&m, at, surge.Result{}, stable(1.4))
		if until := m.DoubtedUntil.Sub(noon.Add(at)); until != doubt*time.Minute {
			t.Fatalf("doubted for %s, want %s", until, doubt*time.Minute)
		}
		at += doubt * time.Minute
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

// TestNobodyKnows: a metric that fails confirms nothing and refutes nothing.
func TestNobodyKnows(t *testing.T) {
	var m surge.Memory
	verdict(&m, 0, asking(), stable(1))
	failed := []metric.Result{{Failure: &metric.Failure{}}}
	if verdict(&m, time.Minute, surge.Result{}, failed); m.Since.IsZero() || m.Unconfirmed != 0 {
		t.Errorf("%+v", m)
	}
	if verdict(&m, 2*time.Minute, surge.Result{}, stable(2)); !m.Since.IsZero() || m.Unconfirmed != 0 {
		t.Errorf("%+v", m)
	}
}

// TestMorePodsDoNotHelp: ten more pods that leave the others at twice the target have not
// taken over load; with 1.5 times, the half of what they should, they have.
func TestMorePodsDoNotHelp(t *testing.T) {
	for name, tt := range map[string]struct {
		ratio float64
		want  surge.Verdict
	}{"no help": {2, surge.Unhelped}, "half": {1.5, surge.Asking}} {
		var m surge.Memory
		verdict(&m, 0, asking(), stable(1))
		r := asking()
		r.Replicas, r.Ratio, r.Sharing = 40, tt.ratio, 10
		m.Judge(noon.Add(2*time.Second), &r, 20, stable(1.5))
		if r.Verdict != tt.want {
			t.Errorf("%s: %s, want %s", name, r.Verdict, tt.want)
		}
	}
}

// TestFewPods: two pods prove something after four seconds without a gap, and ask for
// twice the count at most.
func TestFewPods(t *testing.T) {
	var m surge.Memory
	few := func() surge.Result {
		return surge.Result{Verdict: surge.Asking, Replicas: 20, Ratio: 10, Counted: 2, Showing: 2}
	}
	results := []metric.Result{{Ratio: 2, Replicas: 4, Counts: metric.Counts{Counted: 2}}}
	for second := range 10 {
		if second == 2 {
			continue
		}
		r := few()
		m.Judge(noon.Add(time.Duration(second)*time.Second), &r, 2, results)
		want := surge.Brief
		if second >= 4 {
			want = surge.Asking
		}
		if r.Verdict != want || r.Replicas != 8 {
			t.Errorf("after %d s: %s, %d", second, r.Verdict, r.Replicas)
		}
	}
	r := few()
	if m.Judge(noon.Add(15*time.Second), &r, 2, results); r.Verdict != surge.Brief {
		t.Errorf("after a gap: %s", r.Verdict)
	}
}
