package horizontal

import (
	"fmt"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings"
)

// multitude adds so many objects with a pod on each of two nodes, whose kubelets have
// not been read yet.
func (w *world) multitude(objects int) {
	w.t.Helper()
	for i := range objects {
		name := fmt.Sprint("web", i)
		hpa := w.web(name, 2)
		hpa.UID = uuid.NewUUID() // the phases come of them
		w.addHPA(hpa)
		w.onto(name, 2, "a", "b")
	}
}

// decidedOn counts the objects that were decided on metrics.
func (w *world) decidedOn(objects int) (n int) {
	w.t.Helper()
	for i := range objects {
		if w.condition(fmt.Sprint("web", i), autoscalingv2.ScalingActive) == "True ValidMetricFound" {
			n++
		}
	}
	return n
}

// usual is the sync period that the programs have.
func usual(c *Config) { c.SyncPeriod = 15 * time.Second }

// TestStartAsksFew: where many objects wait for the first samples of their nodes, few
// of them ask metrics.k8s.io meanwhile, and all are decided as soon as these are there.
func TestStartAsksFew(t *testing.T) {
	const objects = 200
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a", "b")
		w.multitude(objects)
		w.start(k.direct, usual)
		w.pass(8 * time.Second)
		if n := w.decidedOn(objects); n != objects {
			t.Errorf("%d of %d objects are decided", n, objects)
		}
		if n := w.decisions(); n < readings.EarlyBurst || n > readings.EarlyBurst+9*readings.EarlyPerSecond {
			t.Errorf("metrics.k8s.io was asked %d times", n)
		}
	})
}

// TestStartWithoutSamples: where the samples do not come, each object is decided within
// a sync period, and the questions to metrics.k8s.io are spread.
func TestStartWithoutSamples(t *testing.T) {
	const objects = 200
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a", "b")
		k.frozen = time.Now()
		w.multitude(objects)
		w.start(k.direct, usual)
		for second := 1; second <= 16; second++ {
			before := w.decisions()
			w.pass(time.Second)
			// Half a period has room for all of them; chance puts some more into one second.
			if n := w.decisions() - before; n > 2*objects/7+readings.EarlyPerSecond {
				t.Errorf("metrics.k8s.io was asked %d times in second %d", n, second)
			}
		}
		if n := w.decidedOn(objects); n != objects {
			t.Errorf("%d of %d objects are decided", n, objects)
		}
	})
}

// TestStartOfFewAsksAtOnce: few objects wait for nothing.
func TestStartOfFewAsksAtOnce(t *testing.T) {
	const objects = 20
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a", "b")
		k.frozen = time.Now()
		w.multitude(objects)
		w.start(k.direct, usual)
		if n := w.decidedOn(objects); n != objects {
			t.Errorf("%d of %d objects are decided in the first second", n, objects)
		}
	})
}
