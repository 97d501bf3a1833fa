package horizontal_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// workloadReplay is a way of deciding on a WorkloadAutoscaler.
type workloadReplay struct {
	prepare func(w *world, object *plimsollv1alpha1.WorkloadAutoscaler)
	// external is the external metric's value, since the start; without it the object has the CPU's use alone.
	external func(since time.Duration) (milli int64, err error)
	is       []func(d *horizontal.Decision) bool
}

var workloadReplays = map[string]workloadReplay{
	"a schedule": {
		prepare: func(_ *world, o *plimsollv1alpha1.WorkloadAutoscaler) {
			o.Spec.Schedules = []plimsollv1alpha1.Schedule{horizontaltest.Always(5)}
		},
		is: []func(*horizontal.Decision) bool{
			func(d *horizontal.Decision) bool { return d.Desired == 5 && d.Rescale && d.Schedules.MinBy != nil },
			func(d *horizontal.Decision) bool {
				return d.Branch == horizontal.BranchMetrics && len(d.Schedules.InForce) > 0
			},
		},
	},
	"a ramp, and a zone": {
		prepare: func(_ *world, o *plimsollv1alpha1.WorkloadAutoscaler) {
			// Virtual time begins at midnight in UTC, which is 05:45 in Nepal.
			o.Spec.Schedules = []plimsollv1alpha1.Schedule{{Name: "later", Start: "0 6 * * *", TimeZone: "Asia/Kathmandu",
				DurationSeconds: ptr.To[int32](3600), MinReplicas: ptr.To[int32](20), RampSeconds: ptr.To[int32](1800)}}
		},
		is: []func(*horizontal.Decision) bool{func(d *horizontal.Decision) bool {
			return len(d.Schedules.InForce) == 1 && d.Schedules.InForce[0].IsRamp && d.Desired > 5
		}},
	},
	"a fallback begins and ends": {
		prepare: func(_ *world, o *plimsollv1alpha1.WorkloadAutoscaler) {
			o.Spec.Metrics[0].Fallback = &plimsollv1alpha1.Fallback{
				FailureDurationSeconds: ptr.To[int32](20), Replicas: ptr.To[int32](4), Policy: plimsollv1alpha1.FallbackStatic,
			}
		},
		external: func(since time.Duration) (int64, error) {
			if since < time.Minute {
				return 0, errors.New("down")
			}
			return 200, nil
		},
		is: []func(*horizontal.Decision) bool{
			func(d *horizontal.Decision) bool { return d.Rescale && d.Proposed.Source == proposal.Fallback },
			func(d *horizontal.Decision) bool { return len(d.Fallbacks.Ended) > 0 },
		},
	},
	"to zero and back": {
		prepare: func(_ *world, o *plimsollv1alpha1.WorkloadAutoscaler) {
			o.Spec.MinReplicas = ptr.To[int32](0)
			o.Spec.ScaleToZero = &plimsollv1alpha1.ScaleToZero{CooldownSeconds: ptr.To[int32](20)}
			o.Spec.Behavior = &plimsollv1alpha1.Behavior{ScaleDown: &plimsollv1alpha1.ScaleDownRules{
				StabilizationWindowSeconds: ptr.To[int32](0),
			}}
			plimsollv1alpha1.SetDefaults(&o.Spec)
		},
		external: func(since time.Duration) (int64, error) {
			if since < 90*time.Second {
				return 0, nil
			}
			return 200, nil
		},
		is: []func(*horizontal.Decision) bool{
			func(d *horizontal.Decision) bool { return d.Current == 1 && d.Desired == 0 && d.Zero.IsCooledDown },
			func(d *horizontal.Decision) bool { return d.Current == 0 && d.Desired == 2 && d.Zero.IsActive },
		},
	},
	"preview": {
		prepare:  func(_ *world, o *plimsollv1alpha1.WorkloadAutoscaler) { o.Spec.Mode = plimsollv1alpha1.ModePreview },
		external: func(time.Duration) (int64, error) { return 500, nil },
		is:       []func(*horizontal.Decision) bool{func(d *horizontal.Decision) bool { return d.Desired > 2 && !d.Rescale }},
	},
	"paused": {
		prepare: func(_ *world, o *plimsollv1alpha1.WorkloadAutoscaler) {
			o.Spec.Mode, o.Spec.Paused = plimsollv1alpha1.ModePaused, &plimsollv1alpha1.Paused{Replicas: 7}
		},
		external: func(time.Duration) (int64, error) { return 500, nil },
		is: []func(*horizontal.Decision) bool{
			func(d *horizontal.Decision) bool {
				return d.Branch == horizontal.BranchPaused && d.Rescale && d.Desired == 7
			},
			func(d *horizontal.Decision) bool { return d.Branch == horizontal.BranchPaused && d.Current == 7 },
		},
	},
	"refused": {
		prepare: func(w *world, o *plimsollv1alpha1.WorkloadAutoscaler) {
			w.AddHPA(&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: *o.ObjectMeta.DeepCopy(),
				Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 3,
					ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(o.Spec.ScaleTargetRef)}})
		},
		external: func(time.Duration) (int64, error) { return 500, nil },
		is: []func(*horizontal.Decision) bool{func(d *horizontal.Decision) bool {
			return statusreport.Of(d, horizontal.Outcome{At: d.At}).DesiredReplicas != nil && !d.Rescale && d.ActiveDesired > 2
		}},
	},
	"own pods": {
		prepare: func(w *world, o *plimsollv1alpha1.WorkloadAutoscaler) {
			o.Spec.SelectionStrategy = plimsollv1alpha1.SelectionStrategyOwnerReference
			w.adopt("web", "web-1", 2)
			for _, name := range []string{"job-0", "job-1"} {
				w.Add(horizontaltest.PodResource, horizontaltest.Pod(name, map[string]string{"app": "web"}))
			}
			w.Usage = 200
		},
		is: []func(*horizontal.Decision) bool{func(d *horizontal.Decision) bool {
			return d.Desired == 4 && d.Metrics[0].Counts.Counted == 2
		}},
	},
	"awaited": {
		prepare: func(w *world, o *plimsollv1alpha1.WorkloadAutoscaler) {
			o.Spec.Metrics = append(o.Spec.Metrics, plimsollv1alpha1.MetricSpec{
				Name: "cpu", Type: plimsollv1alpha1.ResourceMetricSourceType, Resource: &plimsollv1alpha1.ResourceMetricSource{
					Name: "cpu", Target: plimsollv1alpha1.MetricTarget{
						Type: plimsollv1alpha1.UtilizationMetricType, AverageUtilization: ptr.To[int32](50),
					},
				},
			})
			w.Usage = 200
		},
		// Longer than a decision waits for a response.
		external: func(time.Duration) (int64, error) {
			time.Sleep(time.Hour) //nolint:forbidigo // virtual time
			return 0, context.DeadlineExceeded
		},
		is: []func(*horizontal.Decision) bool{func(d *horizontal.Decision) bool {
			return d.Rescale && d.Desired == 4 && d.Pending == 1 && d.Failed == 0
		}},
	},
}

// TestEveryWayOfWorkloadsReplays: a snapshot has all inputs of a decision on a WorkloadAutoscaler.
func TestEveryWayOfWorkloadsReplays(t *testing.T) {
	for name, tt := range workloadReplays {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				api, hpa := w.Workloads(), w.Web("web", 2)
				if began := time.Now(); tt.external != nil {
					horizontaltest.Externally(hpa)
					w.ExternalValue = func(context.Context) (int64, error) { return tt.external(time.Since(began)) }
				}
				object := horizontaltest.WorkloadOf(hpa)
				if tt.prepare != nil {
					tt.prepare(w, object)
				}
				api.Put(object)
				r := w.ReplayOf(t, observe.WLA("shop", "web"), divergence.Default)
				w.Start(api.Serve)
				w.Pass(8 * horizontaltest.Period)
				for _, is := range tt.is {
					r.Want("of what this is about", is)
				}
			})
		})
	}
}

// TestPreviewNeverWrites: a WorkloadAutoscaler in mode Preview never writes a scale, and shows the count that it would
// have written.
func TestPreviewNeverWrites(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a")
		api := w.Workloads()
		object := horizontaltest.WorkloadOf(w.Web("web", 2))
		object.Spec.Mode, object.Spec.Paused = plimsollv1alpha1.ModePreview, &plimsollv1alpha1.Paused{Replicas: 9}
		object.Spec.Schedules = []plimsollv1alpha1.Schedule{horizontaltest.Always(3)}
		w.Onto("web", 2, "a")
		api.Put(object)
		w.Start(k.Direct, api.Serve)
		var shown []int32
		for _, happens := range []func(){
			func() {}, func() { w.Set(func() { k.Milli = 1000 }) }, func() { w.Set(func() { k.Milli = 1 }) },
			func() { w.SetReplicas("web", 30) }, func() { w.SetReplicas("web", 1) }, func() { w.DeletePod("web-0") },
			func() { w.ChangePod("web-1", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }) },
			func() {
				o := api.Get("web")
				o.Spec.MaxReplicas, o.Generation = 2, o.Generation+1
				api.Put(o)
			},
		} {
			happens()
			w.Pass(2 * horizontaltest.Period)
			shown = append(shown, api.Get("web").Status.DesiredReplicas)
		}
		if writes := w.ScaleWrites(); len(writes) > 0 {
			t.Errorf("wrote %v", writes)
		}
		if !slices.Contains(shown, 20) || !slices.Contains(shown, 3) {
			t.Errorf("showed %v, want 3 of the schedule and 20 of the max among them", shown)
		}
	})
}
