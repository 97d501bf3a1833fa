package takeover_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
)

func TestContestedObjectIsLeftAloneForTwoMinutes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 2))
		w.AddHPA(w.Web("other", 2))
		w.Start()
		w.Pass(10 * time.Second)
		w.WriteStatus("web", horizontaltest.Upstream, horizontaltest.Touch)
		w.Pass(time.Second)
		if !w.HasEvent("web Warning ScalingContested: kube-controller-manager writes the status") {
			t.Fatalf("events %q", w.Events)
		}
		if got := w.Metric("plimsoll_contested_horizontal_pod_autoscalers"); got != 1 {
			t.Errorf("%v contested objects, want 1", got)
		}
		w.Set(func() { w.Usage = 200 })
		status := w.HPA("web").ResourceVersion
		w.Pass(100 * time.Second)
		w.WantReplicas("web", 2, "the other one scales it")
		w.WantReplicas("other", 4, "no other controller writes the status of this one")
		if w.HPA("web").ResourceVersion != status {
			t.Error("the status of a contested object was written: that provokes the other")
		}
		w.WriteStatus("web", horizontaltest.Upstream, horizontaltest.Touch)
		w.Pass(115 * time.Second)
		w.WantReplicas("web", 2, "the two minutes count from the last write")
		w.Pass(10 * time.Second)
		w.WantReplicas("web", 4, "two minutes without such a write")
		if !w.HasEvent("web Normal ScalingResumed") {
			t.Errorf("events %q", w.Events)
		}
		if got := w.Metric("plimsoll_contested_horizontal_pod_autoscalers"); got != 0 {
			t.Errorf("%v contested objects, want 0", got)
		}
		if n := horizontaltest.Count(w.Events, "ScalingContested"); n != 1 {
			t.Errorf("%d events for one contest, want 1", n)
		}
	})
}

func TestContestEndsWithTheObject(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 2))
		w.Start()
		w.Pass(10 * time.Second)
		w.WriteStatus("web", horizontaltest.Upstream, horizontaltest.Touch)
		w.Pass(time.Second)
		w.DeleteHPA("web")
		w.Pass(time.Second)
		w.Pass(takeover.DefaultDelay)
		if got := w.Metric("plimsoll_contested_horizontal_pod_autoscalers"); got != 0 {
			t.Errorf("%v contested objects, but there is none", got)
		}
	})
}

// After a handover the object still has the entry of the other one's earlier write, which shrinks as Plimsoll's writes
// take over fields, and keeps its time.
func TestHandoverIsNoContest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.Web("web", 2)
		before := metav1.NewTime(time.Now().Add(-time.Second))
		hpa.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: horizontaltest.Upstream, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", Time: &before,
		}}
		w.Usage = 200
		w.AddHPA(hpa)
		w.Start()
		// A write in progress when the other one was stopped arrives late.
		w.WriteStatus("web", horizontaltest.Upstream, horizontaltest.Touch)
		w.Pass(2 * horizontaltest.Period)
		w.WantReplicas("web", 4, "the other one has stopped")
		if w.HasEvent("Contested") {
			t.Errorf("events %q", w.Events)
		}
	})
}

// Clocks do not matter: the times in managedFields are compared with each other.
func TestContestIsSeenWhateverTheClocksSay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.Web("web", 2)
		w.AddHPA(hpa)
		w.Start()
		w.Pass(10 * time.Second)
		for _, behind := range []time.Duration{-time.Hour, -time.Hour + time.Minute} {
			object := w.HPA("web")
			at := metav1.NewTime(time.Now().Add(behind).Truncate(time.Second))
			object.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: horizontaltest.Upstream, Subresource: "status", Time: &at}}
			horizontaltest.Touch(&object.Status)
			w.Store(horizontaltest.HPAResource, object)
			w.Pass(time.Second)
		}
		if !w.HasEvent("ScalingContested") {
			t.Errorf("events %q", w.Events)
		}
	})
}

func TestOwnAndForeignSpecWritesAreNoContest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 2))
		w.Start()
		w.Pass(10 * time.Second)
		object := w.HPA("web")
		now := metav1.NewTime(time.Now())
		object.ManagedFields = []metav1.ManagedFieldsEntry{
			{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, Time: &now},
			{Manager: controllerhorizontal.FieldManager, Subresource: "status", Time: &now},
		}
		w.Store(horizontaltest.HPAResource, object)
		w.Pass(time.Second)
		if w.HasEvent("Contested") {
			t.Errorf("events %q", w.Events)
		}
	})
}

func TestForeignWriteDuringDecisionStopsIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(horizontaltest.Externally(w.Web("web", 2)))
		w.Start()
		w.Pass(10 * time.Second)
		asked := make(chan struct{}, 100)
		w.Set(func() {
			w.ExternalValue = func(context.Context) (int64, error) {
				asked <- struct{}{}
				time.Sleep(3 * time.Second) //nolint:forbidigo // virtual time: a slow adapter
				return 1000, nil
			}
		})
		<-asked
		w.WriteStatus("web", horizontaltest.Upstream, horizontaltest.Touch)
		w.Pass(time.Minute)
		if writes := w.ScaleWrites(); len(writes) != 0 {
			t.Errorf("scale writes %q after the other one's", writes)
		}
	})
}

// TestTwoInstallations: each with its own Lease. They detect each other, and one of them scales, with its policy.
func TestTwoInstallations(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a")
		hpa := w.Web("web", 4)
		hpa.Spec.MaxReplicas = 100
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &autoscalingv2.HPAScalingRules{
			Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 2,
				PeriodSeconds: 300}},
		}}
		w.Onto("web", 4, "a")
		w.AddHPA(hpa)
		first, registry := func() {}, w.Registry
		for _, name := range []string{"plimsoll", "plimsoll/other"} {
			w.Registry = prometheus.NewRegistry()
			w.Start(k.Direct, func(c *controllerhorizontal.Config) { c.SyncPeriod, c.FieldManager = horizontaltest.Period, name })
			stop, before := w.Stop, first
			first = func() { stop(); before() }
			w.Pass(5 * time.Second)
		}
		second := w.Registry
		w.Registry, w.Stop = registry, first
		w.Set(func() { k.Milli = 110 })
		w.Pass(time.Minute)
		w.Set(func() { k.Milli, w.Events = 1000, nil })
		w.Pass(4 * time.Minute)
		if got := w.ScaleWrites(); !slices.Equal(got, []string{"web 4→6"}) {
			t.Errorf("scale writes %q, want two pods in five minutes", got)
		}
		w.Registry = second
		if w.Metric("plimsoll_contested_horizontal_pod_autoscalers") != 1 {
			t.Error("the second one does not know of the first")
		}
	})
}

// TestInstallationsFindEachOther: the one whose name sorts first continues, the other one stops, and both report it.
func TestInstallationsFindEachOther(t *testing.T) {
	for own, tt := range map[string]struct {
		contested float64
		event     string
	}{
		controllerhorizontal.FieldManager:        {0, "plimsoll/m, another installation of plimsoll"},
		controllerhorizontal.FieldManager + "/a": {0, "plimsoll/m, another installation of plimsoll"},
		controllerhorizontal.FieldManager + "/z": {1, "plimsoll/m writes the status of this object too; plimsoll does not scale it"},
	} {
		t.Run(own, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.AddHPA(w.Web("web", 2))
				w.Start(func(c *controllerhorizontal.Config) { c.FieldManager = own })
				w.Pass(10 * time.Second)
				for range 3 {
					w.WriteStatus("web", controllerhorizontal.FieldManager+"/m", horizontaltest.Touch)
					w.Pass(2 * time.Second)
				}
				if got := w.Metric("plimsoll_contested_horizontal_pod_autoscalers"); got != tt.contested {
					t.Errorf("%v contested objects, want %v", got, tt.contested)
				}
				if n := horizontaltest.Count(w.Events, tt.event); n != 1 {
					t.Errorf("%d events, want one: %q", n, w.Events)
				}
				if got := w.Metric("plimsoll_foreign_status_writes_total"); got != 3 {
					t.Errorf("%v foreign writes, want 3", got)
				}
				wantCondition(t, w, own, "True AnotherWriter")
				w.Pass(takeover.DefaultDelay + horizontaltest.Period)
				wantCondition(t, w, own, "False NoOtherWriter")
			})
		})
	}
}

// wantCondition: the one that continues names the other in a condition. Without this write, the other one would not
// notice it while both decide the same.
func wantCondition(t *testing.T, w *world, own, want string) {
	t.Helper()
	if own == controllerhorizontal.FieldManager+"/z" {
		want = "none"
	}
	if got := w.Condition("web", statusreport.ReplicasOverridden); got != want {
		t.Errorf("ReplicasOverridden is %q, want %q", got, want)
	}
}

// TestMovedInstallation: Plimsoll was moved to another namespace, so that its name is another one. Once one
// WorkloadAutoscaler shows that the former installation is gone, Plimsoll acts on all: also on those whose status
// becomes out of date only when their load changes.
func TestMovedInstallation(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.Workloads()
		w.ExternalValue = func(context.Context) (int64, error) { return 200, nil }
		names := []string{"first", "second"}
		for _, name := range names {
			api.Put(horizontaltest.WorkloadOf(horizontaltest.Externally(w.Web(name, 2))))
		}
		w.Start(api.Serve)
		w.Pass(horizontaltest.Period)
		w.Stop()
		for _, name := range names {
			object := api.Get(name)
			object.ManagedFields = horizontaltest.WroteStatus(object.ManagedFields, controllerhorizontal.FieldManager)
			api.Put(object)
		}
		w.Registry = prometheus.NewRegistry()
		w.Start(api.Serve, func(c *controllerhorizontal.Config) {
			c.FieldManager = controllerhorizontal.FieldManager + "/autoscaling"
		})
		w.Pass(10 * time.Minute)
		w.SetReplicas("first", 3)
		w.Pass(time.Hour)
		w.Set(func() { w.ExternalValue = func(context.Context) (int64, error) { return 1000, nil } })
		w.Pass(horizontaltest.Period)
		w.WantReplicas("second", 4, "the former installation is gone")
	})
}
