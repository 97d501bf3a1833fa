package horizontal

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
)

const upstream = "kube-controller-manager"

// touch is a status write that changes something.
func touch(s *autoscalingv2.HorizontalPodAutoscalerStatus) { s.DesiredReplicas++ }

func TestContestedObjectIsLeftAloneForTwoMinutes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		w.addHPA(w.web("other", 2))
		w.start()
		w.pass(10 * time.Second)
		w.writeStatus("web", upstream, touch)
		w.pass(time.Second)
		if !w.hasEvent("web Warning ScalingContested: kube-controller-manager writes the status") {
			t.Fatalf("events %q", w.events)
		}
		if got := w.metric("plimsoll_contested_horizontal_pod_autoscalers"); got != 1 {
			t.Errorf("%v contested objects, want 1", got)
		}
		w.set(func() { w.usage = 200 })
		status := w.hpa("web").ResourceVersion
		w.pass(100 * time.Second)
		w.wantReplicas("web", 2, "the other one scales it")
		w.wantReplicas("other", 4, "no other controller writes the status of this one")
		if w.hpa("web").ResourceVersion != status {
			t.Error("the status of a contested object was written: that provokes the other")
		}
		w.writeStatus("web", upstream, touch)
		w.pass(115 * time.Second)
		w.wantReplicas("web", 2, "the two minutes count from the last write")
		w.pass(10 * time.Second)
		w.wantReplicas("web", 4, "two minutes without such a write")
		if !w.hasEvent("web Normal ScalingResumed") {
			t.Errorf("events %q", w.events)
		}
		if got := w.metric("plimsoll_contested_horizontal_pod_autoscalers"); got != 0 {
			t.Errorf("%v contested objects, want 0", got)
		}
		if n := count(w.events, "ScalingContested"); n != 1 {
			t.Errorf("%d events for one contest, want 1", n)
		}
	})
}

func TestContestEndsWithTheObject(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		w.start()
		w.pass(10 * time.Second)
		w.writeStatus("web", upstream, touch)
		w.pass(time.Second)
		w.deleteHPA("web")
		w.pass(time.Second)
		w.pass(takeover.DefaultDelay)
		if got := w.metric("plimsoll_contested_horizontal_pod_autoscalers"); got != 0 {
			t.Errorf("%v contested objects, but there is none", got)
		}
	})
}

// After a handover the object still shows what the other one wrote before, in an
// entry that shrinks as Plimsoll's writes take fields over and keeps its time.
func TestHandoverIsNoContest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.web("web", 2)
		before := metav1.NewTime(time.Now().Add(-time.Second))
		hpa.ManagedFields = []metav1.ManagedFieldsEntry{{
			Manager: upstream, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", Time: &before,
		}}
		w.usage = 200
		w.addHPA(hpa)
		w.start()
		// What was under way when the other one was stopped arrives late.
		w.writeStatus("web", upstream, touch)
		w.pass(2 * period)
		w.wantReplicas("web", 4, "the other one has stopped")
		if w.hasEvent("Contested") {
			t.Errorf("events %q", w.events)
		}
	})
}

// Clocks play no part: the times in managedFields are compared with each other.
func TestContestIsSeenWhateverTheClocksSay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.web("web", 2)
		w.addHPA(hpa)
		w.start()
		w.pass(10 * time.Second)
		for _, behind := range []time.Duration{-time.Hour, -time.Hour + time.Minute} {
			object := w.hpa("web")
			at := metav1.NewTime(time.Now().Add(behind).Truncate(time.Second))
			object.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: upstream, Subresource: "status", Time: &at}}
			touch(&object.Status)
			w.store(hpaResource, object)
			w.pass(time.Second)
		}
		if !w.hasEvent("ScalingContested") {
			t.Errorf("events %q", w.events)
		}
	})
}

func TestOwnAndForeignSpecWritesAreNoContest(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		w.start()
		w.pass(10 * time.Second)
		object := w.hpa("web")
		now := metav1.NewTime(time.Now())
		object.ManagedFields = []metav1.ManagedFieldsEntry{
			{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, Time: &now},
			{Manager: FieldManager, Subresource: "status", Time: &now},
		}
		w.store(hpaResource, object)
		w.pass(time.Second)
		if w.hasEvent("Contested") {
			t.Errorf("events %q", w.events)
		}
	})
}

func TestForeignWriteDuringDecisionStopsIt(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(externally(w.web("web", 2)))
		w.start()
		w.pass(10 * time.Second)
		asked := make(chan struct{}, 100)
		w.set(func() {
			w.external = func(context.Context) (int64, error) {
				asked <- struct{}{}
				time.Sleep(3 * time.Second) //nolint:forbidigo // virtual time: a slow adapter
				return 1000, nil
			}
		})
		<-asked
		w.writeStatus("web", upstream, touch)
		w.pass(time.Minute)
		if writes := w.scaleWrites(); len(writes) != 0 {
			t.Errorf("scale writes %q after the other one's", writes)
		}
	})
}

func count(events []string, part string) int {
	n := 0
	for _, e := range events {
		if strings.Contains(e, part) {
			n++
		}
	}
	return n
}

// TestTwoInstallations: each with its own Lease. They find each other, and one of them
// scales, with its policy.
func TestTwoInstallations(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a")
		hpa := w.web("web", 4)
		hpa.Spec.MaxReplicas = 100
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &autoscalingv2.HPAScalingRules{
			Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 2,
				PeriodSeconds: 300}},
		}}
		w.onto("web", 4, "a")
		w.addHPA(hpa)
		first, registry := func() {}, w.registry
		for _, name := range []string{"plimsoll", "plimsoll/other"} {
			w.registry = prometheus.NewRegistry()
			w.start(k.direct, func(c *Config) { c.SyncPeriod, c.FieldManager = period, name })
			stop, before := w.stop, first
			first = func() { stop(); before() }
			w.pass(5 * time.Second)
		}
		second := w.registry
		w.registry, w.stop = registry, first
		w.set(func() { k.milli = 110 })
		w.pass(time.Minute)
		w.set(func() { k.milli, w.events = 1000, nil })
		w.pass(4 * time.Minute)
		if got := w.scaleWrites(); !slices.Equal(got, []string{"web 4→6"}) {
			t.Errorf("scale writes %q, want two pods in five minutes", got)
		}
		w.registry = second
		if w.metric("plimsoll_contested_horizontal_pod_autoscalers") != 1 {
			t.Error("the second one does not know of the first")
		}
	})
}

// TestInstallationsFindEachOther: whose name comes first goes on, the other one stops, and
// both say so.
func TestInstallationsFindEachOther(t *testing.T) {
	for own, tt := range map[string]struct {
		contested float64
		event     string
	}{
		FieldManager:        {0, "plimsoll/m, another installation of plimsoll"},
		FieldManager + "/a": {0, "plimsoll/m, another installation of plimsoll"},
		FieldManager + "/z": {1, "plimsoll/m writes the status of this object too; plimsoll does not scale it"},
	} {
		t.Run(own, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.addHPA(w.web("web", 2))
				w.start(func(c *Config) { c.FieldManager = own })
				w.pass(10 * time.Second)
				for range 3 {
					w.writeStatus("web", FieldManager+"/m", touch)
					w.pass(2 * time.Second)
				}
				if got := w.metric("plimsoll_contested_horizontal_pod_autoscalers"); got != tt.contested {
					t.Errorf("%v contested objects, want %v", got, tt.contested)
				}
				if n := count(w.events, tt.event); n != 1 {
					t.Errorf("%d events, want one: %q", n, w.events)
				}
				if got := w.metric("plimsoll_foreign_status_writes_total"); got != 3 {
					t.Errorf("%v foreign writes, want 3", got)
				}
			})
		})
	}
}

// TestMovedInstallation: Plimsoll was moved to another namespace, so that its name is another one. As soon as one
// WorkloadAutoscaler shows that the former installation is gone, all are acted on: those also that are out of date only
// when their load changes.
func TestMovedInstallation(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.workloads()
		w.external = func(context.Context) (int64, error) { return 200, nil }
		names := []string{"first", "second"}
		for _, name := range names {
			api.put(workloadOf(externally(w.web(name, 2))))
		}
		w.start(api.serve)
		w.pass(period)
		w.stop()
		for _, name := range names {
			object := api.get(name)
			object.ManagedFields = wroteStatus(object.ManagedFields, FieldManager)
			api.put(object)
		}
		w.registry = prometheus.NewRegistry()
		w.start(api.serve, func(c *Config) { c.FieldManager = FieldManager + "/autoscaling" })
		w.pass(10 * time.Minute)
		w.setReplicas("first", 3)
		w.pass(time.Hour)
		w.set(func() { w.external = func(context.Context) (int64, error) { return 1000, nil } })
		w.pass(period)
		w.wantReplicas("second", 4, "the former installation is gone")
	})
}
