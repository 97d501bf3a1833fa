package horizontal_test

import (
	"math"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

// sampled is a queue of that length, measured so long before noon.
func sampled(n int32, ago time.Duration) metric.Reading {
	r := length(n)
	r.At = noon.Add(-ago)
	return r
}

// TestOneDoubling: the target was scaled up to 4 some time before noon.
func TestOneDoubling(t *testing.T) {
	const second, minute = time.Second, time.Minute
	of := func(readings ...metric.Reading) []metric.Reading { return readings }
	for name, tt := range map[string]struct {
		reason   string
		ago      time.Duration
		readings []metric.Reading
		want     int32
		held     behavior.DoublingDelay
	}{
		"at once":          {"the second is not over", 0, of(sampled(99, 0)), 4, behavior.TooSoon},
		"just before":      {"not yet", second - 1, of(sampled(99, 0)), 4, behavior.TooSoon},
		"a second":         {"a second is enough", second, of(sampled(99, 0)), 8, behavior.NotDelayed},
		"less than double": {"any scale-up is one", second / 2, of(sampled(5, 0)), 4, behavior.TooSoon},
		"down":             {"only scaling up waits", second / 2, of(sampled(2, 0)), 2, behavior.NotDelayed},
		"stay":             {"nothing to hold", second / 2, of(sampled(4, 0)), 4, behavior.NotDelayed},
		"old sample": {"it does not know of the 4", 15 * second, of(sampled(99, 20*second)), 4,
			behavior.NothingNewer},
		"as old": {"nor does one of the same moment", 15 * second, of(sampled(99, 15*second)), 4,
			behavior.NothingNewer},
		"just newer":           {"this one may", 15 * second, of(sampled(99, 15*second-1)), 8, behavior.NotDelayed},
		"old sample, down":     {"less is no doubling", 15 * second, of(sampled(2, 20*second)), 2, behavior.NotDelayed},
		"without a time":       {"taken for new", 15 * second, of(length(99)), 8, behavior.NotDelayed},
		"without a time, soon": {"a second all the same", second / 2, of(length(99)), 4, behavior.TooSoon},
		"a slow clock": {"an hour behind, it is waited for a minute", minute, of(sampled(99, time.Hour)), 8,
			behavior.NotDelayed},
		"almost a minute": {"not yet", minute - 1, of(sampled(99, time.Hour)), 4, behavior.NothingNewer},
		"clock set back":  {"that was in an hour", -time.Hour, of(sampled(99, 0)), 8, behavior.NotDelayed},
		"two metrics": {"the new one asks for 6, the old one may not", 15 * second,
			of(sampled(99, 20*second), sampled(6, second)), 6, behavior.NothingNewer},
		"two metrics, enough": {"the new one asks for more than the double", 15 * second,
			of(sampled(99, 20*second), sampled(9, second)), 8, behavior.NotDelayed},
		"two, the new one low": {"it does not ask for more", 15 * second, of(sampled(99, 20*second), sampled(1, second)), 4,
			behavior.NothingNewer},
		"one fails": {"its time is not known, and does not matter", 15 * second, of(broken(), sampled(99, second)), 8,
			behavior.NotDelayed},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy(1, 100)
			// Scaling down on old samples is another matter.
			p.Divergences = divergence.Default &^ divergence.NewerSamples
			p.DownscaleStabilization = 0
			for len(p.Metrics) < len(tt.readings) {
				p.Metrics = append(p.Metrics, queue())
			}
			s := remembering(past{time.Hour, 1})
			s.LastScaleUp = noon.Add(-tt.ago)
			o := see(4, tt.readings...)
			decide := func() (horizontal.Decision, statusreport.Report) {
				d, _ := horizontal.Decide(noon, &p, s.Clone(), &o)
				r := d.Report(horizontal.Outcome{At: noon})
				return d, r
			}
			d, r := decide()
			if d.Desired != tt.want || d.Limited.DoublingDelayed != tt.held {
				t.Errorf("%s: got %d, %q; want %d, %q", tt.reason, d.Desired, d.Limited.DoublingDelayed, tt.want, tt.held)
			}
			if tt.held != behavior.NotDelayed &&
				(d.Limited.Reason != behavior.ScaleUpLimit || !hasCondition(r, "ScalingLimited", true)) {
				t.Errorf("held, but limited by %v: %+v", d.Limited.Reason, r.Conditions)
			}
			p.Divergences &^= divergence.OneDoubling
			if d, _ := decide(); d.Desired != min(8, max(d.Proposed.Replicas, 1)) || d.Limited.DoublingDelayed != behavior.NotDelayed {
				t.Errorf("upstream doubles at every decision: got %d, %q", d.Desired, d.Limited.DoublingDelayed)
			}
			p.Divergences, p.Behavior = divergence.Default&^divergence.NewerSamples, rates(unlimited(), unlimited())
			if d, _ := decide(); d.Limited.DoublingDelayed != behavior.NotDelayed || d.Desired != max(d.Proposed.Replicas, 1) {
				t.Errorf("with behavior its policies hold alone: got %d, %q", d.Desired, d.Limited.DoublingDelayed)
			}
		})
	}
}

// TestOneDoublingLeavesBoundsAlone: max is named where it is what applies, and min
// and max are gone to at once.
func TestOneDoublingLeavesBoundsAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		min, max int32
		o        horizontal.Observation
		want     int32
		reason   behavior.LimitReason
	}{
		"at max":         {1, 4, see(4, sampled(99, 0)), 4, behavior.TooManyReplicas},
		"above max":      {1, 3, see(4, sampled(99, 0)), 3, 0},
		"below min":      {6, 9, see(4, sampled(99, 0)), 6, 0},
		"from 0 to min":  {2, 9, scaledToZero(see(0, sampled(1, 0))), 2, behavior.TooFewReplicas},
		"more than min":  {2, 9, scaledToZero(see(0, sampled(5, 0))), 2, behavior.ScaleUpLimit},
		"nothing wished": {1, 9, see(4, sampled(4, 0)), 4, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := policy(tt.min, tt.max), remembering(past{time.Hour, 1})
			s.LastScaleUp = noon
			d, _ := horizontal.Decide(noon, &p, s, &tt.o)
			if d.Desired != tt.want || d.Limited.Reason != tt.reason {
				t.Errorf("got %d, %v; want %d, %v", d.Desired, d.Limited.Reason, tt.want, tt.reason)
			}
		})
	}
}

// TestDecidedEachInstant: a decision each 20 ms on a load that always asks for
// more doubles once a second, and no more often than the samples change.
func TestDecidedEachInstant(t *testing.T) {
	for name, tt := range map[string]struct {
		every time.Duration
		want  []int32
	}{
		"samples each 20 ms": {20 * time.Millisecond, []int32{4, 8, 16, 32, 64}},
		"samples every 2 s":  {2 * time.Second, []int32{4, 4, 8, 8, 16}},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy(1, math.MaxInt32)
			var s horizontal.State
			var d horizontal.Decision
			current := int32(2)
			for elapsed := time.Duration(0); elapsed < 5*time.Second; elapsed += 20 * time.Millisecond {
				now := noon.Add(elapsed)
				o := see(current, sampled(math.MaxInt32/2000, -elapsed.Truncate(tt.every)))
				d, s = horizontal.Decide(now, &p, s, &o)
				s = horizontal.Settle(s, horizontal.Outcome{At: now})
				current = d.Desired
				if want := tt.want[elapsed/time.Second]; current != want {
					t.Fatalf("after %v: %d, want %d", elapsed, current, want)
				}
			}
		})
	}
}

// TestSampleOfLastScaleUp: an answer raises the count again if it was asked for after
// the last scale-up and is another one than that was decided on, whatever time it
// gives. The target was scaled up to 4 at noon, on an answer that was asked for a
// second before.
func TestSampleOfLastScaleUp(t *testing.T) {
	const second, minute = time.Second, time.Minute
	answer := func(asked time.Duration, at time.Duration, n int32) metric.Reading {
		r := length(n)
		r.At, r.Asked = noon.Add(at), noon.Add(asked)
		return r
	}
	timeless := func(asked time.Duration) metric.Reading {
		r := answer(asked, 0, 99)
		r.At = time.Time{}
		return r
	}
	for name, tt := range map[string]struct {
		reason        string
		before, after metric.Reading
		wait          time.Duration
		want          int32
	}{
		"the same answer": {"it was asked for before", answer(-second, -2*second, 99),
			answer(-second, -2*second, 99), 10 * second, 4},
		"the same, from ahead": {"its time is no excuse", answer(-second, minute, 99), answer(-second, minute, 99),
			10 * second, 4},
		"the same, without a time": {"nor is none", timeless(-second), timeless(-second), 10 * second, 4},
		"asked again": {"another time, although before the scale-up", answer(-second, -90*second, 99),
			answer(15*second, -75*second, 99), 15 * second, 8},
		"asked again, same time": {"the source measured nothing meanwhile", answer(-second, -2*second, 99),
			answer(15*second, -2*second, 99), 15 * second, 4},
		"same time, another value": {"it did measure", answer(-second, -2*second, 99), answer(15*second, -2*second, 98),
			15 * second, 8},
		"asked, without a time": {"taken for new", timeless(-second), timeless(15 * second), 15 * second, 8},
		"asked, time gone back": {"another one", answer(-second, -2*second, 99), answer(15*second, -minute, 99), 15 * second,
			8},
		"a minute later": {"old ones hold no longer", answer(-second, -2*second, 99), answer(-second, -2*second, 99),
			minute, 8},
		"sample, newer": {"a kubelet's, by its own clock", sampled(99, 10*minute), sampled(99, 10*minute-second),
			2 * second, 8},
		"sample, the same": {"nothing new", sampled(99, -10*minute), sampled(99, -10*minute), 2 * second, 4},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy(1, 100)
			o := see(2, tt.before)
			d, s := horizontal.Decide(noon, &p, horizontal.State{}, &o)
			s = horizontal.Settle(s, horizontal.Outcome{At: noon})
			if d.Desired != 4 {
				t.Fatalf("first to %d", d.Desired)
			}
			o = see(4, tt.after)
			if d, s = horizontal.Decide(noon.Add(tt.wait), &p, s, &o); d.Desired != tt.want {
				t.Fatalf("%s: %d, want %d", tt.reason, d.Desired, tt.want)
			}
			// A write that fails leaves what the last one was decided on.
			s = horizontal.Settle(s, horizontal.Outcome{At: noon.Add(tt.wait), Error: "conflict"})
			if d, _ = horizontal.Decide(noon.Add(tt.wait), &p, s, &o); d.Desired != tt.want {
				t.Errorf("%s: %d after a write that failed, want %d", tt.reason, d.Desired, tt.want)
			}
		})
	}
}
