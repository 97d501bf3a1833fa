package horizontal

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/schedule"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// TestHungLoopIsNotAlive: when the workers never come back, the health check fails after five minutes, and not
// before.
func TestHungLoopIsNotAlive(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var c *Controller
		w.made = func(made *Controller) { c = made }
		var hangs atomic.Bool
		hung := make(chan struct{})
		for n := range 5 {
			name := fmt.Sprint("web-", n)
			w.addHPA(w.web(name, 2))
		}
		w.start(func(cfg *Config) {
			cfg.Workers = 1
			cfg.Conflict = func(observehorizontal.Autoscaler) string {
				if hangs.Load() {
					<-hung
				}
				return ""
			}
		})
		w.pass(10 * time.Minute)
		if err := c.Alive(); err != nil {
			t.Errorf("while all is well: %v", err)
		}
		hangs.Store(true)
		w.pass(stallTimeout - period)
		if err := c.Alive(); err != nil {
			t.Errorf("after less than %s: %v", stallTimeout, err)
		}
		w.pass(2 * period)
		if err := c.Alive(); err == nil {
			t.Error("the loop hangs, and counts as alive")
		}
		hangs.Store(false)
		close(hung)
		w.pass(time.Second)
		if err := c.Alive(); err != nil {
			t.Errorf("when it goes on: %v", err)
		}
	})
}

// TestSlowAPIServerIsNoHungLoop: where each call takes as long as it may, and fails, a restart
// would not help.
func TestSlowAPIServerIsNoHungLoop(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var c *Controller
		w.made = func(made *Controller) { c = made }
		slow := func() error {
			<-time.After(15 * time.Second)
			return errors.New("no answer")
		}
		w.beforeScale, w.beforeStatus = slow, slow
		w.external = func(ctx context.Context) (int64, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		for n := range 100 {
			w.addHPA(externally(w.web(fmt.Sprint("web-", n), 2)))
		}
		w.start(func(cfg *Config) {
			cfg.Workers = 1
			// With each turn as long, some objects are due for many minutes.
			cfg.Conflict = func(observehorizontal.Autoscaler) string {
				<-time.After(15 * time.Second)
				return ""
			}
		})
		for range 180 {
			w.pass(10 * time.Second)
			if err := c.Alive(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestWaitingIsAlive: one that waits to lead has nothing to do, and one that fills its caches cannot yet.
func TestWaitingIsAlive(t *testing.T) {
	c := &Controller{queue: schedule.New()}
	if err := c.Alive(); err != nil {
		t.Error(err)
	}
	c.queue.AddFull(observe.HPA("", "web"), time.Now().Add(-time.Hour))
	c.filling.Store(true)
	if err := c.Alive(); err != nil {
		t.Errorf("while the caches are filled: %v", err)
	}
	c.filling.Store(false)
	if err := c.Alive(); err == nil {
		t.Error("an object is due for an hour")
	}
}
