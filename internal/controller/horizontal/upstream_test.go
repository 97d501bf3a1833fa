package horizontal_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	scalefake "k8s.io/client-go/scale/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// The cases of upstream's tests (pkg/controller/podautoscaler/ horizontal_test.go, v1.37.1) that need a whole
// controller. It decides without divergences, to match upstream's expectations.

const (
	reconciliations = "horizontal_pod_autoscaler_controller_reconciliations_total"
	computations    = "horizontal_pod_autoscaler_controller_metric_computation_total"
)

func asUpstream(c *controllerhorizontal.Config) { c.Options.Divergences = divergence.None }

// three returns an object on three pods, with the target in percent and limits from 2 to 6, whose status shows the
// count as it is.
func (w *world) three(target int32) *autoscalingv2.HorizontalPodAutoscaler {
	least := int32(2)
	hpa := w.Web("web", 3)
	hpa.Spec.MinReplicas, hpa.Spec.MaxReplicas = &least, 6
	hpa.Spec.Metrics[0].Resource.Target.AverageUtilization = &target
	hpa.Status.CurrentReplicas, hpa.Status.DesiredReplicas = 3, 3
	return hpa
}

// wantConditions compares type, status and reason of all conditions.
func (w *world) wantConditions(name string, want ...string) {
	w.T.Helper()
	var got []string
	for _, c := range w.HPA(name).Status.Conditions {
		got = append(got, fmt.Sprintf("%s %s %s", c.Type, c.Status, c.Reason))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.T.Errorf("%s has the conditions %q, want %q", name, got, want)
	}
}

// samples returns how many values a histogram has seen.
func (w *world) samples(name string, labels ...string) uint64 {
	w.T.Helper()
	families, err := w.Registry.Gather()
	if err != nil {
		w.T.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var values []string
			for _, l := range m.GetLabel() {
				values = append(values, l.GetValue())
			}
			if family.GetName() == name && slices.Equal(values, labels) {
				return m.GetHistogram().GetSampleCount()
			}
		}
	}
	return 0
}

// scaleOnly returns a target with three replicas and only its scale.
func scaleOnly(resource, selector string) *scalefake.FakeScaleClient {
	scales := &scalefake.FakeScaleClient{}
	scales.AddReactor("get", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
			Spec:       autoscalingv1.ScaleSpec{Replicas: 3},
			Status:     autoscalingv1.ScaleStatus{Replicas: 3, Selector: selector},
		}, nil
	})
	scales.AddReactor("update", resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
		return true, action.(clienttesting.UpdateAction).GetObject(), nil
	})
	return scales
}

// written returns the counts that the scale was set to.
func written(scales *scalefake.FakeScaleClient) []int32 {
	var counts []int32
	for _, action := range scales.Actions() {
		if update, ok := action.(clienttesting.UpdateAction); ok {
			counts = append(counts, update.GetObject().(*autoscalingv1.Scale).Spec.Replicas)
		}
	}
	return counts
}

// TestUpstreamKinds: 50 % with a target of 30 % on three pods, for each kind of owner.
func TestUpstreamKinds(t *testing.T) {
	for kind, at := range map[string]struct{ version, resource string }{
		"Deployment":            {"apps/v1", "deployments"},
		"ReplicaSet":            {"apps/v1", "replicasets"},
		"ReplicationController": {"v1", "replicationcontrollers"},
	} {
		t.Run(kind, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				hpa := w.three(30)
				hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: at.version,
					Kind: kind, Name: "owner"}
				scales := scaleOnly(at.resource, "app=web")
				w.AddHPA(hpa)
				w.Start(asUpstream, func(c *controllerhorizontal.Config) { c.Scales = scales })
				if got := written(scales); !slices.Equal(got, []int32{5}) {
					t.Errorf("the scale was set to %v, want 5 (events %q)", got, w.Events)
				}
			})
		})
	}
}

func TestUpstreamUnreadableSelector(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.three(10)
		hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "v1",
			Kind: "ReplicationController", Name: "web"}
		scales := scaleOnly("replicationcontrollers", "cheddar cheese")
		w.AddHPA(hpa)
		w.Start(asUpstream, func(c *controllerhorizontal.Config) { c.Scales = scales })
		w.wantConditions("web", "AbleToScale True SucceededGetScale", "ScalingActive False InvalidSelector")
		if got := written(scales); len(got) != 0 || w.HPA("web").Status.DesiredReplicas != 3 {
			t.Errorf("the scale was set to %v and status shows %d, want neither to change", got,
				w.HPA("web").Status.DesiredReplicas)
		}
		if got := w.Metric(reconciliations, "none", "internal"); got != 1 {
			t.Errorf("%v reconciliations failed, want 1", got)
		}
	})
}

// TestUpstreamSelectors: another object exists before this one, which would scale from 3 to 5. The selectors of both
// matter from the first decision on.
func TestUpstreamSelectors(t *testing.T) {
	cheese := map[string]string{"cheddar": "cheese"}
	for name, tt := range map[string]struct {
		// other is the other one's Deployment; labels are added to web's pods.
		other  string
		labels map[string]string
		want   int32
	}{
		"no overlap":      {other: "other", want: 5},
		"full overlap":    {other: "web", want: 3},
		"partial overlap": {other: "other", labels: cheese, want: 3},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				hpa := w.three(30)
				other := w.Web("other", 3)
				other.Spec.ScaleTargetRef.Name = tt.other
				if tt.labels != nil {
					d := w.Deployment("other")
					d.Spec.Selector.MatchLabels = tt.labels
					w.Store(horizontaltest.DeploymentResource, d)
				}
				for i := range 3 {
					p := horizontaltest.Pod(fmt.Sprintf("web-%d", i), map[string]string{"app": "web"})
					for key, value := range tt.labels {
						p.Labels[key] = value
					}
					w.Store(horizontaltest.PodResource, p)
				}
				w.Start(asUpstream)
				w.AddHPA(other)
				w.Pass(time.Second)
				w.WantReplicas("web", 3, "the other one is at its target, or has no samples")
				w.AddHPA(hpa)
				w.Pass(10 * time.Millisecond)
				w.WantReplicas("web", tt.want, name)
				if tt.want == 5 {
					w.wantConditions("web", "AbleToScale True SucceededRescale", "ScalingActive True ValidMetricFound",
						"ScalingLimited False DesiredWithinRange", "ScaledToZero False NotScaledToZero")
					return
				}
				w.wantConditions("web", "AbleToScale True SucceededGetScale", "ScalingActive False AmbiguousSelector")
				w.Pass(3 * horizontaltest.Period)
				w.WantReplicas("web", 3, "and goes on to")
			})
		})
	}
}

// TestUpstreamConflictHeals: 70 % with a target of 50 %. The first write meets a conflict, although the replica count
// is unchanged.
func TestUpstreamConflictHeals(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		tries := 0
		w.BeforeScale = func() error {
			if tries++; tries == 1 {
				return apierrors.NewConflict(horizontaltest.DeploymentResource.GroupResource(), "web", errors.New("simulated"))
			}
			return nil
		}
		w.Usage = 140
		w.AddHPA(w.three(50))
		w.Start(asUpstream)
		w.WantReplicas("web", 5, "the second try works")
		w.wantConditions("web", "AbleToScale True SucceededRescale", "ScalingActive True ValidMetricFound",
			"ScalingLimited False DesiredWithinRange", "ScaledToZero False NotScaledToZero")
		if got := w.Metric(reconciliations, "scale_up", "none"); got != 1 || tries != 2 {
			t.Errorf("%v reconciliations scaled up with %d tries, want 1 with 2", got, tries)
		}
	})
}

// noSamples answers with an empty list.
type noSamples struct{ *world }

func (noSamples) Resource(context.Context, string, string) (*metricsv1beta1.PodMetricsList, error) {
	return &metricsv1beta1.PodMetricsList{}, nil
}

func TestUpstreamDurations(t *testing.T) {
	want := func(w *world, action, failure, metricAction string) {
		w.T.Helper()
		const subsystem = "horizontal_pod_autoscaler_controller_"
		if w.samples(subsystem+"reconciliation_duration_seconds", action, failure) != 1 {
			w.T.Errorf("no duration of a reconciliation with %s, %s", action, failure)
		}
		if w.samples(subsystem+"metric_computation_duration_seconds", metricAction, failure, "Resource") != 1 {
			w.T.Errorf("no duration of a computation with %s, %s", metricAction, failure)
		}
	}
	t.Run("scaled", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			w.AddHPA(w.three(30))
			w.Start(asUpstream)
			w.WantReplicas("web", 5, "50 % of a target of 30 %")
			want(w, "scale_up", "none", "scale_up")
		})
	})
	t.Run("failed", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			w.AddHPA(w.three(100))
			w.Start(asUpstream, func(c *controllerhorizontal.Config) { c.Metrics = noSamples{w} })
			w.WantReplicas("web", 3, "there are no samples")
			w.wantConditions("web", "AbleToScale True SucceededGetScale", "ScalingActive False FailedGetResourceMetric")
			want(w, "none", "internal", "none")
		})
	})
}

// TestUpstreamCountsEachTime: 102 % with a target of 100 %, several times.
func TestUpstreamCountsEachTime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Usage = 204
		w.AddHPA(w.three(100))
		w.Start(asUpstream)
		w.Pass(4 * horizontaltest.Period)
		w.WantReplicas("web", 3, "that is within the tolerance")
		w.wantConditions("web", "AbleToScale True ReadyForNewScale", "ScalingActive True ValidMetricFound",
			"ScalingLimited False DesiredWithinRange")
		times := float64(w.Decisions())
		if times < 3 {
			t.Fatalf("only %v decisions in four periods", times)
		}
		if got := w.Metric(reconciliations, "none", "none"); got != times {
			t.Errorf("%v of %v reconciliations were counted", got, times)
		}
		if got := w.Metric(computations, "none", "none", "Resource"); got != times {
			t.Errorf("%v of %v computations were counted", got, times)
		}
	})
}

// ofOnePod finds the pods by the selector: each has one container that uses 50 %.
type ofOnePod struct{ *world }

func (ofOnePod) Resource(_ context.Context, namespace, selector string) (*metricsv1beta1.PodMetricsList, error) {
	return &metricsv1beta1.PodMetricsList{Items: []metricsv1beta1.PodMetrics{{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: strings.TrimPrefix(selector, "app=") + "-0"},
		Timestamp:  metav1.Now(), Window: metav1.Duration{Duration: time.Minute},
		Containers: []metricsv1beta1.ContainerMetrics{{Name: "web", Usage: corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewMilliQuantity(100, resource.DecimalSI),
		}}},
	}}}, nil
}

// TestUpstreamManyObjects: many objects are all decided at once, and counted.
func TestUpstreamManyObjects(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		// The fake client holds a hundred changes that an informer has not read, and panics at the next.
		const objects = 90
		target, most := int32(10), autoscalingv2.MaxChangePolicySelect
		for i := range objects {
			hpa := w.Web(fmt.Sprintf("web-%d", i), 1)
			hpa.Spec.MaxReplicas = 10
			hpa.Spec.Metrics[0].Resource.Target.AverageUtilization = &target
			hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &autoscalingv2.HPAScalingRules{
				SelectPolicy: &most,
				Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 100,
					PeriodSeconds: 60}},
			}}
			w.AddHPA(hpa)
		}
		w.Start(asUpstream, func(c *controllerhorizontal.Config) { c.Metrics, c.Workers = ofOnePod{w}, 5 })
		for i := range objects {
			name := fmt.Sprintf("web-%d", i)
			if got := w.Replicas(name); got != 5 || w.HPA(name).Status.DesiredReplicas != 5 {
				t.Fatalf("%s has %d replicas and shows %d, want 5", name, got, w.HPA(name).Status.DesiredReplicas)
			}
		}
		const known = "horizontal_pod_autoscaler_controller_num_horizontal_pod_autoscalers"
		if got := w.Metric(known); got != objects {
			t.Errorf("%v objects are known, want %d", got, objects)
		}
		w.DeleteHPA("web-0")
		w.Pass(horizontaltest.Period)
		if got := w.Metric(known); got != objects-1 {
			t.Errorf("%v objects are known after one was deleted, want %d", got, objects-1)
		}
	})
}

// TestUpstreamNothingToWrite: one pod uses 40 % of its request, two have not started; one replica would suffice for the
// target of 80 %, and min is 2. Once the count at the start has left the window, the status shows that, and there are
// no more writes.
func TestUpstreamNothingToWrite(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.Usage = 80
		hpa := w.three(80)
		w.SetReplicas("web", 2)
		for i := range 2 {
			p := horizontaltest.Pod(fmt.Sprintf("web-%d", i), map[string]string{"app": "web"})
			p.Status = corev1.PodStatus{Phase: corev1.PodPending}
			w.Store(horizontaltest.PodResource, p)
		}
		w.AddHPA(hpa)
		w.Start(asUpstream, func(c *controllerhorizontal.Config) { c.Options.DownscaleStabilization = 2 * horizontaltest.Period })
		w.Pass(4 * horizontaltest.Period)
		w.wantConditions("web", "AbleToScale True ReadyForNewScale", "ScalingActive True ValidMetricFound",
			"ScalingLimited True TooFewReplicas")
		status := w.HPA("web").Status
		current := status.CurrentMetrics[0].Resource.Current
		if status.CurrentReplicas != 2 || status.DesiredReplicas != 2 || *current.AverageUtilization != 40 {
			t.Fatalf("status shows %d, %d wanted, at %d %%", status.CurrentReplicas, status.DesiredReplicas,
				*current.AverageUtilization)
		}
		version, times := w.HPA("web").ResourceVersion, w.Decisions()
		w.Pass(20 * horizontaltest.Period)
		if w.Decisions() < times+20 {
			t.Fatalf("only %d decisions in 20 periods", w.Decisions()-times)
		}
		if w.HPA("web").ResourceVersion != version {
			t.Error("the object was written, although nothing had changed")
		}
	})
}

// idle returns a controller that does not run, with an object that is due in a period.
func (w *world) idle(hpa *autoscalingv2.HorizontalPodAutoscaler) (*controllerhorizontal.Controller, cache.ResourceEventHandler) {
	w.T.Helper()
	var cfg controllerhorizontal.Config
	w.Start(func(c *controllerhorizontal.Config) { cfg = *c })
	c, err := controllerhorizontal.New(cfg)
	if err != nil {
		w.T.Fatal(err)
	}
	handler := c.Handler()
	handler.OnAdd(hpa, false)
	item, _, due := c.Queue().Take(time.Now())
	if !due {
		w.T.Fatal("a new object is not due at once")
	}
	c.Queue().Done(item.Key, time.Now().Add(horizontaltest.Period))
	return c, handler
}

// TestUpstreamOddUpdates: an update with another type triggers no decision, and does not prevent the decision at the
// end of a period.
func TestUpstreamOddUpdates(t *testing.T) {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web",
		UID: "web"}}
	tombstone := cache.DeletedFinalStateUnknown{Key: "shop/web", Obj: hpa}
	for name, update := range map[string]struct{ before, after any }{
		"before": {tombstone, hpa},
		"after":  {hpa, tombstone},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				c, handler := w.idle(hpa)
				handler.OnUpdate(update.before, update.after)
				if _, wait, due := c.Queue().Take(time.Now()); due || wait != horizontaltest.Period {
					t.Errorf("due %v, in %s; want it in a period", due, wait)
				}
				w.Pass(horizontaltest.Period)
				if item, _, due := c.Queue().Take(time.Now()); !due || item.Key.Name != "web" {
					t.Errorf("%s is due: %v", item.Key, due)
				}
			})
		})
	}
}

// TestUpstreamDeletionForgetsTheWrite: the cache lacks a status write when the
// object is deleted. Another object of the same name does not wait for it.
func TestUpstreamDeletionForgetsTheWrite(t *testing.T) {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web", ResourceVersion: "1"},
	}
	for name, gone := range map[string]any{
		"direct HPA object": hpa,
		"tombstone":         cache.DeletedFinalStateUnknown{Key: "shop/web", Obj: hpa},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				c, handler := w.idle(hpa)
				c.Written(hpa, "5")
				if !c.IsBehind(hpa) {
					t.Fatal("version 1 is older than 5")
				}
				handler.OnDelete(gone)
				item, _, due := c.Queue().Take(time.Now())
				if !due || item.Key != observe.HPA("shop", "web") {
					t.Fatalf("%s is due: %v; a deleted object is to be forgotten at once", item.Key, due)
				}
				c.Work(t.Context(), item)
				if n := c.Records(); n != 0 {
					t.Errorf("%d objects are remembered, want none", n)
				}
				if c.IsBehind(hpa) {
					t.Error("the new object waits for the old one's write")
				}
			})
		})
	}
}
