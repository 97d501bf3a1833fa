package readings_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings"
)

// TestStartAsksFew: if many objects wait for the first samples of their nodes, few of them request metrics.k8s.io
// meanwhile, and all are decided as soon as the samples arrive.
func TestStartAsksFew(t *testing.T) {
	const objects = 200
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a", "b")
		w.Multitude(objects)
		w.Start(k.Direct, horizontaltest.Usual)
		w.Pass(8 * time.Second)
		if n := w.DecidedOn(objects); n != objects {
			t.Errorf("%d of %d objects are decided", n, objects)
		}
		if n := w.Decisions(); n < readings.EarlyBurst || n > readings.EarlyBurst+9*readings.EarlyPerSecond {
			t.Errorf("metrics.k8s.io was asked %d times", n)
		}
	})
}

// TestStartWithoutSamples: if no samples arrive, each object is decided within a sync period, and the requests to
// metrics.k8s.io are spread.
func TestStartWithoutSamples(t *testing.T) {
	const objects = 200
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a", "b")
		k.Frozen = time.Now()
		w.Multitude(objects)
		w.Start(k.Direct, horizontaltest.Usual)
		for second := 1; second <= 16; second++ {
			before := w.Decisions()
			w.Pass(time.Second)
			// Half a period has room for all of them; chance puts some more into one second.
			if n := w.Decisions() - before; n > 2*objects/7+readings.EarlyPerSecond {
				t.Errorf("metrics.k8s.io was asked %d times in second %d", n, second)
			}
		}
		if n := w.DecidedOn(objects); n != objects {
			t.Errorf("%d of %d objects are decided", n, objects)
		}
	})
}

// TestStartOfFewAsksAtOnce: few objects wait for nothing.
func TestStartOfFewAsksAtOnce(t *testing.T) {
	const objects = 20
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a", "b")
		k.Frozen = time.Now()
		w.Multitude(objects)
		w.Start(k.Direct, horizontaltest.Usual)
		if n := w.DecidedOn(objects); n != objects {
			t.Errorf("%d of %d objects are decided in the first second", n, objects)
		}
	})
}
