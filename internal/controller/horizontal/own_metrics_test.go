package horizontal

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
	w.made = func(c *Controller) {
		c.Inspect(key, func(_ *snapshothorizontal.Step, d *horizontal.Decision) { w.set(func() { each(d) }) })
	}
}

// counted is how many there are of something that the world's lock guards; it begins anew.
func (w *world) counted(n *int) (counted int) {
	w.set(func() { counted, *n = *n, 0 })
	return counted
}

// TestSourcesAreSwitchedOff: a metric whose source is off says so, and neither raises nor lowers the replica count.
func TestSourcesAreSwitchedOff(t *testing.T) {
	for _, kind := range []plimsollv1alpha1.MetricSourceType{ofPods, ofQuery, ofScaler} {
		t.Run(string(kind), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				api := w.workloads()
				api.put(ownly(w.web("web", 2), kind))
				w.start(api.serve, rarely)
				w.pass(30 * period)
				w.wantReplicas("web", 2, "nothing is known of the load")
				got := workloadCondition(api.get("web"), "ScalingActive")
				if got.Status != metav1.ConditionFalse || got.Reason != "FailedGet"+string(kind)+"Metric" ||
					!strings.Contains(got.Message, "this controller does not read metrics of type "+string(kind)) {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

// TestOwnMetricsScale: what each of the sources has scales the target up and down.
func TestOwnMetricsScale(t *testing.T) {
	for _, kind := range []plimsollv1alpha1.MetricSourceType{ofPods, ofQuery, ofScaler} {
		t.Run(string(kind), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				api, o := w.workloads(), w.ownMetrics()
				object := ownly(w.web("web", 4), kind)
				api.put(object)
				o.milli, o.answer = 20_000, sources.Answer{Series: []float64{80}, TargetMilli: 10_000, Activity: metric.Active}
				w.start(api.serve, rarely, o.read)
				w.pass(2 * period)
				w.wantReplicas("web", 8, "four pods have twice the target each")
				o.set(func() { o.milli, o.answer.Series = 5_000, []float64{20} })
				w.pass(10 * time.Minute)
				if got := w.replicas("web"); got >= 8 {
					t.Errorf("%d replicas, want fewer: half of the target, or a quarter", got)
				}
				if got := w.metric("horizontal_pod_autoscaler_controller_metric_computation_total", "none", "none",
					string(kind)); got == 0 {
					t.Error("no metric was counted")
				}
				status := api.get("web").Status
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
		api, o := w.workloads(), w.ownMetrics()
		object := ownly(w.web("web", 4), ofPods)
		api.put(object)
		o.milli = 10_000
		decided := 0
		w.inspected(observe.WLA("shop", "web"), func(d *horizontal.Decision) {
			if d.Trigger == trigger.Samples {
				decided++
			}
		})
		w.start(api.serve, rarely, o.read)
		w.pass(30 * time.Second)
		w.counted(&decided)
		w.pass(60 * time.Second)
		if got := w.counted(&decided); got < 56 || got > 60 {
			t.Errorf("%d decisions in 60 rounds of pages", got)
		}
		o.set(func() { o.milli = 100_000 })
		w.pass(2100 * time.Millisecond)
		if got := w.replicas("web"); got < 8 {
			t.Errorf("%d replicas two rounds after the load is tenfold, want at least 8", got)
		}
		var urgent []string
		o.set(func() { urgent = slices.Clone(o.urgent) })
		if !slices.Contains(urgent, "web-0") {
			t.Errorf("urgent are %v: the first of two samples should have had the second taken early", urgent)
		}
	})
}

// TestSampledPodsStandForAll: where only a part of the pods is scraped, the decision is on all of them, and says so.
func TestSampledPodsStandForAll(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		hpa := w.web("web", 20)
		hpa.Spec.MaxReplicas = 100
		object := ownly(hpa, ofPods)
		api.put(object)
		o.milli, o.sample = 20_000, 5
		var counts metric.Counts
		w.inspected(observe.WLA("shop", "web"), func(d *horizontal.Decision) {
			if d.Metrics[0].Failure == nil && !d.Metrics[0].Pending && counts.Counted == 0 {
				counts = d.Metrics[0].Counts
			}
		})
		w.start(api.serve, rarely, o.read)
		w.pass(2 * period)
		w.mu.Lock()
		defer w.mu.Unlock()
		if counts.Counted != 5 || counts.Unsampled != 15 {
			t.Errorf("%+v, want 5 of 20 pods sampled", counts)
		}
		w.wantReplicas("web", 40, "the sampled pods have twice the target")
	})
}

// TestSilentPodsAreMissing: pods that do not answer count as missing, and none at all is a failure.
func TestSilentPodsAreMissing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		api.put(ownly(w.web("web", 4), ofPods))
		o.milli, o.broken = 15_000, map[string]bool{"web-0": true, "web-1": true}
		w.start(api.serve, rarely, o.read)
		w.pass(2 * period)
		w.wantReplicas("web", 4, "two pods of which nothing is known may have no load")
		o.set(func() { o.milli, o.broken["web-2"], o.broken["web-3"] = 0, true, true })
		w.pass(10 * time.Minute)
		w.wantReplicas("web", 4, "nothing is known of the load")
		if got := workloadCondition(api.get("web"), "ScalingActive"); got.Status != metav1.ConditionFalse {
			t.Errorf("%+v", got)
		}
	})
}

// TestFailingServerKeepsReplicas: as long as a server is down nothing is lowered, and the fallback holds in time.
func TestFailingServerKeepsReplicas(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		object := ownly(w.web("web", 4), ofQuery)
		object.Spec.Metrics[0].Fallback = &plimsollv1alpha1.Fallback{
			Policy: plimsollv1alpha1.FallbackStatic, Replicas: ptr.To[int32](6), FailureDurationSeconds: ptr.To[int32](60),
		}
		api.put(object)
		o.answer = sources.Answer{Err: errServer}
		w.start(api.serve, rarely, o.read)
		w.pass(50 * time.Second)
		w.wantReplicas("web", 4, "the fallback is not due")
		w.pass(12 * time.Second)
		w.wantReplicas("web", 6, "the fallback is due after a minute")
		got := workloadCondition(api.get("web"), "FallbackActive")
		if got.Status != metav1.ConditionTrue || !strings.Contains(got.Message, `metric "own"`) {
			t.Errorf("%+v", got)
		}
	})
}

// TestPendingLowersNothing: the first values of one metric are awaited, and another asks for fewer.
func TestPendingLowersNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		object := ownly(w.web("web", 4), ofQuery)
		object.Spec.Behavior = &plimsollv1alpha1.Behavior{
			ScaleDown: &plimsollv1alpha1.ScaleDownRules{StabilizationWindowSeconds: ptr.To[int32](0)},
		}
		api.put(object)
		o.answer = sources.Answer{IsPending: true}
		w.start(api.serve, rarely, o.read)
		w.pass(time.Second)
		w.wantReplicas("web", 4, "the first answer is awaited")
		o.set(func() { o.answer = sources.Answer{Series: []float64{10}} })
		o.answered(observe.WLA("shop", "web"))
		w.pass(time.Second)
		w.wantReplicas("web", 1, "the answer leads to a decision at once")
	})
}

// zeroWorld has an object at zero that a scaler may wake.
func zeroWorld(w *world) (*workloadAPI, *ownMetrics) {
	api, o := w.workloads(), w.ownMetrics()
	object := ownly(w.web("web", 0), ofScaler)
	object.Spec.MinReplicas = ptr.To[int32](0)
	api.put(object)
	o.answer = sources.Answer{Series: []float64{0}, TargetMilli: 10_000, Activity: metric.Inactive}
	return api, o
}

// TestPushScalesFromZeroAtOnce: a scaler's report brings the first replica within 300 ms, and its answer whatever else
// it asks for.
func TestPushScalesFromZeroAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := zeroWorld(w)
		w.start(api.serve, rarely, o.read)
		w.pass(3*period + 700*time.Millisecond)
		w.wantReplicas("web", 0, "no work")
		o.push(observe.WLA("shop", "web"))
		w.pass(300 * time.Millisecond)
		w.wantReplicas("web", 1, "work was reported")
	})
}

// TestPushOfFailingScaler: a scaler that says that there is work is believed though its values cannot be read.
func TestPushOfFailingScaler(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := zeroWorld(w)
		o.answer = sources.Answer{Err: errServer}
		w.start(api.serve, rarely, o.read)
		w.pass(3 * period)
		w.wantReplicas("web", 0, "nothing is known of any work")
		o.push(observe.WLA("shop", "web"))
		w.pass(300 * time.Millisecond)
		w.wantReplicas("web", 1, "work was reported")
	})
}

// TestFloodOfPushes: a scaler that reports all the time has its object decided five times a second, and no other object
// later.
func TestFloodOfPushes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := zeroWorld(w)
		decisions := 0
		w.inspected(observe.WLA("shop", "web"), func(*horizontal.Decision) { decisions++ })
		w.start(api.serve, rarely, o.read)
		w.pass(2 * period)
		o.push(observe.WLA("shop", "web"))
		w.pass(time.Second)
		w.counted(&decisions)
		for range 10_000 {
			o.push(observe.WLA("shop", "web"))
			w.pass(time.Millisecond)
		}
		if got := w.counted(&decisions); got < 45 || got > 55 {
			t.Errorf("%d decisions in 10 s", got)
		}
		if got := w.metric("plimsoll_external_scaler_reports_total"); got != 10_001 {
			t.Errorf("%g reports were counted", got)
		}
	})
}

// TestAnswersOfManyMetrics: a hundred answers a second lead to no more than five decisions a second.
func TestAnswersOfManyMetrics(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		object := ownly(w.web("web", 2), ofQuery)
		for range 99 {
			object.Spec.Metrics = append(object.Spec.Metrics, object.Spec.Metrics[0])
		}
		api.put(object)
		o.answer = sources.Answer{Series: []float64{20}}
		decisions := 0
		w.inspected(observe.WLA("shop", "web"), func(*horizontal.Decision) { decisions++ })
		w.start(api.serve, rarely, o.read)
		w.pass(2 * period)
		w.counted(&decisions)
		for range 1000 {
			o.answered(observe.WLA("shop", "web"))
			w.pass(10 * time.Millisecond)
		}
		if got := w.counted(&decisions); got < 40 || got > 55 {
			t.Errorf("%d decisions in 10 s", got)
		}
	})
}

// TestOwnMetricsBesideOthers: a slow metrics API keeps no decision on a metric that Plimsoll reads itself waiting, and
// what was asked before it answered is read again.
func TestOwnMetricsBesideOthers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		hpa := externally(w.web("web", 2))
		object := ownly(hpa, ofQuery)
		object.Spec.Metrics = append(object.Spec.Metrics, workloadOf(hpa).Spec.Metrics...)
		api.put(object)
		w.external = func(ctx context.Context) (int64, error) {
			select {
			case <-time.After(10 * time.Second):
			case <-ctx.Done():
			}
			return 100, ctx.Err()
		}
		o.answer = sources.Answer{Series: []float64{40}}
		w.start(api.serve, rarely, o.read)
		w.pass(500 * time.Millisecond)
		w.wantReplicas("web", 4, "what the server answered does not wait for the metrics API")
	})
}

// TestWhatWaitedIsReadAgain: a decision that waits for a metrics API is on what the other sources have after that.
func TestWhatWaitedIsReadAgain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		hpa := w.web("web", 2)
		object := ownly(hpa, ofQuery)
		object.Spec.Metrics = append(object.Spec.Metrics, workloadOf(hpa).Spec.Metrics...)
		object.Spec.Metrics = append(object.Spec.Metrics, workloadOf(externally(hpa)).Spec.Metrics...)
		api.put(object)
		o.answer = sources.Answer{Series: []float64{20}}
		w.external = func(context.Context) (int64, error) {
			// Half of what a decision waits for an answer.
			<-time.After(500 * time.Millisecond)
			o.set(func() { o.answer.Series = []float64{40} })
			return 100, nil
		}
		var first *horizontal.Decision
		w.inspected(observe.WLA("shop", "web"), func(d *horizontal.Decision) {
			if first == nil {
				decision := d.Clone()
				first = &decision
			}
		})
		w.start(api.serve, rarely, o.read)
		w.mu.Lock()
		defer w.mu.Unlock()
		if first == nil || first.Metrics[0].Total != 40_000 {
			t.Errorf("%+v, want the value from after the wait", first)
		}
	})
}

// TestObjectsThatAreCollected: the sources collect what an object has as long as it is decided on, and from the moment
// on in which it no longer is, nothing.
func TestObjectsThatAreCollected(t *testing.T) {
	zero := ptr.To[int32](0)
	for name, end := range map[string]func(*world, *workloadAPI, *plimsollv1alpha1.WorkloadAutoscaler){
		"the object is gone": func(_ *world, api *workloadAPI, _ *plimsollv1alpha1.WorkloadAutoscaler) { api.remove("web") },
		"its metrics are others": func(_ *world, api *workloadAPI, o *plimsollv1alpha1.WorkloadAutoscaler) {
			o.Spec.Metrics = workloadOf(externally(api.w.web("other", 1))).Spec.Metrics
			api.put(o)
		},
		"it names a target that is not there": func(_ *world, api *workloadAPI, o *plimsollv1alpha1.WorkloadAutoscaler) {
			o.Spec.ScaleTargetRef.Name = "missing"
			api.put(o)
		},
		"its target is switched off": func(w *world, api *workloadAPI, o *plimsollv1alpha1.WorkloadAutoscaler) {
			w.setReplicas("web", 0)
		},
		"it is refused": func(_ *world, api *workloadAPI, o *plimsollv1alpha1.WorkloadAutoscaler) {
			o.Spec.MinReplicas = zero
			o.Spec.Metrics = o.Spec.Metrics[:1]
			for i := range sources.MaxPages {
				other := ownMetric(ofPods)
				other.PodEndpoint.Path = fmt.Sprintf("/metrics/%d", i)
				o.Spec.Metrics = append(o.Spec.Metrics, other)
			}
			plimsollv1alpha1.SetDefaults(&o.Spec)
			api.put(o)
		},
		"another installation writes it": func(w *world, api *workloadAPI, o *plimsollv1alpha1.WorkloadAutoscaler) {
			for range 3 {
				o.Status.DesiredReplicas++
				o.ManagedFields = wroteStatus(o.ManagedFields, FieldManager+"/m")
				api.put(o)
				w.pass(2 * time.Second)
				o = api.get("web")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				api, o := w.workloads(), w.ownMetrics()
				api.put(ownly(w.web("web", 2), ofPods, ofQuery, ofScaler))
				w.addHPA(externally(w.web("hpa", 2)))
				w.external = func(context.Context) (int64, error) { return 200, nil }
				w.start(api.serve, rarely, o.read, func(c *Config) { c.FieldManager = FieldManager + "/z" })
				w.pass(2 * period)
				o.wantRunning(3)
				o.wantSpecs("at first", observe.WLA("shop", "web"), 3)
				object := api.get("web")
				object.Generation++
				end(w, api, object)
				w.pass(200 * time.Millisecond)
				o.wantSpecs(name, observe.WLA("shop", "web"), 0)
				o.wantSpecs("an HPA", observe.HPA("shop", "hpa"), 0)
				o.set(func() {
					if len(o.followed) > 0 {
						t.Errorf("scraped are %v", o.followed)
					}
				})
			})
		})
	}
}

// TestUnreadableTargetKeepsSources: a target that cannot be read for a moment is no reason to begin anew. What was
// edited meanwhile is collected no more all the same.
func TestUnreadableTargetKeepsSources(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		api.put(ownly(custom(w.web("web", 2), "v1", "ReplicationController"), ofQuery))
		scales := &countedScales{w: w}
		w.start(api.serve, rarely, o.read, func(c *Config) { c.Scales = scales })
		w.pass(2 * period)
		scales.isDown.Store(true)
		w.pass(2 * period)
		if got := workloadCondition(api.get("web"), "AbleToScale"); got.Status != metav1.ConditionFalse {
			t.Errorf("%+v", got)
		}
		o.wantSpecs("the target cannot be read", observe.WLA("shop", "web"), 1)
		object := api.get("web")
		object.Spec.Metrics = []plimsollv1alpha1.MetricSpec{ownMetric(ofScaler), ownMetric(ofQuery)}
		object.Generation++
		plimsollv1alpha1.SetDefaults(&object.Spec)
		api.put(object)
		w.pass(200 * time.Millisecond)
		o.wantSpecs("it was edited", observe.WLA("shop", "web"), 2)
	})
}

// TestSourcesStopWithTheLead: a controller that no longer leads reads nothing.
func TestSourcesStopWithTheLead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		api.put(ownly(w.web("web", 2), ofPods, ofQuery, ofScaler))
		w.start(api.serve, rarely, o.read)
		w.pass(period)
		w.stop()
		w.stop = nil
		w.pass(time.Second)
		o.wantRunning(0)
	})
}

// TestRareDecisionsKeepSources: an object that asks to be decided once an hour is decided on new answers, and no
// sooner. Its sources are asked all the time.
func TestRareDecisionsKeepSources(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		object := ownly(w.web("web", 2), ofQuery)
		object.Spec.SyncPeriodSeconds = ptr.To[int32](3600)
		api.put(object)
		o.answer = sources.Answer{Series: []float64{20}}
		decisions := 0
		w.inspected(observe.WLA("shop", "web"), func(*horizontal.Decision) { decisions++ })
		w.start(api.serve, rarely, o.read)
		w.pass(period)
		w.counted(&decisions)
		w.pass(20 * period)
		if got := w.counted(&decisions); got > 0 {
			t.Errorf("%d decisions without a new answer", got)
		}
		o.wantSpecs("after 20 sync periods", observe.WLA("shop", "web"), 1)
		o.answered(observe.WLA("shop", "web"))
		w.pass(time.Second)
		if got := w.counted(&decisions); got != 1 {
			t.Errorf("%d decisions on a new answer", got)
		}
	})
}

// TestEditedMetricsAreRead: another spec of an object is read from the next decision on.
func TestEditedMetricsAreRead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api, o := w.workloads(), w.ownMetrics()
		object := ownly(w.web("web", 2), ofQuery)
		api.put(object)
		o.answer = sources.Answer{Series: []float64{40}, TargetMilli: 5_000, Activity: metric.Active}
		w.start(api.serve, rarely, o.read)
		w.pass(period)
		w.wantReplicas("web", 4, "the spec's target is 10")
		object = api.get("web")
		object.Spec.Metrics = []plimsollv1alpha1.MetricSpec{ownMetric(ofScaler)}
		object.Generation++
		plimsollv1alpha1.SetDefaults(&object.Spec)
		api.put(object)
		w.pass(period)
		w.wantReplicas("web", 8, "the scaler's target is 5")
	})
}
