package horizontal

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// TestCountThatAlwaysMoves: somebody sets the target's count each time that Plimsoll is
// about to. Metrics are asked for anew at once only once in a sync period, and writes become
// rarer; once the count rests, what is there is decided on.
func TestCountThatAlwaysMoves(t *testing.T) {
	for name, isTriggered := range map[string]bool{"by the clock alone": false, "by samples and events, too": true} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				asked, puts, isMoving := 0, 0, true
				w.external = func(context.Context) (int64, error) {
					w.set(func() { asked++ })
					return 400, nil
				}
				w.beforeScale = func() error {
					puts++
					if isMoving {
						w.setReplicas("web", int32(2+puts%2))
					}
					return nil
				}
				w.addHPA(externally(w.web("web", 2)))
				w.start(func(c *Config) { c.Triggers = isTriggered })
				w.pass(time.Minute)
				t.Logf("in a minute: %d requests for metrics, %d scale writes", asked, puts)
				// The first turns of an object may be half a period apart.
				if most := 2 * (int(time.Minute/period) + 2); asked > most {
					t.Errorf("%d requests for metrics in a minute, want %d at most", asked, most)
				}
				if most := 60; puts > most {
					t.Errorf("%d scale writes in a minute, want %d at most", puts, most)
				}
				isMoving = false
				w.pass(period + time.Second)
				w.wantReplicas("web", 4, fmt.Sprint("nobody moves it any more, and ", name, " it is decided anew"))
			})
		})
	}
}
