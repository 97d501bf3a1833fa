package scaling_test

import (
	"slices"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

// TestLimitedWriteChecksAgain: after waiting for --kube-api-qps a write checks for changes before it begins, and no HPA
// waits twice for one write.
func TestLimitedWriteChecksAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		waits   time.Duration
		happens func(w *world)
		want    []string
	}{
		"for a moment":         {500 * time.Millisecond, func(*world) {}, []string{"web 4→8"}},
		"long":                 {5 * time.Second, func(*world) {}, []string{"web 4→8"}},
		"for too long":         {25 * time.Second, func(*world) {}, []string{"web 4→8"}},
		"until the load rests": {5 * time.Second, func(w *world) { w.Set(func() { w.Usage = 100 }) }, nil},
		"until it is less": {5 * time.Second, func(w *world) { w.Set(func() { w.Usage = 150 }) },
			[]string{"web 4→6"}},
		"until an edit": {500 * time.Millisecond, func(w *world) {
			w.Edit("web", func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MaxReplicas = 5 })
		}, []string{"web 4→5"}},
		"until the object is deleted": {500 * time.Millisecond, func(w *world) { w.DeleteHPA("web") }, nil},
		"until another writer scales": {500 * time.Millisecond, func(w *world) { w.SetReplicas("web", 6) },
			[]string{"web 6→8"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				hpa := w.Web("web", 4)
				// Without a window only the last decision counts.
				hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
					ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32)},
				}
				w.AddHPA(hpa)
				g := &horizontaltest.Gate{Shut: make(chan struct{})}
				w.Start(func(c *controllerhorizontal.Config) { c.WriteLimiter = g })
				w.Pass(horizontaltest.Period)
				w.Set(func() { w.Usage = 200 })
				for began := w.Decisions(); w.Decisions() == began; {
					w.Pass(100 * time.Millisecond)
				}
				w.Pass(tt.waits / 2)
				tt.happens(w)
				w.Pass(tt.waits / 2)
				if got := w.ScaleWrites(); len(got) != 0 {
					t.Errorf("scale writes %q while none may pass", got)
				}
				close(g.Shut)
				w.Pass(time.Second)
				if got := w.ScaleWrites(); !slices.Equal(got, tt.want) {
					t.Errorf("scale writes %q, want %q", got, tt.want)
				}
				if got := g.Passed.Load(); got > 1 {
					t.Errorf("it passed the limiter %d times for one write", got)
				}
			})
		})
	}
}
