package horizontal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
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

// TestWarningsAreNotRepeated: what fails at each of many decisions is told once
// in a while.
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
			t.Errorf("told %d times in a minute of 60 decisions, want once in %s", n, period-time.Second)
		}
		if got := w.condition("web", autoscalingv2.ScalingActive); got != "False FailedGetExternalMetric" {
			t.Errorf("ScalingActive is %s", got)
		}
	})
}
