package horizontal_test

import (
	"slices"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/status"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// TestWaitingWriteChecksAgain: after waiting for half a second a write checks for changes before it begins.
func TestWaitingWriteChecksAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		happens func(w *world)
		want    []string
	}{
		"nothing": {func(*world) {}, []string{"web 4→8"}},
		"an edit": {func(w *world) {
			w.Edit("web", func(h *autoscalingv2.HorizontalPodAutoscaler) { h.Spec.MaxReplicas = 5 })
		}, []string{"web 4→5"}},
		"the object is deleted":            {func(w *world) { w.DeleteHPA("web") }, nil},
		"another writer scales":            {func(w *world) { w.SetReplicas("web", 6) }, []string{"web 6→8"}},
		"another controller writes status": {func(w *world) { w.WriteStatus("web", horizontaltest.Upstream, horizontaltest.Touch) }, nil},
		"the end": {func(w *world) {
			go w.Stop()
			w.Stop = nil
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.AddHPA(w.Web("web", 4))
				kind := schema.GroupKind{Group: "apps", Kind: "Deployment"}
				var c *controllerhorizontal.Controller
				w.Made = func(made *controllerhorizontal.Controller) { c = made }
				w.Start()
				w.Pass(horizontaltest.Period)
				taken := 0
				for c.Scaler().Writes.TryAcquire(kind) {
					taken++
				}
				w.Set(func() { w.Usage = 200 })
				for began := w.Decisions(); w.Decisions() == began; {
					w.Pass(100 * time.Millisecond)
				}
				w.Pass(500 * time.Millisecond)
				tt.happens(w)
				w.Pass(10 * time.Millisecond)
				for range taken {
					c.Scaler().Writes.Release(kind)
				}
				w.Pass(time.Second)
				if got := w.ScaleWrites(); !slices.Equal(got, tt.want) {
					t.Errorf("scale writes %q, want %q", got, tt.want)
				}
			})
		})
	}
}

// TestNoStatusIsWrittenAfterTheEnd: also not one that waits for a slot.
func TestNoStatusIsWrittenAfterTheEnd(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 4))
		var c *controllerhorizontal.Controller
		w.Made = func(made *controllerhorizontal.Controller) { c = made }
		w.Start()
		w.Pass(horizontaltest.Period)
		for c.Status().Writes.TryAcquire(status.KindOf(observehorizontal.Autoscaler{})) {
		}
		statuses := 0
		w.Set(func() { w.Usage, w.BeforeStatus = 95, func() error { statuses++; return nil } })
		for began := w.Decisions(); w.Decisions() == began; {
			w.Pass(100 * time.Millisecond)
		}
		go w.Stop()
		w.Stop = nil
		w.Pass(10 * time.Millisecond)
		c.Status().Writes.Release(status.KindOf(observehorizontal.Autoscaler{}))
		w.Pass(time.Second)
		if statuses != 0 {
			t.Errorf("%d statuses after the end", statuses)
		}
	})
}
