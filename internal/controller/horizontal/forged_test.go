package horizontal

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// forge is what anybody who may edit an object can put into its metadata.managedFields. The status stays as it is: that
// takes another right.
func forge(manager string, at time.Time) []metav1.ManagedFieldsEntry {
	t := metav1.NewTime(at)
	return []metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", Time: &t,
	}}
}

func (w *world) forge(name, manager string, at time.Time) {
	w.t.Helper()
	hpa := w.hpa(name)
	hpa.ManagedFields = forge(manager, at)
	w.store(hpaResource, hpa)
}

// Who may edit one HPA must not keep others from being scaled, where kube-controller-manager's loop is off.
func TestForgedWritesStopNoOtherHPA(t *testing.T) {
	for _, manager := range []string{upstream, "plimsoll", "plimsoll/zz"} {
		inWorld(t, func(t *testing.T, w *world) {
			w.addHPA(w.web("web", 2))
			w.addHPA(w.web("forged", 2))
			w.start(inAuto, func(c *Config) { c.FieldManager = "plimsoll/b" })
			w.pass(6 * time.Minute)
			w.wantStates(2, 0, 0)
			w.set(func() { w.usage = 200 })
			w.forge("forged", manager, time.Now())
			w.pass(time.Second)
			w.addHPA(w.web("new", 2))
			w.pass(period)
			w.wantReplicas("new", 4, "the status of no HPA was written by "+manager)
			for range 144 {
				w.pass(25 * time.Second)
				w.forge("forged", manager, time.Now())
			}
			w.addHPA(w.web("newer", 2))
			w.pass(period)
			w.wantReplicas("newer", 4, "after an hour of forged writes by "+manager)
			w.wantStates(4, 0, 0)
			if w.hasEvent("ScalingContested") {
				t.Errorf("events %q", w.events)
			}
		})
	}
}

// Nor must they make Plimsoll act on others beside a kube-controller-manager that has nothing to write, before the
// start of Plimsoll or after it.
func TestForgedOwnWritesTakeNoOtherHPA(t *testing.T) {
	for name, isEarly := range map[string]bool{"before the start": true, "after the start": false} {
		for _, at := range []time.Duration{-time.Second, 50 * 365 * 24 * time.Hour} {
			inWorld(t, func(t *testing.T, w *world) {
				for _, name := range []string{"web", "other"} {
					w.addHPA(w.web(name, 2))
					w.upstreamDecides(name, 2)
					w.writeStatus(name, upstream, showing(100))
				}
				forged := w.web("forged", 2)
				forged.ManagedFields = forge(FieldManager, time.Now().Add(at))
				if isEarly {
					w.addHPA(forged)
				}
				w.start(inAuto)
				if !isEarly {
					w.pass(10 * time.Minute)
					w.addHPA(forged)
				}
				w.pass(45 * time.Second)
				if got := w.metric("plimsoll_horizontal_pod_autoscalers", "acting"); got != 0 {
					t.Errorf("%s: %v HPAs are acted on", name, got)
				}
				// The other controller scales by that load in a moment, and Plimsoll must not.
				w.set(func() { w.usage = 200 })
				w.pass(period)
				if writes := w.scaleWrites(); len(writes) != 0 {
					t.Errorf("%s: scale writes %q", name, writes)
				}
			})
		}
	}
}

// othersForAnHour plays an hour: of a loop that is off, that writes, or that has nothing to write, with a new HPA, and with
// a Plimsoll that is started anew. It is what became of the HPAs of the namespace shop, each sync period.
func (w *world) othersForAnHour(loop string, forge func()) (record []string) {
	w.t.Helper()
	names := []string{"web", "idle"}
	for _, name := range []string{"web", "idle", "evil/one", "evil/two"} {
		w.addHPA(w.web(name, 2))
		w.upstreamDecides(name, 2)
		w.writeStatus(name, upstream, showing(100))
	}
	inB := func(c *Config) { c.FieldManager = FieldManager + "/b" }
	w.start(inAuto, inB)
	for i := range 240 {
		forge()
		switch {
		case i == 80:
			hpa := w.web("new", 2)
			w.pass(time.Second) // until its pods are known
			w.addHPA(hpa)
			names = append(names, "new")
			if loop != "off" {
				w.upstreamDecides("new", 2)
				w.writeStatus("new", upstream, showing(100))
			}
		case i == 120:
			w.stop()
			w.registry = prometheus.NewRegistry()
			w.start(inAuto, inB)
		case loop == "off":
			w.set(func() { w.usage = []int64{100, 200, 50, 300}[i/20%4] })
		case loop == "writes":
			w.upstreamDecides("web", 2+int32(i%3))
		case i == 200:
			// The loop would scale by that load in a moment, and Plimsoll must not.
			w.set(func() { w.usage = 200 })
		case i == 202:
			w.set(func() { w.usage = 100 })
		}
		w.pass(period - time.Duration(i%2)*time.Second)
		for _, name := range names {
			s := &w.hpa(name).Status
			record = append(record, fmt.Sprintf("%d %s: %d replicas, status %d of %d", i, name, w.replicas(name),
				s.DesiredReplicas, s.CurrentReplicas))
		}
	}
	return append(record, fmt.Sprint("named by events: ", w.hasEvent("web Warning"), w.hasEvent("idle Warning"),
		w.hasEvent("new Warning")))
}

// Whatever managedFields are forged in a namespace, nothing changes in another one in an hour.
func TestForgedFieldsChangeNothingElsewhere(t *testing.T) {
	for _, loop := range []string{"off", "writes", "silent"} {
		var want []string
		inWorld(t, func(_ *testing.T, w *world) { want = w.othersForAnHour(loop, func() {}) })
		for _, manager := range []string{upstream, FieldManager, FieldManager + "/b", FieldManager + "/zz"} {
			inWorld(t, func(t *testing.T, w *world) {
				got := w.othersForAnHour(loop, func() {
					w.forge("evil/one", manager, time.Now().Add(-time.Second))
					w.forge("evil/two", manager, time.Now().Add(50*365*24*time.Hour))
				})
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("loop %s, forged %s: (-without +with)\n%s", loop, manager, diff)
				}
			})
		}
	}
}

// Who may edit one WorkloadAutoscaler must not keep others from being scaled either.
func TestForgedInstallationStopsNoOther(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.workloads()
		api.put(workloadOf(w.web("forged", 2)))
		w.start(api.serve, func(c *Config) { c.FieldManager = "plimsoll/autoscaling" })
		w.pass(time.Minute)
		w.set(func() { w.usage = 200 })
		for _, name := range []string{"new", "newer", "newest"} {
			o := api.get("forged")
			o.ManagedFields = forge("plimsoll", time.Now())
			api.put(o)
			w.pass(time.Second)
			api.put(workloadOf(w.web(name, 2)))
			w.pass(period)
			w.wantReplicas(name, 4, "no other installation has written a status")
			w.pass(9 * time.Minute)
		}
		if w.hasEvent("ScalingContested") {
			t.Errorf("events %q", w.events)
		}
	})
}

// A status that another controller wrote is one, whoever edits the rest of the object meanwhile.
func TestAWriteOfTheStatusCountsBesideForgedOnes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		w.start(inAuto)
		w.pass(6 * time.Minute)
		w.forge("web", upstream, time.Now().Add(time.Hour))
		w.pass(time.Second)
		w.wantStates(1, 0, 0)
		w.writeStatus("web", upstream, func(s *autoscalingv2.HorizontalPodAutoscalerStatus) { s.DesiredReplicas++ })
		w.pass(time.Second)
		w.wantStates(0, 1, 0)
		if !w.hasEvent("web Warning ScalingContested") {
			t.Errorf("events %q", w.events)
		}
	})
}
