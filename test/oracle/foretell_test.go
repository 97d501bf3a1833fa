package oracle

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/explain/historybounds"
	explainhorizontal "github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
)

// The least that foretelling must achieve over the steps in which something scales
// or is held back: how often it commits itself, and how often it is right then.
const (
	leastCommitted = 0.60
	leastRight     = 0.95
)

// foretold counts forecasts.
type foretold struct {
	// steps are those in which something scales or is held back; still are those of
	// them in which the count stays.
	steps, committed, right, still int
}

// TestForetelling: without upstream's history, from what any client can see through
// the API, Plimsoll says what upstream will do next.
func TestForetelling(t *testing.T) {
	var sum foretold
	for number := uint64(0); sum.steps < *steps/4; number++ {
		sum.add(t, Record(t, *seed, number))
	}
	share := func(n, of int) float64 { return float64(n) / float64(max(of, 1)) }
	fmt.Printf("foretold: of %d steps that scale or are held back %d (%.1f %%) were committed to, %d of them (%.1f %%) "+
		"right; always saying \"no change\" is right in %.1f %%\n",
		sum.steps, sum.committed, 100*share(sum.committed, sum.steps), sum.right, 100*share(sum.right, sum.committed),
		100*share(sum.still, sum.steps))
	if share(sum.committed, sum.steps) < leastCommitted {
		t.Errorf("committed in %.3f of the steps, want %.2f", share(sum.committed, sum.steps), leastCommitted)
	}
	if share(sum.right, sum.committed) < leastRight {
		t.Errorf("right in %.3f of the committed, want %.2f", share(sum.right, sum.committed), leastRight)
	}
}

func (f *foretold) add(t *testing.T, l *Timeline) {
	t.Helper()
	var events []corev1.Event
	for i := range l.Situations {
		s := l.Situations[i]
		if s.Recreate {
			events = nil
		}
		if i > 0 && !s.Recreate {
			f.step(t, l, i, events)
		}
		for _, text := range l.Upstream[i].Events {
			events = append(events, eventOf(text, s.decided()))
		}
	}
}

// eventOf is an event as the API has it, in whole seconds.
func eventOf(text string, at time.Time) corev1.Event {
	about, message, _ := strings.Cut(text, ": ")
	return corev1.Event{
		Reason: about[strings.LastIndex(about, " ")+1:], Message: message,
		LastTimestamp: metav1.NewTime(at.Truncate(time.Second)),
	}
}

func (f *foretold) step(t *testing.T, l *Timeline, i int, events []corev1.Event) {
	t.Helper()
	s := l.Situations[i]
	step := s.snapshot(&l.Upstream[i-1].Status)
	known := historybounds.Known{
		Autoscaler: step.Autoscaler(), Current: s.Scale.Spec, Rescales: historybounds.Rescales(events),
		Period: s.At - l.Situations[i-1].At, Divergences: divergence.None,
	}
	forecast, err := explainhorizontal.ForecastOf(step, &known)
	if err != nil {
		t.Fatal(err)
	}
	if !interesting(l, i) {
		return
	}
	f.steps++
	actual := s.Scale.Spec
	if writes := l.Upstream[i].Writes; len(writes) > 0 {
		actual = written(t, writes[0])
	} else {
		f.still++
	}
	if !forecast.IsCertain() {
		return
	}
	f.committed++
	if forecast.Decision.Desired == actual {
		f.right++
	} else if testing.Verbose() {
		t.Logf("timeline %d step %d: foretold %d, came %d from %d\n%v", l.Number, i, forecast.Decision.Desired, actual,
			s.Scale.Spec, said(&forecast.Result))
	}
}

// interesting reports whether upstream scaled in a step, or was held back.
func interesting(l *Timeline, i int) bool {
	if len(l.Upstream[i].Writes) > 0 {
		return true
	}
	for _, c := range l.Upstream[i].Status.Conditions {
		switch c.Reason {
		case behavior.ScaleDownStabilized.String(), behavior.ScaleUpStabilized.String(), behavior.ScaleUpLimit.String(),
			behavior.ScaleDownLimit.String(), behavior.TooFewReplicas.String(), behavior.TooManyReplicas.String():
			return true
		}
	}
	return false
}

// written is the count of a write, "from→to …".
func written(t *testing.T, write string) (to int32) {
	t.Helper()
	var from int32
	if _, err := fmt.Sscanf(strings.ReplaceAll(write, "→", " "), "%d %d", &from, &to); err != nil {
		t.Fatalf("%q: %v", write, err)
	}
	return to
}

func said(r *explainhorizontal.Result) string {
	var b strings.Builder
	_ = r.WriteText(&b, explainhorizontal.Style{Verbose: true})
	return b.String()
}
