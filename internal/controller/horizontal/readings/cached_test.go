package readings_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"
	"weak"

	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
)

// weakAnswers serves metrics.k8s.io, and keeps weak pointers to its responses.
type weakAnswers struct {
	*world
	answers []weak.Pointer[metricsv1beta1.PodMetricsList]
}

// Resource implements query.Source.
func (a *weakAnswers) Resource(
	ctx context.Context, namespace, selector string,
) (*metricsv1beta1.PodMetricsList, error) {
	list, err := a.world.Resource(ctx, namespace, selector)
	a.Set(func() { a.answers = append(a.answers, weak.Make(list)) })
	return list, err
}

// TestAnswersAreReleased: once kubelets are read, no object keeps the pods of a response of metrics.k8s.io in memory.
func TestAnswersAreReleased(t *testing.T) {
	const objects = 10
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a")
		k.Broken["a"] = true
		for i := range objects {
			name := fmt.Sprintf("web-%d", i)
			w.AddHPA(w.Web(name, 2))
			w.Onto(name, 2, "a")
		}
		a := &weakAnswers{world: w}
		w.Start(k.Direct, func(c *controllerhorizontal.Config) { c.Metrics = a })
		w.Pass(2 * time.Minute)
		w.Set(func() { k.Broken["a"] = false })
		w.Pass(3 * time.Minute)
		runtime.GC()
		if len(a.answers) == 0 {
			t.Fatal("metrics.k8s.io was not asked")
		}
		kept := 0
		for _, answer := range a.answers {
			if answer.Value() != nil {
				kept++
			}
		}
		// The buffers of the last decisions may still refer to some.
		if kept > objects/2 {
			t.Errorf("%d of %d answers are still in memory", kept, len(a.answers))
		}
	})
}
