package status_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

// TestStatusIsBounded: no response of an adapter makes the API server refuse the status.
func TestStatusIsBounded(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.Workloads()
		object := horizontaltest.WorkloadOf(horizontaltest.Externally(w.Web("web", 2)))
		for range 20 {
			object.Spec.Metrics = append(object.Spec.Metrics, object.Spec.Metrics[0])
		}
		w.ExternalValue = func(context.Context) (int64, error) { return 0, errors.New(strings.Repeat("\xffno\n", 20000)) }
		api.Put(object)
		w.Start(api.Serve, horizontaltest.Rarely)
		w.Pass(5 * horizontaltest.Period)
		status := api.Get("web").Status
		if len(status.Conditions) == 0 || len(status.Metrics) != 21 {
			t.Fatalf("%d conditions, %d metrics", len(status.Conditions), len(status.Metrics))
		}
		for _, c := range status.Conditions {
			if len(c.Message) > 4<<10 {
				t.Errorf("the condition %s has %d bytes", c.Type, len(c.Message))
			}
		}
		if size := len(horizontaltest.Encoded(status)); size > 30<<10 {
			t.Errorf("the status has %d bytes", size)
		}
		before := api.Get("web").ResourceVersion
		w.Pass(10 * time.Minute)
		if api.Get("web").ResourceVersion != before {
			t.Error("the same status was written again")
		}
	})
}

// TestStatusFollowsRamp: the limits and the next change are at most a minute old, also while the replica count stays.
func TestStatusFollowsRamp(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.Workloads()
		object := horizontaltest.WorkloadOf(horizontaltest.Externally(w.Web("web", 10)))
		w.ExternalValue = func(context.Context) (int64, error) { return 1000, nil }
		object.Spec.Schedules = []plimsollv1alpha1.Schedule{{
			Name: "later", Start: "0 2 * * *", DurationSeconds: ptr.To[int32](3600), MinReplicas: ptr.To[int32](9),
			RampSeconds: ptr.To[int32](7200),
		}}
		api.Put(object)
		w.Start(api.Serve, horizontaltest.Rarely)
		for range 20 {
			w.Pass(5 * time.Minute)
			status := api.Get("web").Status
			if status.CurrentReplicas != 10 {
				t.Fatalf("%d replicas", status.CurrentReplicas)
			}
			if next := status.Next; next == nil || time.Since(next.Time.Time) > 90*time.Second {
				t.Fatalf("at %s the next is %v", time.Now(), next)
			}
			since := time.Since(time.Now().UTC().Truncate(24*time.Hour)) - 90*time.Second
			if want := int32(2 + since/(15*time.Minute)); *status.EffectiveMinReplicas < want {
				t.Fatalf("at %s the fewest are %d, want %d", time.Now(), *status.EffectiveMinReplicas, want)
			}
		}
	})
}

// TestConditionsEndWithTheirCause: no condition stays True after its cause was removed from the spec.
func TestConditionsEndWithTheirCause(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.Workloads()
		object := horizontaltest.WorkloadOf(horizontaltest.Externally(w.Web("web", 2)))
		w.ExternalValue = func(context.Context) (int64, error) { return 0, errors.New("down") }
		object.Spec.Schedules = []plimsollv1alpha1.Schedule{horizontaltest.Always(3)}
		object.Spec.Metrics[0].Fallback = &plimsollv1alpha1.Fallback{
			FailureDurationSeconds: ptr.To[int32](20), Replicas: ptr.To[int32](4), Policy: plimsollv1alpha1.FallbackStatic,
		}
		object.Spec.Mode = plimsollv1alpha1.ModePreview
		api.Put(object)
		w.Start(api.Serve, horizontaltest.Rarely)
		w.Pass(3 * horizontaltest.Period)
		want := func(kind string, status metav1.ConditionStatus) {
			t.Helper()
			if got := horizontaltest.WorkloadCondition(api.Get("web"), kind); got.Status != status {
				t.Errorf("%s is %v, want %s", kind, got, status)
			}
		}
		want("ScheduleActive", metav1.ConditionTrue)
		want("FallbackActive", metav1.ConditionTrue)
		want("AbleToScale", metav1.ConditionTrue)
		want("Ready", metav1.ConditionFalse)
		edit := func(change func(*plimsollv1alpha1.WorkloadAutoscalerSpec)) {
			object := api.Get("web")
			change(&object.Spec)
			object.Generation++
			api.Put(object)
			w.Pass(3 * horizontaltest.Period)
		}
		edit(func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) { s.Schedules = nil })
		want("ScheduleActive", metav1.ConditionFalse)
		edit(func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) { s.Metrics[0].Fallback = nil })
		want("FallbackActive", metav1.ConditionFalse)
		edit(func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) { s.Mode = plimsollv1alpha1.ModeActive })
		want("AbleToScale", metav1.ConditionTrue)
		edit(func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) {
			s.Mode, s.Paused = plimsollv1alpha1.ModePaused, &plimsollv1alpha1.Paused{Replicas: 6}
		})
		w.WantReplicas("web", 6, "paused")
		want("AbleToScale", metav1.ConditionTrue)
		want("Ready", metav1.ConditionTrue)
		status := api.Get("web").Status
		if len(status.Metrics) == 0 || status.Metrics[0].Failure == nil || status.Summary.Reason != "paused at 6" || *status.ObservedGeneration != api.Get("web").Generation {
			t.Errorf("%+v", status)
		}
	})
}

// TestStatusFollowsLoad: while a metric changes, its value is never older than 15 s, also if no count changes. Changes
// that may be noise are written once a minute.
func TestStatusFollowsLoad(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.Workloads()
		object := horizontaltest.WorkloadOf(horizontaltest.Externally(w.Web("web", 2)))
		object.Spec.MaxReplicas = 2
		set := func(milli int64) {
			w.Set(func() { w.ExternalValue = func(context.Context) (int64, error) { return milli, nil } })
		}
		set(300)
		api.Put(object)
		w.Start(api.Serve, horizontaltest.Rarely)
		w.Pass(2 * time.Minute)
		for i := range int64(8) {
			set(300 + 40*i)
			w.Pass(horizontaltest.Period + time.Second)
			if shown := api.Get("web").Status.Metrics[0].AverageValue.MilliValue(); shown != (300+40*i)/2 {
				t.Errorf("after 15 s the status shows %dm of %dm", shown, (300+40*i)/2)
			}
		}
		set(300)
		w.Pass(2 * time.Minute)
		writes := 0
		version := api.Get("web").ResourceVersion
		for i := range int64(40) {
			set(300 + 15*(i%2))
			w.Pass(horizontaltest.Period)
			if now := api.Get("web").ResourceVersion; now != version {
				writes, version = writes+1, now
			}
		}
		if writes > 10 {
			t.Errorf("%d writes in ten minutes at rest", writes)
		}
	})
}

// TestStatusWithoutTarget: a new generation of an object is observed also while its target is missing.
func TestStatusWithoutTarget(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.Workloads()
		object := horizontaltest.WorkloadOf(horizontaltest.Externally(w.Web("web", 2)))
		object.Spec.ScaleTargetRef.Name = "absent"
		api.Put(object)
		w.Start(api.Serve, horizontaltest.Rarely)
		for range 2 {
			w.Pass(2 * horizontaltest.Period)
			object = api.Get("web")
			ready := horizontaltest.WorkloadCondition(object, "Ready")
			if ready.Status != metav1.ConditionFalse || ready.Reason != "FailedGetScale" ||
				*object.Status.ObservedGeneration != object.Generation {
				t.Errorf("generation %d: %v, Ready is %v", object.Generation, object.Status.ObservedGeneration, ready)
			}
			object.Spec.MaxReplicas++
			object.Generation++
			api.Put(object)
		}
	})
}

// TestZeroStaysOverARestart: a metric that cannot be read after a restart neither adds nor removes replicas.
func TestZeroStaysOverARestart(t *testing.T) {
	for _, replicas := range []int32{0, 1} {
		inWorld(t, func(t *testing.T, w *world) {
			api := w.Workloads()
			object := horizontaltest.WorkloadOf(horizontaltest.Externally(w.Web("web", replicas)))
			object.Spec.MinReplicas = ptr.To[int32](0)
			object.Spec.ScaleToZero = &plimsollv1alpha1.ScaleToZero{CooldownSeconds: ptr.To[int32](60)}
			w.ExternalValue = func(context.Context) (int64, error) { return 0, errors.New("down") }
			api.Put(object)
			w.Start(api.Serve, horizontaltest.Rarely)
			w.Pass(10 * time.Minute)
			w.WantReplicas("web", replicas, "nothing is known")
			w.Stop()
			w.Start(api.Serve, horizontaltest.Rarely)
			w.Pass(10 * time.Minute)
			w.WantReplicas("web", replicas, "nothing is known after a restart")
			w.Set(func() { w.ExternalValue = func(context.Context) (int64, error) { return 0, nil } })
			w.Pass(50 * time.Second)
			w.WantReplicas("web", replicas, "the cooldown lasts")
			w.Pass(5 * time.Minute)
			w.WantReplicas("web", 0, "idle")
		})
	}
}

// TestPausedAtZero: after a pause at zero replicas the replicas return.
func TestPausedAtZero(t *testing.T) {
	for _, least := range []int32{0, 1, 3} {
		for _, restarted := range []bool{false, true} {
			inWorld(t, func(t *testing.T, w *world) {
				api := w.Workloads()
				object := horizontaltest.WorkloadOf(horizontaltest.Externally(w.Web("web", 3)))
				object.Spec.MinReplicas = &least
				object.Spec.Mode, object.Spec.Paused = plimsollv1alpha1.ModePaused, &plimsollv1alpha1.Paused{Replicas: 0}
				w.ExternalValue = func(context.Context) (int64, error) { return 400, nil }
				api.Put(object)
				w.Start(api.Serve, horizontaltest.Rarely)
				w.Pass(3 * horizontaltest.Period)
				w.WantReplicas("web", 0, "paused at zero")
				if restarted {
					w.Stop()
					w.Start(api.Serve, horizontaltest.Rarely)
					w.Pass(3 * horizontaltest.Period)
				}
				object = api.Get("web")
				object.Spec.Mode = plimsollv1alpha1.ModeActive
				object.Generation++
				api.Put(object)
				w.Pass(3 * horizontaltest.Period)
				w.WantReplicas("web", 4, "active")
			})
		}
	}
}

// TestLimitedWriteChecksModeAgain: a mode that changes while a scale write waits applies to that write.
func TestLimitedWriteChecksModeAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*plimsollv1alpha1.WorkloadAutoscalerSpec)
		want   string
	}{
		"Preview": {func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) { s.Mode = plimsollv1alpha1.ModePreview }, ""},
		"Paused":  {func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) { s.Mode = plimsollv1alpha1.ModePaused }, ""},
		"Paused at 3": {func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) {
			s.Mode, s.Paused = plimsollv1alpha1.ModePaused, &plimsollv1alpha1.Paused{Replicas: 3}
		}, "web 2→3"},
		"a schedule": {func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) {
			s.Schedules = []plimsollv1alpha1.Schedule{horizontaltest.Always(7)}
		}, "web 2→7"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				api := w.Workloads()
				object := horizontaltest.WorkloadOf(horizontaltest.Externally(w.Web("web", 2)))
				w.ExternalValue = func(context.Context) (int64, error) { return 200, nil }
				api.Put(object)
				g := &horizontaltest.Gate{Shut: make(chan struct{})}
				w.Start(api.Serve, horizontaltest.Rarely, func(c *controllerhorizontal.Config) { c.WriteLimiter = g })
				w.Pass(horizontaltest.Period)
				w.Set(func() { w.ExternalValue = func(context.Context) (int64, error) { return 400, nil } })
				for range 200 {
					if g.Waiting.Load() > 0 {
						break
					}
					w.Pass(100 * time.Millisecond)
				}
				if g.Waiting.Load() == 0 {
					t.Fatal("no write waits")
				}
				object = api.Get("web")
				tt.change(&object.Spec)
				object.Generation++
				api.Put(object)
				w.Pass(200 * time.Millisecond)
				close(g.Shut)
				w.Pass(2 * horizontaltest.Period)
				if got := strings.Join(w.ScaleWrites(), " "); got != tt.want {
					t.Errorf("scale writes %q, want %q", got, tt.want)
				}
			})
		})
	}
}
