package own_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

const (
	ofPods   = plimsollv1alpha1.PodEndpointMetricSourceType
	ofQuery  = plimsollv1alpha1.PrometheusMetricSourceType
	ofScaler = plimsollv1alpha1.ExternalScalerMetricSourceType
)

// inspected are the decisions on an object. Each is called under the world's lock.
func (w *world) inspected(key observe.Key, each func(*horizontal.Decision)) {
	w.Made = func(c *controllerhorizontal.Controller) {
		c.Inspect(key, func(_ *snapshothorizontal.Step, d *horizontal.Decision) { w.Set(func() { each(d) }) })
	}
}

// counted returns and resets a counter that the world's lock guards.
func (w *world) counted(n *int) (counted int) {
	w.Set(func() { counted, *n = *n, 0 })
	return counted
}

// TestSourcesAreSwitchedOff: a metric whose source is off fails with that reason, and neither raises nor lowers the
// replica count.
func TestSourcesAreSwitchedOff(t *testing.T) {
	for _, kind := range []plimsollv1alpha1.MetricSourceType{ofPods, ofQuery, ofScaler} {
		t.Run(string(kind), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				api := w.Workloads()
				api.Put(horizontaltest.Ownly(w.Web("web", 2), kind))
				w.Start(api.Serve, horizontaltest.Rarely)
				w.Pass(30 * horizontaltest.Period)
				w.WantReplicas("web", 2, "nothing is known of the load")
				got := horizontaltest.WorkloadCondition(api.Get("web"), "ScalingActive")
				if got.Status != metav1.ConditionFalse || got.Reason != "FailedGet"+string(kind)+"Metric" ||
					!strings.Contains(got.Message, "this controller does not read metrics of type "+string(kind)) {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

// TestOwnMetricsScale: the values of each source scale the target up and down.
func TestOwnMetricsScale(t *testing.T) {
	for _, kind := range []plimsollv1alpha1.MetricSourceType{ofPods, ofQuery, ofScaler} {
		t.Run(string(kind), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				api, o := w.Workloads(), w.OwnMetrics()
				object := horizontaltest.Ownly(w.Web("web", 4), kind)
				api.Put(object)
				o.Milli, o.Answer = 20_000, sources.Answer{Series: []float64{80}, TargetMilli: 10_000, Activity: metric.Active}
				w.Start(api.Serve, horizontaltest.Rarely, o.Read)
				w.Pass(2 * horizontaltest.Period)
				w.WantReplicas("web", 8, "four pods have twice the target each")
				o.Change(func() { o.Milli, o.Answer.Series = 5_000, []float64{20} })
				w.Pass(10 * time.Minute)
				if got := w.Replicas("web"); got >= 8 {
					t.Errorf("%d replicas, want fewer: half of the target, or a quarter", got)
				}
				if got := w.Metric("horizontal_pod_autoscaler_controller_metric_computation_total", "none", "none",
					string(kind)); got == 0 {
					t.Error("no metric was counted")
				}
				status := api.Get("web").Status
				if len(status.Metrics) != 1 || status.Metrics[0].Type != kind || status.Metrics[0].Replicas == nil {
					t.Errorf("status %+v", status.Metrics)
				}
			})
		})
	}
}

// TestPagesLeadToDecisions: a round of pages leads to one decision, and a sudden load to replicas within two rounds.
func TestPagesLeadToDecisions(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		object := horizontaltest.Ownly(w.Web("web", 4), ofPods)
		api.Put(object)
		o.Milli = 10_000
		decided := 0
		w.inspected(observe.WLA("shop", "web"), func(d *horizontal.Decision) {
			if d.Trigger == trigger.Samples {
				decided++
			}
		})
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(30 * time.Second)
		w.counted(&decided)
		w.Pass(60 * time.Second)
		if got := w.counted(&decided); got < 56 || got > 60 {
			t.Errorf("%d decisions in 60 rounds of pages", got)
		}
		o.Change(func() { o.Milli = 100_000 })
		w.Pass(2100 * time.Millisecond)
		if got := w.Replicas("web"); got < 8 {
			t.Errorf("%d replicas two rounds after the load is tenfold, want at least 8", got)
		}
		var urgent []string
		o.Change(func() { urgent = slices.Clone(o.UrgentPods) })
		if !slices.Contains(urgent, "web-0") {
			t.Errorf("urgent are %v: the first of two samples should have had the second taken early", urgent)
		}
	})
}

// TestSampledPodsStandForAll: if only a part of the pods is scraped, the decision counts all of them, and its trace
// shows that.
func TestSampledPodsStandForAll(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		hpa := w.Web("web", 20)
		hpa.Spec.MaxReplicas = 100
		object := horizontaltest.Ownly(hpa, ofPods)
		api.Put(object)
		o.Milli, o.Sample = 20_000, 5
		var counts metric.Counts
		w.inspected(observe.WLA("shop", "web"), func(d *horizontal.Decision) {
			if d.Metrics[0].Failure == nil && !d.Metrics[0].Pending && counts.Counted == 0 {
				counts = d.Metrics[0].Counts
			}
		})
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(2 * horizontaltest.Period)
		w.Mu.Lock()
		defer w.Mu.Unlock()
		if counts.Counted != 5 || counts.Unsampled != 15 {
			t.Errorf("%+v, want 5 of 20 pods sampled", counts)
		}
		w.WantReplicas("web", 40, "the sampled pods have twice the target")
	})
}

// TestSilentPodsAreMissing: pods that do not respond count as missing, and the metric fails if none responds.
func TestSilentPodsAreMissing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		api.Put(horizontaltest.Ownly(w.Web("web", 4), ofPods))
		o.Milli, o.Broken = 15_000, map[string]bool{"web-0": true, "web-1": true}
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(2 * horizontaltest.Period)
		w.WantReplicas("web", 4, "two pods of which nothing is known may have no load")
		o.Change(func() { o.Milli, o.Broken["web-2"], o.Broken["web-3"] = 0, true, true })
		w.Pass(10 * time.Minute)
		w.WantReplicas("web", 4, "nothing is known of the load")
		if got := horizontaltest.WorkloadCondition(api.Get("web"), "ScalingActive"); got.Status != metav1.ConditionFalse {
			t.Errorf("%+v", got)
		}
	})
}

// TestFailingServerKeepsReplicas: as long as a server is down nothing is lowered, and the fallback holds in time.
func TestFailingServerKeepsReplicas(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		object := horizontaltest.Ownly(w.Web("web", 4), ofQuery)
		object.Spec.Metrics[0].Fallback = &plimsollv1alpha1.Fallback{
			Policy: plimsollv1alpha1.FallbackStatic, Replicas: ptr.To[int32](6), FailureDurationSeconds: ptr.To[int32](60),
		}
		api.Put(object)
		o.Answer = sources.Answer{Err: horizontaltest.ErrServer}
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(50 * time.Second)
		w.WantReplicas("web", 4, "the fallback is not due")
		w.Pass(12 * time.Second)
		w.WantReplicas("web", 6, "the fallback is due after a minute")
		got := horizontaltest.WorkloadCondition(api.Get("web"), "FallbackActive")
		if got.Status != metav1.ConditionTrue || !strings.Contains(got.Message, `metric "own"`) {
			t.Errorf("%+v", got)
		}
	})
}

// TestPendingLowersNothing: one metric has no values yet, and another proposes fewer replicas.
func TestPendingLowersNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		object := horizontaltest.Ownly(w.Web("web", 4), ofQuery)
		object.Spec.Behavior = &plimsollv1alpha1.Behavior{
			ScaleDown: &plimsollv1alpha1.ScaleDownRules{StabilizationWindowSeconds: ptr.To[int32](0)},
		}
		api.Put(object)
		o.Answer = sources.Answer{IsPending: true}
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(time.Second)
		w.WantReplicas("web", 4, "the first answer is awaited")
		o.Change(func() { o.Answer = sources.Answer{Series: []float64{10}} })
		o.Answered(observe.WLA("shop", "web"))
		w.Pass(time.Second)
		w.WantReplicas("web", 1, "the answer leads to a decision at once")
	})
}

// zeroWorld has an object at zero that a scaler may scale up.
func zeroWorld(w *world) (*horizontaltest.WorkloadAPI, *horizontaltest.OwnMetrics) {
	api, o := w.Workloads(), w.OwnMetrics()
	object := horizontaltest.Ownly(w.Web("web", 0), ofScaler)
	object.Spec.MinReplicas = ptr.To[int32](0)
	api.Put(object)
	o.Answer = sources.Answer{Series: []float64{0}, TargetMilli: 10_000, Activity: metric.Inactive}
	return api, o
}

// TestPushScalesFromZeroAtOnce: a scaler's report adds the first replica within 300 ms, and its response the others.
func TestPushScalesFromZeroAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := zeroWorld(w)
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(3*horizontaltest.Period + 700*time.Millisecond)
		w.WantReplicas("web", 0, "no work")
		o.Push(observe.WLA("shop", "web"))
		w.Pass(300 * time.Millisecond)
		w.WantReplicas("web", 1, "work was reported")
	})
}

// TestPushOfFailingScaler: a scaler's report of work counts although its values cannot be read.
func TestPushOfFailingScaler(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := zeroWorld(w)
		o.Answer = sources.Answer{Err: horizontaltest.ErrServer}
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(3 * horizontaltest.Period)
		w.WantReplicas("web", 0, "nothing is known of any work")
		o.Push(observe.WLA("shop", "web"))
		w.Pass(300 * time.Millisecond)
		w.WantReplicas("web", 1, "work was reported")
	})
}

// TestFloodOfPushes: a scaler that reports all the time triggers at most five decisions a second on its object, and
// delays no other object.
func TestFloodOfPushes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := zeroWorld(w)
		decisions := 0
		w.inspected(observe.WLA("shop", "web"), func(*horizontal.Decision) { decisions++ })
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(2 * horizontaltest.Period)
		o.Push(observe.WLA("shop", "web"))
		w.Pass(time.Second)
		w.counted(&decisions)
		for range 10_000 {
			o.Push(observe.WLA("shop", "web"))
			w.Pass(time.Millisecond)
		}
		if got := w.counted(&decisions); got < 45 || got > 55 {
			t.Errorf("%d decisions in 10 s", got)
		}
		if got := w.Metric("plimsoll_external_scaler_reports_total"); got != 10_001 {
			t.Errorf("%g reports were counted", got)
		}
	})
}

// TestAnswersOfManyMetrics: a hundred responses a second trigger no more than five decisions a second.
func TestAnswersOfManyMetrics(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		object := horizontaltest.Ownly(w.Web("web", 2), ofQuery)
		for range 99 {
			object.Spec.Metrics = append(object.Spec.Metrics, object.Spec.Metrics[0])
		}
		api.Put(object)
		o.Answer = sources.Answer{Series: []float64{20}}
		decisions := 0
		w.inspected(observe.WLA("shop", "web"), func(*horizontal.Decision) { decisions++ })
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(2 * horizontaltest.Period)
		w.counted(&decisions)
		for range 1000 {
			o.Answered(observe.WLA("shop", "web"))
			w.Pass(10 * time.Millisecond)
		}
		if got := w.counted(&decisions); got < 40 || got > 55 {
			t.Errorf("%d decisions in 10 s", got)
		}
	})
}

// TestOwnMetricsBesideOthers: a slow metrics API does not delay decisions on a metric that Plimsoll reads itself.
func TestOwnMetricsBesideOthers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		hpa := horizontaltest.Externally(w.Web("web", 2))
		object := horizontaltest.Ownly(hpa, ofQuery)
		object.Spec.Metrics = append(object.Spec.Metrics, horizontaltest.WorkloadOf(hpa).Spec.Metrics...)
		api.Put(object)
		w.ExternalValue = func(ctx context.Context) (int64, error) {
			select {
			case <-time.After(10 * time.Second):
			case <-ctx.Done():
			}
			return 100, ctx.Err()
		}
		o.Answer = sources.Answer{Series: []float64{40}}
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(500 * time.Millisecond)
		w.WantReplicas("web", 4, "what the server answered does not wait for the metrics API")
	})
}

// TestOwnMetricsAreReadAgainAfterWaiting: a decision that waits for a metrics API uses the values that the other
// sources have after the wait.
func TestOwnMetricsAreReadAgainAfterWaiting(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		hpa := w.Web("web", 2)
		object := horizontaltest.Ownly(hpa, ofQuery)
		object.Spec.Metrics = append(object.Spec.Metrics, horizontaltest.WorkloadOf(hpa).Spec.Metrics...)
		object.Spec.Metrics = append(object.Spec.Metrics, horizontaltest.WorkloadOf(horizontaltest.Externally(hpa)).Spec.Metrics...)
		api.Put(object)
		o.Answer = sources.Answer{Series: []float64{20}}
		w.ExternalValue = func(context.Context) (int64, error) {
			// Half of the time that a decision waits for a response.
			<-time.After(500 * time.Millisecond)
			o.Change(func() { o.Answer.Series = []float64{40} })
			return 100, nil
		}
		var first *horizontal.Decision
		w.inspected(observe.WLA("shop", "web"), func(d *horizontal.Decision) {
			if first == nil {
				decision := d.Clone()
				first = &decision
			}
		})
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Mu.Lock()
		defer w.Mu.Unlock()
		if first == nil || first.Metrics[0].Total != 40_000 {
			t.Errorf("%+v, want the value from after the wait", first)
		}
	})
}

// TestObjectsThatAreCollected: the sources collect the metrics of an object as long as it is decided, and stop at once
// when it no longer is.
func TestObjectsThatAreCollected(t *testing.T) {
	zero := ptr.To[int32](0)
	for name, end := range map[string]func(*world, *horizontaltest.WorkloadAPI, *plimsollv1alpha1.WorkloadAutoscaler){
		"the object is gone": func(_ *world, api *horizontaltest.WorkloadAPI, _ *plimsollv1alpha1.WorkloadAutoscaler) {
			api.Remove("web")
		},
		"its metrics are others": func(_ *world, api *horizontaltest.WorkloadAPI, o *plimsollv1alpha1.WorkloadAutoscaler) {
			o.Spec.Metrics = horizontaltest.WorkloadOf(horizontaltest.Externally(api.W.Web("other", 1))).Spec.Metrics
			api.Put(o)
		},
		"it names a target that is not there": func(_ *world, api *horizontaltest.WorkloadAPI, o *plimsollv1alpha1.WorkloadAutoscaler) {
			o.Spec.ScaleTargetRef.Name = "missing"
			api.Put(o)
		},
		"its target is switched off": func(w *world, api *horizontaltest.WorkloadAPI, o *plimsollv1alpha1.WorkloadAutoscaler) {
			w.SetReplicas("web", 0)
		},
		"it is refused": func(_ *world, api *horizontaltest.WorkloadAPI, o *plimsollv1alpha1.WorkloadAutoscaler) {
			o.Spec.MinReplicas = zero
			o.Spec.Metrics = o.Spec.Metrics[:1]
			for i := range sources.MaxPages {
				other := horizontaltest.OwnMetric(ofPods)
				other.PodEndpoint.Path = fmt.Sprintf("/metrics/%d", i)
				o.Spec.Metrics = append(o.Spec.Metrics, other)
			}
			plimsollv1alpha1.SetDefaults(&o.Spec)
			api.Put(o)
		},
		"another installation writes it": func(w *world, api *horizontaltest.WorkloadAPI, o *plimsollv1alpha1.WorkloadAutoscaler) {
			for range 3 {
				o.Status.DesiredReplicas++
				o.ManagedFields = horizontaltest.WroteStatus(o.ManagedFields, controllerhorizontal.FieldManager+"/m")
				api.Put(o)
				w.Pass(2 * time.Second)
				o = api.Get("web")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				api, o := w.Workloads(), w.OwnMetrics()
				api.Put(horizontaltest.Ownly(w.Web("web", 2), ofPods, ofQuery, ofScaler))
				w.AddHPA(horizontaltest.Externally(w.Web("hpa", 2)))
				w.ExternalValue = func(context.Context) (int64, error) { return 200, nil }
				w.Start(api.Serve, horizontaltest.Rarely, o.Read, func(c *controllerhorizontal.Config) { c.FieldManager = controllerhorizontal.FieldManager + "/z" })
				w.Pass(2 * horizontaltest.Period)
				o.WantRunning(3)
				o.WantSpecs("at first", observe.WLA("shop", "web"), 3)
				object := api.Get("web")
				object.Generation++
				end(w, api, object)
				w.Pass(200 * time.Millisecond)
				o.WantSpecs(name, observe.WLA("shop", "web"), 0)
				o.WantSpecs("an HPA", observe.HPA("shop", "hpa"), 0)
				o.Change(func() {
					if len(o.Followed) > 0 {
						t.Errorf("scraped are %v", o.Followed)
					}
				})
			})
		})
	}
}

// TestUnreadableTargetKeepsSources: the sources keep their state while a target cannot be read for a moment. Metrics
// that are removed meanwhile are no longer collected.
func TestUnreadableTargetKeepsSources(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		api.Put(horizontaltest.Ownly(horizontaltest.Custom(w.Web("web", 2), "v1", "ReplicationController"), ofQuery))
		scales := &horizontaltest.CountedScales{W: w.World}
		w.Start(api.Serve, horizontaltest.Rarely, o.Read, func(c *controllerhorizontal.Config) { c.Scales = scales })
		w.Pass(2 * horizontaltest.Period)
		scales.IsDown.Store(true)
		w.Pass(2 * horizontaltest.Period)
		if got := horizontaltest.WorkloadCondition(api.Get("web"), "AbleToScale"); got.Status != metav1.ConditionFalse {
			t.Errorf("%+v", got)
		}
		o.WantSpecs("the target cannot be read", observe.WLA("shop", "web"), 1)
		object := api.Get("web")
		object.Spec.Metrics = []plimsollv1alpha1.MetricSpec{horizontaltest.OwnMetric(ofScaler), horizontaltest.OwnMetric(ofQuery)}
		object.Generation++
		plimsollv1alpha1.SetDefaults(&object.Spec)
		api.Put(object)
		w.Pass(200 * time.Millisecond)
		o.WantSpecs("it was edited", observe.WLA("shop", "web"), 2)
	})
}

// TestSourcesStopWithTheLead: a controller that no longer leads reads nothing.
func TestSourcesStopWithTheLead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		api.Put(horizontaltest.Ownly(w.Web("web", 2), ofPods, ofQuery, ofScaler))
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(horizontaltest.Period)
		w.Stop()
		w.Stop = nil
		w.Pass(time.Second)
		o.WantRunning(0)
	})
}

// TestRareDecisionsKeepSources: an object with a sync period of an hour is decided on new responses only. Its sources
// are queried all the time.
func TestRareDecisionsKeepSources(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		object := horizontaltest.Ownly(w.Web("web", 2), ofQuery)
		object.Spec.SyncPeriodSeconds = ptr.To[int32](3600)
		api.Put(object)
		o.Answer = sources.Answer{Series: []float64{20}}
		decisions := 0
		w.inspected(observe.WLA("shop", "web"), func(*horizontal.Decision) { decisions++ })
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(horizontaltest.Period)
		w.counted(&decisions)
		w.Pass(20 * horizontaltest.Period)
		if got := w.counted(&decisions); got > 0 {
			t.Errorf("%d decisions without a new answer", got)
		}
		o.WantSpecs("after 20 sync periods", observe.WLA("shop", "web"), 1)
		o.Answered(observe.WLA("shop", "web"))
		w.Pass(time.Second)
		if got := w.counted(&decisions); got != 1 {
			t.Errorf("%d decisions on a new answer", got)
		}
	})
}

// TestEditedMetricsAreRead: the metrics of a changed spec are read from the next decision on.
func TestEditedMetricsAreRead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.Workloads(), w.OwnMetrics()
		object := horizontaltest.Ownly(w.Web("web", 2), ofQuery)
		api.Put(object)
		o.Answer = sources.Answer{Series: []float64{40}, TargetMilli: 5_000, Activity: metric.Active}
		w.Start(api.Serve, horizontaltest.Rarely, o.Read)
		w.Pass(horizontaltest.Period)
		w.WantReplicas("web", 4, "the spec's target is 10")
		object = api.Get("web")
		object.Spec.Metrics = []plimsollv1alpha1.MetricSpec{horizontaltest.OwnMetric(ofScaler)}
		object.Generation++
		plimsollv1alpha1.SetDefaults(&object.Spec)
		api.Put(object)
		w.Pass(horizontaltest.Period)
		w.WantReplicas("web", 8, "the scaler's target is 5")
	})
}
