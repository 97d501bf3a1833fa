package scaling_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/scaling"
)

// decisionsOn counts decisions on an object in the log.
func (w *world) decisionsOn(name string) int {
	n := 0
	w.Set(func() {
		for _, line := range w.Logs {
			if strings.Contains(line, `"object"="shop/`+name+`"`) && strings.Contains(line, `"msg"="decided"`) {
				n++
			}
		}
	})
	return n
}

// TestScaleIsReadOnceInASyncPeriod: a target without a cache costs upstream's four GETs a minute, not one for each
// decision; new pods of it cause another one.
func TestScaleIsReadOnceInASyncPeriod(t *testing.T) {
	for kind, most := range map[string]int64{"Deployment": 0, "ReplicationController": 4} {
		t.Run(kind, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				k := w.Kubelets("a")
				hpa := w.Web("web", 2)
				w.Onto("web", 2, "a")
				if kind != "Deployment" {
					horizontaltest.Custom(hpa, "v1", kind)
				}
				w.AddHPA(hpa)
				scales := &horizontaltest.CountedScales{W: w.World}
				w.Start(k.Direct, func(c *controllerhorizontal.Config) { c.SyncPeriod, c.Scales = horizontaltest.Period, scales })
				w.Pass(30 * time.Second)
				before, decided := scales.Gets.Load(), w.decisionsOn("web")
				w.Pass(time.Minute)
				if n := scales.Gets.Load() - before; n > most || most > 0 && n < most-1 {
					t.Errorf("%d GETs of the scale in a minute, want %d", n, most)
				}
				if n := w.decisionsOn("web") - decided; n < 60 {
					t.Errorf("%d decisions in a minute, want 60", n)
				}
				before = scales.Gets.Load()
				w.SetReplicas("web", 3)
				w.Add(horizontaltest.PodResource, horizontaltest.Pod("web-2", map[string]string{"app": "web"}))
				w.Pass(scaling.ReadGap + 2*time.Second)
				if n := scales.Gets.Load() - before; n < most/4 || n > most/2 {
					t.Errorf("%d GETs within seconds of a new pod", n)
				}
				if got := w.HPA("web").Status.CurrentReplicas; got != 2 && got != 3 {
					t.Errorf("%d replicas in status", got)
				}
			})
		})
	}
}

// TestScaleWriteOnKeptScale: the cached scale may be a sync period old at a write; the API server checks the write,
// which does not overwrite another writer's replica count.
func TestScaleWriteOnKeptScale(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a")
		w.AddHPA(horizontaltest.Custom(w.Web("web", 2), "v1", "ReplicationController"))
		w.Onto("web", 2, "a")
		scales := &horizontaltest.CountedScales{W: w.World}
		w.Start(k.Direct, func(c *controllerhorizontal.Config) { c.SyncPeriod, c.Scales = horizontaltest.Period, scales })
		w.Pass(30 * time.Second)
		for gets := scales.Gets.Load(); scales.Gets.Load() == gets; {
			w.Pass(100 * time.Millisecond)
		}
		w.SetReplicas("web", 10)
		w.Set(func() { k.Milli = 200 })
		w.Pass(10 * time.Second)
		if got := w.ScaleWrites(); len(got) != 0 || w.Metric("plimsoll_overtaken_decisions_total") == 0 {
			t.Errorf("scale writes %q: what was decided on the kept count is not written over the other's", got)
		}
	})
}

// TestSlowConflictIsNotRepeated: with a slow API server, a conflict takes longer than a decision is valid. The next
// decision uses the scale that the conflict returned.
func TestSlowConflictIsNotRepeated(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a")
		w.AddHPA(horizontaltest.Custom(w.Web("web", 2), "v1", "ReplicationController"))
		w.Onto("web", 2, "a")
		const takes = 600 * time.Millisecond
		scales := &horizontaltest.CountedScales{W: w.World, Takes: takes, PutTakes: takes}
		w.Start(k.Direct, func(c *controllerhorizontal.Config) { c.SyncPeriod, c.Scales = horizontaltest.Period, scales })
		w.Pass(30 * time.Second)
		for gets := scales.Gets.Load(); scales.Gets.Load() == gets; {
			w.Pass(100 * time.Millisecond)
		}
		w.Pass(takes)
		// Its status changes, as that of a Rollout does every few seconds.
		w.Store(horizontaltest.DeploymentResource, w.Deployment("web"))
		w.Set(func() { k.Milli = 200 })
		w.Pass(5 * time.Second)
		if got := w.ScaleWrites(); len(got) != 1 {
			t.Errorf("scale writes %q after 5 s", got)
		}
		if got := scales.Puts.Load(); got != 2 || w.Metric("plimsoll_outdated_decisions_total") != 1 {
			t.Errorf("%d PUTs, want one in conflict and one that succeeds", got)
		}
	})
}

// TestHungScalesHoldNoOther: scales that hang delay no objects of other kinds; the object's condition has the reason
// why it is not scaled.
func TestHungScalesHoldNoOther(t *testing.T) {
	for _, n := range []int{5, 20, 60} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				k := w.Kubelets("a")
				for i := range n {
					w.AddHPA(horizontaltest.Custom(w.Web(fmt.Sprintf("hung-%d", i), 1), "v1", "ReplicationController"))
				}
				for _, name := range []string{"web", "set"} {
					hpa := w.Web(name, 2)
					w.Onto(name, 2, "a")
					if name == "set" {
						// The cache has none of this name.
						horizontaltest.Custom(hpa, "apps/v1", "StatefulSet")
					}
					w.AddHPA(hpa)
				}
				w.Start(k.Direct, func(c *controllerhorizontal.Config) {
					c.SyncPeriod, c.Workers, c.Scales = horizontaltest.Period, 5, &horizontaltest.CountedScales{W: w.World, Hung: "hung"}
				})
				w.Pass(3 * time.Minute)
				for _, name := range []string{"web", "set"} {
					if got := w.decisionsOn(name); got < 178 {
						t.Errorf("%d decisions on %s in 180 s", got, name)
					}
				}
				if got := w.Condition("hung-0", autoscalingv2.AbleToScale); got != "False FailedGetScale" ||
					!w.HasEvent("hung-0 Warning FailedGetScale") {
					t.Errorf("AbleToScale of one that hangs is %s", got)
				}
				if got := w.ScaleWrites(); len(got) != 0 {
					t.Errorf("scaled %q", got)
				}
			})
		})
	}
}

// TestSlowDiscoveryHoldsNoOther: an HPA that names a kind that does not exist delays no other.
func TestSlowDiscoveryHoldsNoOther(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a")
		for i := range 20 {
			w.AddHPA(horizontaltest.Custom(w.Web(fmt.Sprintf("none-%d", i), 1), "example.com/v1", fmt.Sprintf("Kind%d", i)))
		}
		w.AddHPA(w.Web("web", 2))
		w.Onto("web", 2, "a")
		w.Start(k.Direct, func(c *controllerhorizontal.Config) {
			c.SyncPeriod, c.Workers, c.Mapper = horizontaltest.Period, 5, horizontaltest.SlowMapper{RESTMapper: c.Mapper}
		})
		w.Pass(time.Minute)
		if got := w.decisionsOn("web"); got < 58 {
			t.Errorf("%d decisions in a minute", got)
		}
		if got := w.Condition("none-0", autoscalingv2.AbleToScale); got != "False FailedGetScale" {
			t.Errorf("AbleToScale of a kind that does not exist is %s", got)
		}
	})
}

// TestManyCustomTargets: their scales take 20 ms each to read.
func TestManyCustomTargets(t *testing.T) {
	const n = 300
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a")
		for i := range n {
			name := fmt.Sprintf("rollout-%d", i)
			w.AddHPA(horizontaltest.Custom(w.Web(name, 1), "v1", "ReplicationController"))
			w.Onto(name, 1, "a")
		}
		w.AddHPA(w.Web("web", 2))
		w.Onto("web", 2, "a")
		scales := &horizontaltest.CountedScales{W: w.World, Takes: 20 * time.Millisecond}
		w.Start(k.Direct, func(c *controllerhorizontal.Config) {
			c.SyncPeriod, c.Workers, c.Scales = horizontaltest.Period, 5, scales
		})
		w.Pass(30 * time.Second)
		gets, decided := scales.Gets.Load(), w.decisionsOn("web")
		w.Pass(time.Minute)
		if got := scales.Gets.Load() - gets; got > 4*n {
			t.Errorf("%d GETs a minute, want upstream's %d at most", got, 4*n)
		}
		if got := w.decisionsOn("web") - decided; got < 60 {
			t.Errorf("a Deployment's object is decided %d times a minute", got)
		}
	})
}
