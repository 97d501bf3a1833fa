package horizontal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// rarely writes status for numbers alone once a minute, as by default.
func rarely(c *Config) { c.StatusInterval, c.EventInterval = time.Minute, 10*time.Minute }

// TestStatusIsBounded: what an adapter answers does not keep the API server from taking the status.
func TestStatusIsBounded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.workloads()
		object := workloadOf(externally(w.web("web", 2)))
		for range 20 {
			object.Spec.Metrics = append(object.Spec.Metrics, object.Spec.Metrics[0])
		}
		w.external = func(context.Context) (int64, error) { return 0, errors.New(strings.Repeat("\xffno\n", 20000)) }
		api.put(object)
		w.start(api.serve, rarely)
		w.pass(5 * period)
		status := api.get("web").Status
		if len(status.Conditions) == 0 || len(status.Proposals) != 21 {
			t.Fatalf("%d conditions, %d proposals", len(status.Conditions), len(status.Proposals))
		}
		for _, c := range status.Conditions {
			if len(c.Message) > 4<<10 {
				t.Errorf("the condition %s has %d bytes", c.Type, len(c.Message))
			}
		}
		if size := len(encoded(status)); size > 30<<10 {
			t.Errorf("the status has %d bytes", size)
		}
		before := api.get("web").ResourceVersion
		w.pass(10 * time.Minute)
		if api.get("web").ResourceVersion != before {
			t.Error("the same status was written again")
		}
	})
}
