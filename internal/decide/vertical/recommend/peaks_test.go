package recommend

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
)

// A container uses 1 GiB, and 4 GiB for some seconds now and then. The recommendation from four samples a minute is at
// least upstream's, which has one sample a minute.
func TestMemoryPeaksAreKept(t *testing.T) {
	const gi = 1 << 30
	for _, peak := range []struct{ lasts, every time.Duration }{
		{15 * time.Second, 10 * time.Minute}, {30 * time.Second, 10 * time.Minute},
		{15 * time.Second, time.Hour}, {45 * time.Second, time.Hour},
	} {
		uses := func(at time.Time) vertical.Amount {
			if at.Sub(began)%peak.every < peak.lasts {
				return 4 * gi
			}
			return gi
		}
		ours, upstream := newWorkload(divergence.Default, "app"), newWorkload(divergence.Default, "app")
		summary, moment := &usage.Summary{}, rand.New(rand.NewPCG(1, 2))
		for minute := range 3 * 24 * 60 {
			end := began.Add(time.Duration(minute+1) * time.Minute)
			for quarter := range 4 {
				at := end.Add(time.Duration(quarter-4)*15*time.Second + 7*time.Second)
				summary.Add(vertical.Memory, uses(at), 0, at)
			}
			amount, _, _ := summary.Take(vertical.Memory)
			ours.now, upstream.now = end, end
			ours.uses(100, amount)
			upstream.uses(100, uses(end.Add(-time.Duration(moment.IntN(60))*time.Second)))
			ours.pass()
			upstream.pass()
		}
		got, _ := ours.decision.Recommendations[0].Target.Get(vertical.Memory)
		want, _ := upstream.decision.Recommendations[0].Target.Get(vertical.Memory)
		if got < want || got < 4*gi {
			t.Errorf("4 GiB for %s each %s: %.2f GiB; one look a minute asks for %.2f", peak.lasts, peak.every, float64(got)/gi,
				float64(want)/gi)
		}
	}
}

// An OOM with more memory than any machine has, or in the future, is ignored.
func TestAbsurdOutOfMemory(t *testing.T) {
	for why, oom := range map[string]usage.OOM{
		"more than any machine has": {Pod: "a", At: began, Request: 1<<50 + 1},
		"from the future":           {Pod: "a", At: began.Add(time.Hour), Request: 1 << 40},
	} {
		w := newWorkload(divergence.Default, "app")
		w.uses(100, 200<<20)
		w.seen.OOMs = []OOM{{Container: "app", OOM: oom}}
		w.pass()
		if got, _ := w.decision.Recommendations[0].Target.Get(vertical.Memory); got > 1<<30 ||
			w.condition(ImplausibleSamples) == "" {
			t.Errorf("%s: memory is %d, ImplausibleSamples %q", why, got, w.condition(ImplausibleSamples))
		}
		w = newWorkload(divergence.Default&^divergence.ImplausibleSamples, "app")
		w.seen.OOMs = []OOM{{Container: "app", OOM: oom}}
		if w.pass(); w.decision.Recommendations == nil {
			t.Errorf("%s: upstream believes it", why)
		}
	}
}
