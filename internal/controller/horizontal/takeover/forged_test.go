package takeover_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
)

// forge returns managedFields that any user who may edit an object can write. The status does not change: that takes
// another permission.
func forge(manager string, at time.Time) []metav1.ManagedFieldsEntry {
	t := metav1.NewTime(at)
	return []metav1.ManagedFieldsEntry{{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", Time: &t,
	}}
}

func (w *world) forge(name, manager string, at time.Time) {
	w.T.Helper()
	hpa := w.HPA(name)
	hpa.ManagedFields = forge(manager, at)
	w.Store(horizontaltest.HPAResource, hpa)
}

// A user who may edit one HPA must not prevent others from being scaled if kube-controller-manager's loop is off.
func TestForgedWritesStopNoOtherHPA(t *testing.T) {
	for _, manager := range []string{horizontaltest.Upstream, "plimsoll", "plimsoll/zz"} {
		inWorld(t, func(t *testing.T, w *world) {
			w.AddHPA(w.Web("web", 2))
			w.AddHPA(w.Web("forged", 2))
			w.Start(horizontaltest.InAuto, func(c *controllerhorizontal.Config) { c.FieldManager = "plimsoll/b" })
			w.Pass(6 * time.Minute)
			w.wantStates(2, 0, 0)
			w.Set(func() { w.Usage = 200 })
			w.forge("forged", manager, time.Now())
			w.Pass(time.Second)
			w.AddHPA(w.Web("new", 2))
			w.Pass(horizontaltest.Period)
			w.WantReplicas("new", 4, "the status of no HPA was written by "+manager)
			for range 144 {
				w.Pass(25 * time.Second)
				w.forge("forged", manager, time.Now())
			}
			w.AddHPA(w.Web("newer", 2))
			w.Pass(horizontaltest.Period)
			w.WantReplicas("newer", 4, "after an hour of forged writes by "+manager)
			w.wantStates(4, 0, 0)
			if w.HasEvent("ScalingContested") {
				t.Errorf("events %q", w.Events)
			}
		})
	}
}

// Such a user must not make Plimsoll act on others beside a kube-controller-manager that has nothing to write, before
// the start of Plimsoll or after it.
func TestForgedOwnWritesTakeNoOtherHPA(t *testing.T) {
	for name, isEarly := range map[string]bool{"before the start": true, "after the start": false} {
		for _, at := range []time.Duration{-time.Second, 50 * 365 * 24 * time.Hour} {
			inWorld(t, func(t *testing.T, w *world) {
				for _, name := range []string{"web", "other"} {
					w.AddHPA(w.Web(name, 2))
					w.UpstreamDecides(name, 2)
					w.WriteStatus(name, horizontaltest.Upstream, showing(100))
				}
				forged := w.Web("forged", 2)
				forged.ManagedFields = forge(controllerhorizontal.FieldManager, time.Now().Add(at))
				if isEarly {
					w.AddHPA(forged)
				}
				w.Start(horizontaltest.InAuto)
				if !isEarly {
					w.Pass(10 * time.Minute)
					w.AddHPA(forged)
				}
				w.Pass(45 * time.Second)
				if got := w.Metric("plimsoll_horizontal_pod_autoscalers", "acting"); got != 0 {
					t.Errorf("%s: %v HPAs are acted on", name, got)
				}
				// The other controller is about to scale by that load, and Plimsoll must not.
				w.Set(func() { w.Usage = 200 })
				w.Pass(horizontaltest.Period)
				if writes := w.ScaleWrites(); len(writes) != 0 {
					t.Errorf("%s: scale writes %q", name, writes)
				}
			})
		}
	}
}

// othersForAnHour plays an hour beside a loop that is off, that writes, or that has nothing to write, with a new HPA,
// and with a restart of Plimsoll. It returns the states of the HPAs of the namespace shop in each sync period.
func (w *world) othersForAnHour(loop string, forge func()) (record []string) {
	w.T.Helper()
	names := []string{"web", "idle"}
	for _, name := range []string{"web", "idle", "evil/one", "evil/two"} {
		w.AddHPA(w.Web(name, 2))
		w.UpstreamDecides(name, 2)
		w.WriteStatus(name, horizontaltest.Upstream, showing(100))
	}
	inB := func(c *controllerhorizontal.Config) { c.FieldManager = controllerhorizontal.FieldManager + "/b" }
	w.Start(horizontaltest.InAuto, inB)
	for i := range 240 {
		forge()
		switch {
		case i == 80:
			hpa := w.Web("new", 2)
			w.Pass(time.Second) // until its pods are known
			w.AddHPA(hpa)
			names = append(names, "new")
			if loop != "off" {
				w.UpstreamDecides("new", 2)
				w.WriteStatus("new", horizontaltest.Upstream, showing(100))
			}
		case i == 120:
			w.Stop()
			w.Registry = prometheus.NewRegistry()
			w.Start(horizontaltest.InAuto, inB)
		case loop == "off":
			w.Set(func() { w.Usage = []int64{100, 200, 50, 300}[i/20%4] })
		case loop == "writes":
			w.UpstreamDecides("web", 2+int32(i%3))
		case i == 200:
			// The loop is about to scale by that load, and Plimsoll must not.
			w.Set(func() { w.Usage = 200 })
		case i == 202:
			w.Set(func() { w.Usage = 100 })
		}
		w.Pass(horizontaltest.Period - time.Duration(i%2)*time.Second)
		for _, name := range names {
			s := &w.HPA(name).Status
			record = append(record, fmt.Sprintf("%d %s: %d replicas, status %d of %d", i, name, w.Replicas(name),
				s.DesiredReplicas, s.CurrentReplicas))
		}
	}
	return append(record, fmt.Sprint("named by events: ", w.HasEvent("web Warning"), w.HasEvent("idle Warning"),
		w.HasEvent("new Warning")))
}

// Whatever managedFields are forged in a namespace, nothing changes in another one in an hour.
func TestForgedFieldsChangeNothingElsewhere(t *testing.T) {
	for _, loop := range []string{"off", "writes", "silent"} {
		var want []string
		inWorld(t, func(_ *testing.T, w *world) { want = w.othersForAnHour(loop, func() {}) })
		for _, manager := range []string{horizontaltest.Upstream, controllerhorizontal.FieldManager, controllerhorizontal.FieldManager + "/b", controllerhorizontal.FieldManager + "/zz"} {
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

// A user who may edit one WorkloadAutoscaler must not prevent others from being scaled either.
func TestForgedInstallationStopsNoOther(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		api := w.Workloads()
		api.Put(horizontaltest.WorkloadOf(w.Web("forged", 2)))
		w.Start(api.Serve, func(c *controllerhorizontal.Config) { c.FieldManager = "plimsoll/autoscaling" })
		w.Pass(time.Minute)
		w.Set(func() { w.Usage = 200 })
		for _, name := range []string{"new", "newer", "newest"} {
			o := api.Get("forged")
			o.ManagedFields = forge("plimsoll", time.Now())
			api.Put(o)
			w.Pass(time.Second)
			api.Put(horizontaltest.WorkloadOf(w.Web(name, 2)))
			w.Pass(horizontaltest.Period)
			w.WantReplicas(name, 4, "no other installation has written a status")
			w.Pass(9 * time.Minute)
		}
		if w.HasEvent("ScalingContested") {
			t.Errorf("events %q", w.Events)
		}
	})
}

// A status write of another controller counts although somebody else edits the rest of the object meanwhile.
func TestAWriteOfTheStatusCountsBesideForgedOnes(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 2))
		w.Start(horizontaltest.InAuto)
		w.Pass(6 * time.Minute)
		w.forge("web", horizontaltest.Upstream, time.Now().Add(time.Hour))
		w.Pass(time.Second)
		w.wantStates(1, 0, 0)
		w.WriteStatus("web", horizontaltest.Upstream, func(s *autoscalingv2.HorizontalPodAutoscalerStatus) { s.DesiredReplicas++ })
		w.Pass(time.Second)
		w.wantStates(0, 1, 0)
		if !w.HasEvent("web Warning ScalingContested") {
			t.Errorf("events %q", w.Events)
		}
	})
}
