package horizontal

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
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// sameSchedule compares schedules without their cron expressions, which are functions.
func sameSchedule(a, b *schedules.Schedule) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name == b.Name && a.Duration == b.Duration && a.Ramp == b.Ramp &&
		a.MinReplicas == b.MinReplicas && a.MaxReplicas == b.MaxReplicas
}

func sameZone(a, b *time.Location) bool { return a.String() == b.String() }

// always is a schedule that is always in force.
func always(least int32) plimsollv1alpha1.Schedule {
	return plimsollv1alpha1.Schedule{
		Name: "always", Start: "* * * * *", TimeZone: "Etc/UTC", DurationSeconds: ptr.To[int64](120), MinReplicas: &least,
	}
}

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
			o.Spec.Schedules = []plimsollv1alpha1.Schedule{always(5)}
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
				DurationSeconds: ptr.To[int64](3600), MinReplicas: ptr.To[int32](20), RampSeconds: ptr.To[int32](1800)}}
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
			w.addHPA(&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: *o.ObjectMeta.DeepCopy(),
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
				w.add(podResource, pod(name, map[string]string{"app": "web"}))
			}
			w.usage = 200
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
			w.usage = 200
		},
		// Longer than a decision waits.
		external: func(time.Duration) (int64, error) {
			time.Sleep(time.Hour) //nolint:forbidigo // virtual time
			return 0, context.DeadlineExceeded
		},
		is: []func(*horizontal.Decision) bool{func(d *horizontal.Decision) bool {
			return d.Rescale && d.Desired == 4 && d.Pending == 1 && d.Failed == 0
		}},
	},
}

// TestEveryWayOfWorkloadsReplays: whatever a decision on a WorkloadAutoscaler is made of is saved with it.
func TestEveryWayOfWorkloadsReplays(t *testing.T) {
	for name, tt := range workloadReplays {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				api, hpa := w.workloads(), w.web("web", 2)
				if began := time.Now(); tt.external != nil {
					externally(hpa)
					w.external = func(context.Context) (int64, error) { return tt.external(time.Since(began)) }
				}
				object := workloadOf(hpa)
				if tt.prepare != nil {
					tt.prepare(w, object)
				}
				api.put(object)
				r := w.replayOf(t, observe.WLA("shop", "web"), divergence.Default)
				w.start(api.serve)
				w.pass(8 * period)
				for _, is := range tt.is {
					r.want("of what this is about", is)
				}
			})
		})
	}
}

// TestPreviewNeverWrites: whatever happens, a WorkloadAutoscaler in mode Preview writes no scale, and shows what it
// would have written.
func TestPreviewNeverWrites(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a")
		api := w.workloads()
		object := workloadOf(w.web("web", 2))
		object.Spec.Mode, object.Spec.Paused = plimsollv1alpha1.ModePreview, &plimsollv1alpha1.Paused{Replicas: 9}
		object.Spec.Schedules = []plimsollv1alpha1.Schedule{always(3)}
		w.onto("web", 2, "a")
		api.put(object)
		w.start(k.direct, api.serve)
		var shown []int32
		for _, happens := range []func(){
			func() {}, func() { w.set(func() { k.milli = 1000 }) }, func() { w.set(func() { k.milli = 1 }) },
			func() { w.setReplicas("web", 30) }, func() { w.setReplicas("web", 1) }, func() { w.deletePod("web-0") },
			func() { w.changePod("web-1", func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }) },
			func() {
				o := api.get("web")
				o.Spec.MaxReplicas, o.Generation = 2, o.Generation+1
				api.put(o)
			},
		} {
			happens()
			w.pass(2 * period)
			shown = append(shown, api.get("web").Status.DesiredReplicas)
		}
		if writes := w.scaleWrites(); len(writes) > 0 {
			t.Errorf("wrote %v", writes)
		}
		if !slices.Contains(shown, 20) || !slices.Contains(shown, 3) {
			t.Errorf("showed %v, want 3 of the schedule and 20 of the max among them", shown)
		}
	})
}
