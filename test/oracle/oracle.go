package oracle

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// Timeline is a recorded run of upstream.
type Timeline struct {
	Seed, Number uint64
	Situations   []*Situation
	Upstream     []Result
}

// Record makes a timeline while upstream's controller runs through it.
func Record(t *testing.T, seed, number uint64) *Timeline {
	t.Helper()
	return newGenerator(seed, number).record(t, seed, number)
}

// RecordAlone is Record without a second object on the target.
func RecordAlone(t *testing.T, seed, number uint64) *Timeline {
	t.Helper()
	g := newGenerator(seed, number)
	g.alone = true
	return g.record(t, seed, number)
}

func (g *generator) record(t *testing.T, seed, number uint64) *Timeline {
	t.Helper()
	line := &Timeline{Seed: seed, Number: number}
	line.Upstream = run(t, upstream, func(w *world) *Situation {
		s := g.next(w)
		if s != nil {
			line.Situations = append(line.Situations, s)
		}
		return s
	})
	return line
}

// play takes Plimsoll through the timeline.
func (l *Timeline) play(t *testing.T, divergences divergence.Set) []Result {
	t.Helper()
	i := 0
	return run(t, plimsoll(t, divergences), func(*world) *Situation {
		if i == len(l.Situations) {
			return nil
		}
		i++
		return l.Situations[i-1]
	})
}

// Compare compares Plimsoll with every divergence off with upstream. It returns
// the step of an unexplained difference, or -1.
func (l *Timeline) Compare(t *testing.T, tally *Tally) int {
	t.Helper()
	got := l.play(t, divergence.None)
	tally.Timelines++
	for i := range l.Situations {
		tally.reach(l.Situations[i], &l.Upstream[i])
		d := diff(&l.Upstream[i], &got[i])
		tally.Steps++
		if d != "" {
			tally.unexplained(l, i, "differs with every divergence off (- upstream, + plimsoll):\n"+d)
			return i
		}
		tally.Equal++
	}
	return -1
}

func (t *Tally) unexplained(l *Timeline, i int, what string) {
	t.Unexplained = append(t.Unexplained, fmt.Sprintf("seed %d timeline %d step %d of %d\n%s%s",
		l.Seed, l.Number, i, len(l.Situations), describe(l.Situations[i]), what))
}

// describe is a situation in two lines.
func describe(s *Situation) string {
	ready := 0
	for _, pod := range s.Pods {
		for _, c := range pod.Status.Conditions {
			if c.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	text := fmt.Sprintf("  at %s %q restart %v recreate %v rival %v, %d pods, %d ready, max %d", s.At, s.Note, s.Restart,
		s.Recreate, s.Rival,
		len(s.Pods), ready, s.Spec.MaxReplicas)
	for i := range s.Spec.Metrics {
		text += " " + string(s.Spec.Metrics[i].Type)
	}
	return text + fmt.Sprintf("\n  scale %+v\n", s.Scale)
}
