package horizontal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
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

// TestStatusFollowsRamp: the limits and what comes next are current to a minute also while the replica count stays.
func TestStatusFollowsRamp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.workloads()
		object := workloadOf(externally(w.web("web", 10)))
		w.external = func(context.Context) (int64, error) { return 1000, nil }
		object.Spec.Schedules = []plimsollv1alpha1.Schedule{{
			Name: "later", Start: "0 2 * * *", DurationSeconds: 3600, MinReplicas: ptr.To[int32](9),
			RampSeconds: ptr.To[int32](7200),
		}}
		api.put(object)
		w.start(api.serve, rarely)
		for range 20 {
			w.pass(5 * time.Minute)
			status := api.get("web").Status
			if status.CurrentReplicas != 10 {
				t.Fatalf("%d replicas", status.CurrentReplicas)
			}
			if next := status.Next; next == nil || time.Since(next.Time.Time) > 90*time.Second {
				t.Fatalf("at %s the next is %v", time.Now(), next)
			}
			since := time.Since(time.Now().UTC().Truncate(24*time.Hour)) - 90*time.Second
			if want := int32(2 + since/(15*time.Minute)); *status.MinReplicas < want {
				t.Fatalf("at %s the fewest are %d, want %d", time.Now(), *status.MinReplicas, want)
			}
		}
	})
}
