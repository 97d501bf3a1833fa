package horizontal

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/status"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

func told(cfg *Config) {
	cfg.StatusInterval, cfg.EventInterval = time.Minute, period-time.Second
}

// TestNumbersAreWrittenOnceAMinute: usage is never twice the same, and each write
// of it goes to every watcher in the cluster.
func TestNumbersAreWrittenOnceAMinute(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		writes := 0
		w.beforeStatus = func() error { writes++; return nil }
		w.start(told)
		w.pass(time.Second)
		writes = 0
		for i := range 40 {
			w.set(func() { w.usage = 96 + int64(i%3)*4 })
			w.pass(period)
		}
		if writes < 5 || writes > 10 {
			t.Errorf("%d writes of status in 10 minutes of moving numbers, want one a minute", writes)
		}
		writes = 0
		w.set(func() { w.usage = 200 })
		w.pass(period)
		if got := w.hpa("web").Status; got.DesiredReplicas != 4 || writes == 0 {
			t.Errorf("%d writes, %d wanted in status: a change of the count does not wait", writes, got.DesiredReplicas)
		}
	})
}

// TestWarningsAreNotRepeated: what fails at each of many decisions is reported once in a while.
func TestWarningsAreNotRepeated(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.external = func(context.Context) (int64, error) { return 0, errors.New("no answer") }
		w.addHPA(externally(w.web("web", 2)))
		w.start(told, func(cfg *Config) { cfg.SyncPeriod = time.Second })
		w.pass(time.Minute)
		n := 0
		for _, event := range w.events {
			if strings.Contains(event, "FailedGetExternalMetric") {
				n++
			}
		}
		if n < 4 || n > 6 {
			t.Errorf("%d events in a minute of 60 decisions, want one in %s", n, period-time.Second)
		}
		if got := w.condition("web", autoscalingv2.ScalingActive); got != "False FailedGetExternalMetric" {
			t.Errorf("ScalingActive is %s", got)
		}
	})
}

// TestStatusesDoNotHoldDecisions: while as much is being written as may be, objects go on being
// decided with each round of samples, and their status is written when a slot is free.
func TestStatusesDoNotHoldDecisions(t *testing.T) {
	const objects = 10
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a", "b")
		w.multitude(objects)
		var c *Controller
		taken := 0
		w.made = func(made *Controller) {
			c = made
			c.reconciler.observer.reader.Early.SetBurst(0) // requests wait
			for c.reconciler.status.Writes.TryAcquire(status.KindOf(observehorizontal.Autoscaler{})) {
				taken++
			}
		}
		w.start(k.direct, usual, func(cfg *Config) { cfg.StatusInterval = time.Minute })
		w.pass(8 * time.Second)
		k.decisions()
		w.pass(2 * time.Second)
		if n := len(k.decisions()); n < 2*objects || w.decidedOn(objects) > 0 {
			t.Errorf("%d decisions in two seconds, %d statuses", n, w.decidedOn(objects))
		}
		for range taken {
			c.reconciler.status.Writes.Release(status.KindOf(observehorizontal.Autoscaler{}))
		}
		w.pass(1200 * time.Millisecond)
		if n := w.decidedOn(objects); n != objects {
			t.Errorf("%d of %d statuses are written", n, objects)
		}
	})
}

// TestNumbersAreWrittenAtAPace: objects that came together do not write their numbers
// together a minute later, but each does within the next.
func TestNumbersAreWrittenAtAPace(t *testing.T) {
	const objects = 60
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a", "b")
		w.multitude(objects)
		var writes atomic.Int64
		w.beforeStatus = func() error { writes.Add(1); return nil }
		w.start(k.direct, usual, told)
		w.pass(20 * time.Second)
		if n := w.decidedOn(objects); n != objects {
			t.Fatalf("%d of %d statuses are written", n, objects)
		}
		w.set(func() { k.milli = 105 })
		writes.Store(0)
		most := int64(0)
		for range 70 {
			before := writes.Load()
			w.pass(time.Second)
			most = max(most, writes.Load()-before)
		}
		if n := writes.Load(); most > 20 || n != objects {
			t.Errorf("%d writes, %d of them in a second, want %d, a few at a time", n, most, objects)
		}
	})
}

// TestRestartDoesNotRepeatNumbers: numbers that another instance wrote a moment ago
// have their time.
func TestRestartDoesNotRepeatNumbers(t *testing.T) {
	for ago, want := range map[time.Duration]int{10 * time.Second: 0, 2 * time.Minute: 1} {
		inWorld(t, func(t *testing.T, w *world) {
			w.addHPA(w.web("web", 2))
			w.start(told)
			w.pass(time.Second)
			w.stop()
			w.writeStatus("web", FieldManager, func(*autoscalingv2.HorizontalPodAutoscalerStatus) {})
			w.pass(ago)
			writes := 0
			w.usage = 104
			w.beforeStatus = func() error { writes++; return nil }
			w.start(told)
			w.pass(time.Second)
			if writes != want {
				t.Errorf("%d writes %s after the last", writes, ago)
			}
		})
	}
}

// TestNoiseAtTheEdgeIsNoReasonToWrite: at the edge of the tolerance, and of maxReplicas,
// the conditions would have to be written every few seconds. What lasts is written.
func TestNoiseAtTheEdgeIsNoReasonToWrite(t *testing.T) {
	for name, tt := range map[string]struct {
		middle int64
		most   int32
	}{
		"of nothing":       {middle: 100, most: 20},
		"of the tolerance": {middle: 90, most: 20},
		"next to it":       {middle: 89, most: 20},
		"of maxReplicas":   {middle: 110, most: 10},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				k := w.kubelets("a")
				hpa := w.web("web", 10)
				hpa.Spec.MaxReplicas = tt.most
				w.onto("web", 10, "a")
				w.addHPA(hpa)
				k.milli = tt.middle
				w.start(k.direct, func(c *Config) {
					c.SyncPeriod, c.EventInterval, c.StatusInterval = period,
						14*time.Second, time.Minute
				})
				w.pass(time.Minute)
				writes := 0
				w.set(func() { w.beforeStatus = func() error { writes++; return nil } })
				noise := rand.New(rand.NewPCG(1, 1))
				const minutes = 8
				for range minutes * 60 {
					w.set(func() { k.milli = tt.middle + int64(noise.NormFloat64()*0.08*float64(tt.middle)) })
					w.pass(time.Second)
				}
				if writes > minutes+1 || len(w.scaleWrites()) > 0 {
					t.Errorf("%d status writes in %d minutes, want one a minute at most; scale writes %q", writes,
						minutes, w.scaleWrites())
				}
				w.set(func() { k.milli = 190; w.beforeScale = func() error { return errors.New("refused") } })
				w.pass(time.Minute + 5*time.Second)
				want := "False FailedUpdateScale"
				if tt.most == 10 {
					want = "True TooManyReplicas"
					if got := w.condition("web", autoscalingv2.ScalingLimited); got != want {
						t.Errorf("after a minute above maxReplicas ScalingLimited is %s", got)
					}
				} else if got := w.condition("web", autoscalingv2.AbleToScale); got != want {
					t.Errorf("where scaling fails AbleToScale is %s", got)
				}
			})
		})
	}
}
