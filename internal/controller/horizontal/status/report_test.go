package status_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

func told(cfg *controllerhorizontal.Config) {
	cfg.StatusInterval, cfg.EventInterval = time.Minute, horizontaltest.Period-time.Second
}

// TestNumbersAreWrittenOnceAMinute: usage differs each time, and each write of it goes to every watcher in the cluster.
func TestNumbersAreWrittenOnceAMinute(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 2))
		writes := 0
		w.BeforeStatus = func() error { writes++; return nil }
		w.Start(told)
		w.Pass(time.Second)
		writes = 0
		for i := range 40 {
			w.Set(func() { w.Usage = 96 + int64(i%3)*4 })
			w.Pass(horizontaltest.Period)
		}
		if writes < 5 || writes > 10 {
			t.Errorf("%d writes of status in 10 minutes of moving numbers, want one a minute", writes)
		}
		writes = 0
		w.Set(func() { w.Usage = 200 })
		w.Pass(horizontaltest.Period)
		if got := w.HPA("web").Status; got.DesiredReplicas != 4 || writes == 0 {
			t.Errorf("%d writes, %d wanted in status: a change of the count does not wait", writes, got.DesiredReplicas)
		}
	})
}

// TestWarningsAreNotRepeated: a failure at each of many decisions is reported once in an interval.
func TestWarningsAreNotRepeated(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.ExternalValue = func(context.Context) (int64, error) { return 0, errors.New("no answer") }
		w.AddHPA(horizontaltest.Externally(w.Web("web", 2)))
		w.Start(told, func(cfg *controllerhorizontal.Config) { cfg.SyncPeriod = time.Second })
		w.Pass(time.Minute)
		n := 0
		for _, event := range w.Events {
			if strings.Contains(event, "FailedGetExternalMetric") {
				n++
			}
		}
		if n < 4 || n > 6 {
			t.Errorf("%d events in a minute of 60 decisions, want one in %s", n, horizontaltest.Period-time.Second)
		}
		if got := w.Condition("web", autoscalingv2.ScalingActive); got != "False FailedGetExternalMetric" {
			t.Errorf("ScalingActive is %s", got)
		}
	})
}

// TestNumbersAreWrittenAtAPace: objects that were created together do not write their numbers together a minute later,
// but spread over the next minute.
func TestNumbersAreWrittenAtAPace(t *testing.T) {
	const objects = 60
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a", "b")
		w.Multitude(objects)
		var writes atomic.Int64
		w.BeforeStatus = func() error { writes.Add(1); return nil }
		w.Start(k.Direct, horizontaltest.Usual, told)
		w.Pass(20 * time.Second)
		if n := w.DecidedOn(objects); n != objects {
			t.Fatalf("%d of %d statuses are written", n, objects)
		}
		w.Set(func() { k.Milli = 105 })
		writes.Store(0)
		most := int64(0)
		for range 70 {
			before := writes.Load()
			w.Pass(time.Second)
			most = max(most, writes.Load()-before)
		}
		if n := writes.Load(); most > 20 || n != objects {
			t.Errorf("%d writes, %d of them in a second, want %d, a few at a time", n, most, objects)
		}
	})
}

// TestRestartDoesNotRepeatNumbers: the interval of numbers that another instance wrote continues.
func TestRestartDoesNotRepeatNumbers(t *testing.T) {
	for ago, want := range map[time.Duration]int{10 * time.Second: 0, 2 * time.Minute: 1} {
		inWorld(t, func(t *testing.T, w *world) {
			w.AddHPA(w.Web("web", 2))
			w.Start(told)
			w.Pass(time.Second)
			w.Stop()
			w.WriteStatus("web", controllerhorizontal.FieldManager, func(*autoscalingv2.HorizontalPodAutoscalerStatus) {})
			w.Pass(ago)
			writes := 0
			w.Usage = 104
			w.BeforeStatus = func() error { writes++; return nil }
			w.Start(told)
			w.Pass(time.Second)
			if writes != want {
				t.Errorf("%d writes %s after the last", writes, ago)
			}
		})
	}
}

// TestNoiseAtTheEdgeIsNoReasonToWrite: at the edge of the tolerance, and of maxReplicas, the conditions change every
// few seconds. Only lasting changes are written.
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
				k := w.Kubelets("a")
				hpa := w.Web("web", 10)
				hpa.Spec.MaxReplicas = tt.most
				w.Onto("web", 10, "a")
				w.AddHPA(hpa)
				k.Milli = tt.middle
				w.Start(k.Direct, func(c *controllerhorizontal.Config) {
					c.SyncPeriod, c.EventInterval, c.StatusInterval = horizontaltest.Period,
						14*time.Second, time.Minute
				})
				w.Pass(time.Minute)
				writes := 0
				w.Set(func() { w.BeforeStatus = func() error { writes++; return nil } })
				noise := rand.New(rand.NewPCG(1, 1))
				const minutes = 8
				for range minutes * 60 {
					w.Set(func() { k.Milli = tt.middle + int64(noise.NormFloat64()*0.08*float64(tt.middle)) })
					w.Pass(time.Second)
				}
				if writes > minutes+1 || len(w.ScaleWrites()) > 0 {
					t.Errorf("%d status writes in %d minutes, want one a minute at most; scale writes %q", writes,
						minutes, w.ScaleWrites())
				}
				w.Set(func() { k.Milli = 190; w.BeforeScale = func() error { return errors.New("refused") } })
				w.Pass(time.Minute + 5*time.Second)
				want := "False FailedUpdateScale"
				if tt.most == 10 {
					want = "True TooManyReplicas"
					if got := w.Condition("web", autoscalingv2.ScalingLimited); got != want {
						t.Errorf("after a minute above maxReplicas ScalingLimited is %s", got)
					}
				} else if got := w.Condition("web", autoscalingv2.AbleToScale); got != want {
					t.Errorf("where scaling fails AbleToScale is %s", got)
				}
			})
		})
	}
}
