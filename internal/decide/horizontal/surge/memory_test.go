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

// TestFewPods: two pods, of which the stable window says that they need four, may ask for
// one more, and for twice the count after four seconds without a gap.
func TestFewPods(t *testing.T) {
	var m surge.Memory
	results := []metric.Result{{Ratio: 2, Replicas: 4, Counts: metric.Counts{Counted: 2}}}
	for _, tt := range []struct {
		second int
		want   int32
	}{{0, 5}, {1, 5}, {3, 5}, {4, 8}, {7, 8}, {15, 5}, {16, 5}, {19, 8}} {
		r := surge.Result{Verdict: surge.Asking, Replicas: 20, Ratio: 10, Counted: 2, Showing: 2}
		if m.Judge(noon.Add(time.Duration(tt.second)*time.Second), &r, 2, results); !r.Asks() || r.Replicas != tt.want {
			t.Errorf("after %d s: %s, %d, want %d", tt.second, r.Verdict, r.Replicas, tt.want)
		}
	}
	// With five pods there are as many as few pods may ask for at first.
	var five surge.Memory
	r := surge.Result{Verdict: surge.Asking, Replicas: 20, Ratio: 10, Counted: 2, Showing: 2}
	if five.Judge(noon, &r, 5, results); r.Verdict != surge.Brief {
		t.Errorf("%s", r.Verdict)
	}
}
