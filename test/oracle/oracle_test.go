package oracle

import (
	"flag"
	"fmt"
	"io"
	"testing"

	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/plimsoll-dev/plimsoll/internal/decide/divergence"
)

var (
	steps = flag.Int("steps", 500, "how many steps to compare")
	seed  = flag.Uint64("seed", 1, "the seed of the timelines")
)

func init() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	// The default handlers slow down by a clock that the bubbles do not share.
	runtime.ErrorHandlers = nil
}

func TestWithoutDivergencesPlimsollEqualsUpstream(t *testing.T) {
	compared, differ, lengthened := 0, 0, 0
	for timeline := uint64(0); compared < *steps; timeline++ {
		situations, expected := lead(t, *seed, timeline)
		got := run(t, plimsoll(t, divergence.None), replay(situations))
		for i := range expected {
			d := diff(&expected[i], &got[i])
			if d != "" && situations[i].Lengthened {
				lengthened++
				compared += i + 1
				break
			}
			if d != "" {
				differ++
				t.Errorf("seed %d timeline %d step %d of %d:\n%s%s", *seed, timeline, i, len(expected), describe(situations[i]), d)
				compared += i + 1
				break
			}
			if i == len(expected)-1 {
				compared += i + 1
			}
		}
		if differ > 8 {
			break
		}
	}
	fmt.Printf("%d steps compared, %d timelines differ, %d after a longer window\n", compared, differ, lengthened)
}

func lead(t *testing.T, seed, timeline uint64) ([]*Situation, []Result) {
	t.Helper()
	g := newGenerator(seed, timeline)
	var situations []*Situation
	results := run(t, upstream, func(w *world) *Situation {
		s := g.next(w)
		if s != nil {
			situations = append(situations, s)
		}
		return s
	})
	return situations, results
}

func replay(situations []*Situation) next {
	return func(*world) *Situation {
		if len(situations) == 0 {
			return nil
		}
		s := situations[0]
		situations = situations[1:]
		return s
	}
}

func describe(s *Situation) string {
	ready := 0
	for _, pod := range s.Pods {
		for _, c := range pod.Status.Conditions {
			if c.Status == "True" {
				ready++
			}
		}
	}
	return fmt.Sprintf("  at %s %q restart %v recreate %v rival %v, scale %+v, %d pods, %d ready, behavior %v\n", s.At, s.Note, s.Restart, s.Recreate, s.Rival, s.Scale, len(s.Pods), ready, s.Spec.Behavior != nil)
}
