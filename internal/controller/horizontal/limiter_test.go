package horizontal

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/client-go/util/flowcontrol"
)

// gate is a limiter that lets no call pass while it is shut.
type gate struct {
	flowcontrol.RateLimiter
	shut   chan struct{}
	passed atomic.Int32
	// waiting counts the calls that wait.
	waiting atomic.Int32
}

// Wait implements flowcontrol.RateLimiter.
func (g *gate) Wait(ctx context.Context) error {
	g.waiting.Add(1)
	defer g.waiting.Add(-1)
	select {
	case <-g.shut:
		g.passed.Add(1)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestLimitedWriteLooksAgain: what happens while a write waits for --kube-api-qps is seen before it
// begins, and no HPA waits twice for one write.
func TestLimitedWriteLooksAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		waits   time.Duration
		happens func(w *world)
		want    []string
	}{
		"for a moment":         {500 * time.Millisecond, func(*world) {}, []string{"web 4→8"}},
		"long":                 {5 * time.Second, func(*world) {}, []string{"web 4→8"}},
		"for too long":         {25 * time.Second, func(*world) {}, []string{"web 4→8"}},
		"until the load rests": {5 * time.Second, func(w *world) { w.set(func() { w.usage = 100 }) }, nil},
		"until it is less": {5 * time.Second, func(w *world) { w.set(func() { w.usage = 150 }) },
			[]string{"web 4→6"}},
		"until an edit": {500 * time.Millisecond, func(w *world) {
			w.edit("web", func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MaxReplicas = 5 })
		}, []string{"web 4→5"}},
		"until the object is deleted": {500 * time.Millisecond, func(w *world) { w.deleteHPA("web") }, nil},
		"until another writer scales": {500 * time.Millisecond, func(w *world) { w.setReplicas("web", 6) },
			[]string{"web 6→8"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				hpa := w.web("web", 4)
				// Without a window the last decision alone says what is wanted.
				hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
					ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32)},
				}
				w.addHPA(hpa)
				g := &gate{shut: make(chan struct{})}
				w.start(func(c *Config) { c.WriteLimiter = g })
				w.pass(period)
				w.set(func() { w.usage = 200 })
				for began := w.decisions(); w.decisions() == began; {
					w.pass(100 * time.Millisecond)
				}
				w.pass(tt.waits / 2)
				tt.happens(w)
				w.pass(tt.waits / 2)
				if got := w.scaleWrites(); len(got) != 0 {
					t.Errorf("scale writes %q while none may pass", got)
				}
				close(g.shut)
				w.pass(time.Second)
				if got := w.scaleWrites(); !slices.Equal(got, tt.want) {
					t.Errorf("scale writes %q, want %q", got, tt.want)
				}
				if got := g.passed.Load(); got > 1 {
					t.Errorf("it passed the limiter %d times for one write", got)
				}
			})
		})
	}
}
