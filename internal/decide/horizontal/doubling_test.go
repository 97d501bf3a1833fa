package horizontal_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// answer returns a queue of that length, requested so long before noon.
func answer(n int32, ago time.Duration) metric.Reading {
	r := length(n)
	r.Asked = noon.Add(-ago)
	return r
}

// TestOneDoubling: the target was scaled up to 4 some time before noon. An answer that was requested before that does
// not double the count again.
func TestOneDoubling(t *testing.T) {
	const second = time.Second
	of := func(readings ...metric.Reading) []metric.Reading { return readings }
	timeless := answer(99, 15*second)
	timeless.At = time.Time{}
	ahead := answer(99, 15*second)
	ahead.At = noon.Add(time.Hour)
	behind := answer(99, second)
	behind.At = noon.Add(-time.Hour)
	for name, tt := range map[string]struct {
		reason    string
		ago       time.Duration
		isLowered bool
		readings  []metric.Reading
		want      int32
		isHeld    bool
	}{
		"asked before":        {"it does not know of the 4", 15 * second, false, of(answer(99, 20*second)), 4, true},
		"asked then":          {"nor does one of the same moment", 15 * second, false, of(answer(99, 15*second)), 4, true},
		"asked later":         {"this one may", 15 * second, false, of(answer(99, 15*second-1)), 8, false},
		"asked long before":   {"for as long as there is no other one", time.Hour, false, of(answer(99, 2*time.Hour)), 4, true},
		"without a time":      {"when it was asked for counts", 15 * second, false, of(timeless), 4, true},
		"from ahead":          {"nor is its own time an excuse", 15 * second, false, of(ahead), 4, true},
		"asked later, behind": {"a clock that is an hour behind holds nothing up", 15 * second, false, of(behind), 8, false},
		"asked before, less":  {"only scaling up waits", 15 * second, false, of(answer(2, 20*second)), 2, false},
		"asked before, as is": {"nothing to hold", 15 * second, false, of(answer(4, 20*second)), 4, false},
		"less than double":    {"any answer from before, not only one that asks for the double", 15 * second, false, of(answer(5, 20*second)), 4, true},
		"not asked for":       {"what is scraped is new in each decision", 0, false, of(sampled(99, 20*second)), 8, false},
		"after scaling down":  {"the count was not raised on it", 15 * second, true, of(answer(99, 20*second)), 8, false},
		"another writer": {"nobody knows what it raised the count on", 15 * second, false, of(answer(99, 20*second)), 8,
			false},
		"two metrics": {"the new one asks for 6, the old one may not", 15 * second, false,
			of(answer(99, 20*second), answer(6, second)), 6, true},
		"two metrics, enough": {"the new one asks for more than the double", 15 * second, false,
			of(answer(99, 20*second), answer(9, second)), 8, false},
		"two, the new one low": {"it does not ask for more", 15 * second, false,
			of(answer(99, 20*second), answer(1, second)), 4, true},
		"one fails": {"that it was not answered does not matter", 15 * second, false, of(broken(), answer(99, second)), 8,
			false},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy(1, 100)
			// Another divergence concerns scaling down on old samples.
			p.Divergences = divergence.Default &^ divergence.NewerSamples
			p.DownscaleStabilization = 0
			for len(p.Metrics) < len(tt.readings) {
				p.Metrics = append(p.Metrics, queue())
			}
			s, at := remembering(past{time.Hour, 1}), noon.Add(-tt.ago)
			s.Count = history.Count{
				Replicas: 4, IsKnown: true, ChangedAt: at, EffectiveAt: at, IsLowered: tt.isLowered,
				IsForeign: name == "another writer",
			}
			o := see(4, tt.readings...)
			decide := func() horizontal.Decision {
				d, _ := horizontal.Decide(noon, &p, s.Clone(), &o)
				return d
			}
			d := decide()
			if d.Desired != tt.want || d.Limited.IsDoublingHeld != tt.isHeld {
				t.Errorf("%s: got %d, held: %t; want %d, %t", tt.reason, d.Desired, d.Limited.IsDoublingHeld, tt.want, tt.isHeld)
			}
			r := statusreport.Of(&d, horizontal.Outcome{At: noon})
			if tt.isHeld && (d.Limited.Reason != behavior.ScaleUpLimit || !hasCondition(r, "ScalingLimited", true)) {
				t.Errorf("held, but limited by %v: %+v", d.Limited.Reason, r.Conditions)
			}
			p.Divergences &^= divergence.OneDoubling
			if d := decide(); d.Desired != min(8, max(d.Proposed.Replicas, 1)) || d.Limited.IsDoublingHeld {
				t.Errorf("upstream doubles at every decision: got %d, held: %t", d.Desired, d.Limited.IsDoublingHeld)
			}
			p.Divergences, p.Behavior = divergence.Default&^divergence.NewerSamples, rates(unlimited(), unlimited())
			if d := decide(); d.Limited.IsDoublingHeld || d.Desired != max(d.Proposed.Replicas, 1) {
				t.Errorf("with behavior its policies hold alone: got %d, held: %t", d.Desired, d.Limited.IsDoublingHeld)
			}
		})
	}
}

// TestOneDoublingLeavesBoundsAlone: if max is the limit, the decision names it; a count outside of min and max is
// corrected at once.
func TestOneDoublingLeavesBoundsAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		min, max int32
		o        horizontal.Observation
		want     int32
		reason   behavior.LimitReason
	}{
		"at max":         {1, 4, see(4, answer(99, 0)), 4, behavior.TooManyReplicas},
		"above max":      {1, 3, see(4, answer(99, 0)), 3, 0},
		"below min":      {6, 9, see(4, answer(99, 0)), 6, 0},
		"from 0 to min":  {2, 9, scaledToZero(see(0, answer(1, 0))), 2, behavior.TooFewReplicas},
		"more than min":  {2, 9, scaledToZero(see(0, answer(5, 0))), 2, behavior.ScaleUpLimit},
		"nothing wished": {1, 9, see(4, answer(4, 0)), 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := policy(tt.min, tt.max), remembering(past{time.Hour, 1})
			s.Count = history.Count{Replicas: tt.o.Target.SpecReplicas, IsKnown: true, ChangedAt: noon, EffectiveAt: noon}
			d, _ := horizontal.Decide(noon, &p, s, &tt.o)
			if d.Desired != tt.want || d.Limited.Reason != tt.reason {
				t.Errorf("got %d, %v; want %d, %v", d.Desired, d.Limited.Reason, tt.want, tt.reason)
			}
		})
	}
}

// TestAnAnswerDoublesOnce: new pods cause a decision every 20 ms. If the load is always too high, each answer doubles
// the count once.
func TestAnAnswerDoublesOnce(t *testing.T) {
	p := policy(1, 1000)
	var s horizontal.State
	var d horizontal.Decision
	current := int32(2)
	want := []int32{4, 8, 16, 32}
	for elapsed := time.Duration(0); elapsed < 8*time.Second; elapsed += 20 * time.Millisecond {
		now := noon.Add(elapsed)
		o := see(current, answer(999, -elapsed.Truncate(2*time.Second)))
		d, s = horizontal.Decide(now, &p, s, &o)
		s = horizontal.Settle(s, horizontal.Outcome{At: now})
		current = d.Desired
		if want := want[elapsed/(2*time.Second)]; current != want {
			t.Fatalf("after %v: %d, want %d", elapsed, current, want)
		}
	}
}

// TestFailedWriteIsNoScaleUp: an answer doubles the count although a scale-up was tried after its request, because that
// write failed.
func TestFailedWriteIsNoScaleUp(t *testing.T) {
	p := policy(1, 100)
	o := see(2, answer(99, 0))
	d, s := horizontal.Decide(noon, &p, horizontal.State{}, &o)
	s = horizontal.Settle(s, horizontal.Outcome{At: noon, Error: "conflict"})
	if d.Desired != 4 {
		t.Fatalf("first to %d", d.Desired)
	}
	if d, _ = horizontal.Decide(noon.Add(time.Second), &p, s, &o); d.Desired != 4 || d.Limited.IsDoublingHeld {
		t.Errorf("then to %d, held: %t", d.Desired, d.Limited.IsDoublingHeld)
	}
}
