package horizontal_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// TestHungLoopIsNotAlive: if the workers never return, the health check fails after five minutes, and not before.
func TestHungLoopIsNotAlive(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var c *controllerhorizontal.Controller
		w.Made = func(made *controllerhorizontal.Controller) { c = made }
		var hangs atomic.Bool
		hung := make(chan struct{})
		for n := range 5 {
			name := fmt.Sprint("web-", n)
			w.AddHPA(w.Web(name, 2))
		}
		w.Start(func(cfg *controllerhorizontal.Config) {
			cfg.Workers = 1
			cfg.Conflict = func(observehorizontal.Autoscaler) string {
				if hangs.Load() {
					<-hung
				}
				return ""
			}
		})
		w.Pass(10 * time.Minute)
		if err := c.Alive(); err != nil {
			t.Errorf("while all is well: %v", err)
		}
		hangs.Store(true)
		w.Pass(controllerhorizontal.StallTimeout - horizontaltest.Period)
		if err := c.Alive(); err != nil {
			t.Errorf("after less than %s: %v", controllerhorizontal.StallTimeout, err)
		}
		w.Pass(2 * horizontaltest.Period)
		if err := c.Alive(); err == nil {
			t.Error("the loop hangs, and counts as alive")
		}
		hangs.Store(false)
		close(hung)
		w.Pass(time.Second)
		if err := c.Alive(); err != nil {
			t.Errorf("when it goes on: %v", err)
		}
	})
}

// TestSlowAPIServerIsNoHungLoop: if each call takes its whole timeout, and fails, a restart would not help.
func TestSlowAPIServerIsNoHungLoop(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var c *controllerhorizontal.Controller
		w.Made = func(made *controllerhorizontal.Controller) { c = made }
		slow := func() error {
			<-time.After(15 * time.Second)
			return errors.New("no answer")
		}
		w.BeforeScale, w.BeforeStatus = slow, slow
		w.ExternalValue = func(ctx context.Context) (int64, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		for n := range 100 {
			w.AddHPA(horizontaltest.Externally(w.Web(fmt.Sprint("web-", n), 2)))
		}
		w.Start(func(cfg *controllerhorizontal.Config) {
			cfg.Workers = 1
			// If each decision takes that long, some objects are due for many minutes.
			cfg.Conflict = func(observehorizontal.Autoscaler) string {
				<-time.After(15 * time.Second)
				return ""
			}
		})
		for range 180 {
			w.Pass(10 * time.Second)
			if err := c.Alive(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestWaitingIsAlive: a controller that waits to lead has nothing to do, and one that fills its caches cannot decide
// yet.
func TestWaitingIsAlive(t *testing.T) {
	c := controllerhorizontal.NewIdle()
	if err := c.Alive(); err != nil {
		t.Error(err)
	}
	c.Queue().AddFull(observe.HPA("", "web"), time.Now().Add(-time.Hour))
	c.SetFilling(true)
	if err := c.Alive(); err != nil {
		t.Errorf("while the caches are filled: %v", err)
	}
	c.SetFilling(false)
	if err := c.Alive(); err == nil {
		t.Error("an object is due for an hour")
	}
}
