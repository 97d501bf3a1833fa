package horizontal_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/replay"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// pastOf has the past two days of every object some time after Ask.
type pastOf struct {
	t     *testing.T
	after time.Duration

	mu       sync.Mutex
	asked    int
	at       time.Time
	settings forecast.Settings
	// isTaken, isForgotten and hasBegun record the calls.
	isTaken, isForgotten, hasBegun bool
}

// Ask implements Past.
func (p *pastOf) Ask(_ observehorizontal.Autoscaler, policy *horizontal.Policy, _ []*observe.Pod, _ time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	p.at, p.settings = time.Now(), policy.Forecast
	return true
}

// Take implements Past.
func (p *pastOf) Take(observe.Key, types.UID) (data checkpoints.Data, isOver bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.at) < p.after {
		return data, false
	}
	p.isTaken = true
	const minutes = 2 * 24 * 60
	load := replay.Load{Start: time.Now().Truncate(time.Minute).Add(-minutes * time.Minute)}
	var past loadhistory.History
	for i := range minutes {
		load.Pods = append(load.Pods, 3)
		past.AddMinute(load.Start.Add(time.Duration(i)*time.Minute), loadhistory.Point{Load: 3, Limit: loadhistory.NotRecorded})
	}
	var err error
	state := replay.Play(&load, &replay.Config{Settings: p.settings, MaxReplicas: 10}).State
	if data.Forecast, err = state.AppendBinary(nil); err != nil {
		p.t.Error(err)
	}
	if data.History, err = past.AppendBinary(nil); err != nil {
		p.t.Error(err)
	}
	return data, true
}

// Forget implements Past.
func (p *pastOf) Forget(observe.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.isForgotten = true
}

// Start implements Past.
func (p *pastOf) Start(context.Context) (wait func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hasBegun = true
	return func() {}
}

// TestPastIsFilledIn: if no checkpoint has it: once, while decisions continue. An object with a history does not need
// it.
func TestPastIsFilledIn(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		saved := &savedCheckpoints{objects: map[types.NamespacedName]plimsollv1alpha1.AutoscalerCheckpoint{}}
		past := &pastOf{t: t, after: 10 * time.Minute}
		learn := func(c *controllerhorizontal.Config) {
			c.Checkpoints, c.MayWriteAtEnd, c.Options.Forecast = saved, func() bool { return true }, forecast.Preview
			c.Past = past
		}
		var controller *controllerhorizontal.Controller
		w.Made = func(c *controllerhorizontal.Controller) { controller = c }
		w.Start(learn)
		w.AddHPA(w.Web("web", 3))
		w.Set(func() { w.Usage = 400 })
		w.Pass(5 * time.Minute)
		past.mu.Lock()
		if past.asked != 1 || past.isTaken || !past.hasBegun || past.settings.Identity == 0 {
			t.Errorf("asked %d times, taken %v, begun %v", past.asked, past.isTaken, past.hasBegun)
		}
		past.mu.Unlock()
		if got := w.Replicas("web"); got <= 3 {
			t.Errorf("%d replicas: decisions wait", got)
		}
		w.Pass(2 * time.Hour)
		w.Stop()
		learnt, since := controller.Learnt("web"), controller.RecordedSince(t, "web")
		settings := past.settings
		if learnt.IsLearning(&settings) || time.Since(since) < 48*time.Hour || past.asked != 1 {
			t.Errorf("recorded since %s, asked %d times", since, past.asked)
		}
		// The checkpoint has it now.
		w.Start(learn)
		w.Pass(10 * time.Minute)
		w.DeleteHPA("web")
		w.Pass(time.Minute)
		past.mu.Lock()
		defer past.mu.Unlock()
		if past.asked != 1 || !past.isForgotten {
			t.Errorf("asked %d times, forgotten %v", past.asked, past.isForgotten)
		}
	})
}
