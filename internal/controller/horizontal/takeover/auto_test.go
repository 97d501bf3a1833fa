package takeover_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// wantStates compares the series of HPAs by who acts on them.
func (w *world) wantStates(acting, left, undecided float64) {
	w.T.Helper()
	const series = "plimsoll_horizontal_pod_autoscalers"
	got := [3]float64{w.Metric(series, "acting"), w.Metric(series, "left"), w.Metric(series, "undecided")}
	if want := [3]float64{acting, left, undecided}; got != want {
		w.T.Errorf("%v HPAs acted on, left, undecided; want %v", got, want)
	}
}

// wantNothingWritten fails the test after any write of a controller, including events.
func (w *world) wantNothingWritten() {
	w.T.Helper()
	for _, action := range w.Client.Actions() {
		if verb := action.GetVerb(); verb != "list" && verb != "watch" && verb != "get" {
			w.T.Errorf("%s %s", verb, action.GetResource().Resource)
		}
	}
	if writes := w.ScaleWrites(); len(writes) != 0 {
		w.T.Errorf("scale writes %q", writes)
	}
	if w.HasEvent("") {
		w.T.Errorf("events %q", w.Events)
	}
}

// Beside a running kube-controller-manager Plimsoll writes nothing, and after the start reads nothing either: also for
// an HPA for which the other controller has nothing to write.
func TestAutoLeavesHPAsToTheOtherLoop(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 2))
		w.AddHPA(w.Web("idle", 2))
		w.UpstreamDecides("web", 2)
		w.UpstreamDecides("idle", 2)
		w.Client.ClearActions()
		w.Start(horizontaltest.InAuto, func(c *controllerhorizontal.Config) { c.Triggers = true })
		w.Set(func() { w.Usage = 200 })
		for i := range int32(40) {
			w.UpstreamDecides("web", 2+i%3)
			w.Pass(horizontaltest.Period)
		}
		w.wantNothingWritten()
		w.wantStates(0, 2, 0)
		if n := w.Decisions(); n != 0 {
			t.Errorf("metrics were read %d times", n)
		}
	})
}

// If the other controller's loop is off, the status of an HPA is soon out of date. Two and a half minutes later
// Plimsoll acts on it, and two minutes after that on every HPA.
func TestAutoTakesOverFromALoopThatIsOff(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 2))
		w.AddHPA(w.Web("same", 2))
		for _, name := range []string{"web", "same"} {
			w.UpstreamDecides(name, 2)
		}
		w.WriteStatus("same", horizontaltest.Upstream, showing(100))
		w.WriteStatus("web", horizontaltest.Upstream, showing(90))
		w.Client.ClearActions()
		w.Start(horizontaltest.InAuto)
		w.Pass(149 * time.Second)
		w.wantNothingWritten()
		w.wantStates(0, 0, 2)
		w.Pass(horizontaltest.Period)
		w.wantStates(1, 0, 1)
		w.Set(func() { w.Usage = 200 })
		w.Pass(horizontaltest.Period)
		w.WantReplicas("web", 4, "nobody else acts on it")
		w.Pass(takeover.DefaultDelay - horizontaltest.Period)
		w.wantStates(2, 0, 0)
		w.WantReplicas("same", 4, "nobody has written any status since")
		w.AddHPA(w.Web("later", 2))
		w.Pass(horizontaltest.Period)
		w.WantReplicas("later", 4, "it is new, and Plimsoll acts on all HPAs")
		w.wantStates(3, 0, 0)
		if w.HasEvent("Contested") || w.HasEvent("Resumed") {
			t.Errorf("events %q", w.Events)
		}
	})
}

// showing returns a status with this CPU of each pod.
func showing(milli int32) func(*autoscalingv2.HorizontalPodAutoscalerStatus) {
	return func(s *autoscalingv2.HorizontalPodAutoscalerStatus) {
		value := &s.CurrentMetrics[0].Resource.Current
		value.AverageValue.SetMilli(int64(milli))
		utilization := milli / 2
		value.AverageUtilization = &utilization
	}
}

// The other loop is turned on later: Plimsoll reports that once for each HPA that it acted on, and stops acting.
func TestAutoGivesBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 2))
		w.AddHPA(w.Web("other", 2))
		w.Start(horizontaltest.InAuto)
		w.Pass(3 * time.Minute)
		w.wantStates(2, 0, 0)
		w.UpstreamDecides("web", 2)
		w.Pass(time.Second)
		if !w.HasEvent("web Warning ScalingContested: kube-controller-manager writes the status of this object too; " +
			"plimsoll leaves it to that controller") {
			t.Errorf("events %q", w.Events)
		}
		w.wantStates(1, 1, 0)
		w.UpstreamDecides("other", 2)
		w.Set(func() { w.Usage = 200 })
		for range 30 {
			// The loop has nothing to write for the other HPA, and acts on both.
			w.UpstreamDecides("web", 2)
			w.Pass(horizontaltest.Period)
		}
		if writes := w.ScaleWrites(); len(writes) != 0 {
			t.Errorf("scale writes %q", writes)
		}
		if n := horizontaltest.Count(w.Events, "ScalingContested"); n != 2 || w.HasEvent("Resumed") {
			t.Errorf("events %q", w.Events)
		}
		if got := w.Metric("plimsoll_contested_horizontal_pod_autoscalers"); got != 2 {
			t.Errorf("%v contested objects, want 2", got)
		}
		w.Pass(3 * time.Minute)
		w.WantReplicas("web", 4, "the other loop is off again")
		w.WantReplicas("other", 4, "the other loop is off again")
		if n := horizontaltest.Count(w.Events, "ScalingResumed"); n != 2 {
			t.Errorf("events %q", w.Events)
		}
		if got := w.Metric("plimsoll_contested_horizontal_pod_autoscalers"); got != 0 {
			t.Errorf("%v contested objects, want 0", got)
		}
	})
}

// A watch that is stuck shows none of the other controller's writes. Plimsoll reads an HPA before it acts on it because
// of missing writes.
func TestAutoBehindAStuckWatch(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 2))
		w.UpstreamDecides("web", 2)
		w.WriteStatus("web", horizontaltest.Upstream, showing(90))
		w.Client.ClearActions()
		w.Start(horizontaltest.InAuto)
		w.Pass(time.Minute)
		w.writeUnseen("web")
		w.Set(func() { w.Usage = 200 })
		w.Pass(time.Hour)
		w.wantNothingWritten()
		w.wantStates(0, 0, 1)
		w.Set(func() { w.HideStatus = false })
		w.Pass(horizontaltest.Period)
		w.wantStates(1, 0, 0)
	})
}

// writeUnseen is a write of the other controller that no watch shows.
func (w *world) writeUnseen(name string) {
	hpa := w.HPA(name)
	horizontaltest.Touch(&hpa.Status)
	w.Set(func() {
		w.Version++
		hpa.ResourceVersion = strconv.Itoa(w.Version)
		w.HideStatus, w.Hidden = true, append(w.Hidden, hpa)
	})
}

// A new instance continues to act on the HPAs that this installation wrote last.
func TestAutoGoesOnAfterARestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 2))
		w.UpstreamDecides("web", 2)
		w.Pass(time.Second)
		w.WriteStatus("web", controllerhorizontal.FieldManager, horizontaltest.Touch)
		w.Set(func() { w.Usage = 200 })
		w.Start(horizontaltest.InAuto)
		w.Pass(horizontaltest.Period)
		w.WantReplicas("web", 4, "this installation wrote last")
		w.AddHPA(w.Web("later", 2))
		w.Pass(30 * time.Second)
		w.WantReplicas("later", 4, "this installation acts on all HPAs")
	})
}

// If no metric can be read, Plimsoll cannot know what another controller would write.
func TestAutoKnowsNothingWithoutMetrics(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(horizontaltest.Externally(w.Web("web", 2)))
		w.UpstreamDecides("web", 2)
		w.Client.ClearActions()
		w.Start(horizontaltest.InAuto)
		w.Pass(time.Hour)
		w.wantNothingWritten()
		w.wantStates(0, 0, 1)
	})
}

// The inspection endpoint returns why there is no decision.
func TestWhyNotDecided(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.AddHPA(w.Web("web", 2))
		w.UpstreamDecides("web", 2)
		var c *controllerhorizontal.Controller
		w.Made = func(made *controllerhorizontal.Controller) { c = made }
		at := time.Now().UTC()
		w.Start(horizontaltest.InAuto)
		web := observe.HPA("shop", "web")
		why := fmt.Sprintf("it is left to %s, which wrote its status at %s", horizontaltest.Upstream, at.Format(time.RFC3339))
		if got := c.NotDecided(web); got != why {
			t.Errorf("%q, want %q", got, why)
		}
		w.Pass(time.Minute)
		if got := c.NotDecided(web); got == "" || got == why {
			t.Errorf("undecided: %q", got)
		}
		w.Pass(3 * time.Minute)
		if got := c.NotDecided(web); got != "" {
			t.Errorf("acted on: %q", got)
		}
		if got := c.NotDecided(observe.HPA("shop", "none")); got != "" {
			t.Errorf("not there: %q", got)
		}
		if !c.Knows(web) || c.Knows(observe.HPA("shop", "none")) {
			t.Error("it knows another object than the one that is there")
		}
	})
}

// With ignore no HPA is decided. In mode shadow they are, but early decisions, which the other controller does not
// make, are not compared.
func TestModesThatWriteNothing(t *testing.T) {
	for mode, decisions := range map[takeover.Mode]int{takeover.Ignore: 0, takeover.Shadow: 10} {
		t.Run(mode.String(), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.AddHPA(w.Web("web", 2))
				w.UpstreamDecides("web", 2)
				w.Client.ClearActions()
				w.Start(func(c *controllerhorizontal.Config) { c.HPAs, c.Triggers = mode, true })
				w.Set(func() { w.Usage = 200 })
				for i := range 10 {
					w.Add(horizontaltest.PodResource, horizontaltest.Pod(fmt.Sprintf("web-more-%d", i), map[string]string{"app": "web"}))
					w.Pass(horizontaltest.Period)
				}
				w.wantNothingWritten()
				if n := w.Decisions(); n < decisions || n > decisions+2 {
					t.Errorf("metrics were read %d times, want about %d", n, decisions)
				}
				if n := w.Series("plimsoll_horizontal_pod_autoscalers"); n != 0 {
					t.Errorf("%d states are counted", n)
				}
			})
		})
	}
}
