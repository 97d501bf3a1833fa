package scaling_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

// TestCountThatAlwaysMoves: another writer sets the target's replica count each time before Plimsoll does. Plimsoll
// requests all metrics again at once only once in a sync period, and writes less often; once the replica count stays,
// it decides normally.
func TestCountThatAlwaysMoves(t *testing.T) {
	for name, isTriggered := range map[string]bool{"by the clock alone": false, "by samples and events, too": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				var asked, puts atomic.Int32
				var isMoving atomic.Bool
				isMoving.Store(true)
				w.ExternalValue = func(context.Context) (int64, error) {
					asked.Add(1)
					return 400, nil
				}
				w.BeforeScale = func() error {
					if n := puts.Add(1); isMoving.Load() {
						w.SetReplicas("web", 2+n%2)
					}
					return nil
				}
				w.AddHPA(horizontaltest.Externally(w.Web("web", 2)))
				w.Start(func(c *controllerhorizontal.Config) { c.Triggers = isTriggered })
				w.Pass(time.Minute)
				t.Logf("in a minute: %d requests for metrics, %d scale writes", asked.Load(), puts.Load())
				// The first decisions on an object may be half a period apart.
				if got, most := asked.Load(), 2*(int32(time.Minute/horizontaltest.Period)+2); got > most {
					t.Errorf("%d requests for metrics in a minute, want %d at most", got, most)
				}
				if got, most := puts.Load(), int32(60); got > most {
					t.Errorf("%d scale writes in a minute, want %d at most", got, most)
				}
				isMoving.Store(false)
				w.Pass(horizontaltest.Period + time.Second)
				w.WantReplicas("web", 4, fmt.Sprint("no writer changes it any more, and ", name, " it is decided anew"))
			})
		})
	}
}
