package horizontal

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

func inAuto(c *Config) { c.HPAs = takeover.Auto }

// wantStates compares the series of HPAs by who acts on them.
func (w *world) wantStates(acting, left, undecided float64) {
	w.t.Helper()
	const series = "plimsoll_horizontal_pod_autoscalers"
	got := [3]float64{w.metric(series, "acting"), w.metric(series, "left"), w.metric(series, "undecided")}
	if want := [3]float64{acting, left, undecided}; got != want {
		w.t.Errorf("%v HPAs acted on, left, undecided; want %v", got, want)
	}
}

// wantNothingWritten is an error for any write of a controller, events included.
func (w *world) wantNothingWritten() {
	w.t.Helper()
	for _, action := range w.client.Actions() {
		if verb := action.GetVerb(); verb != "list" && verb != "watch" && verb != "get" {
			w.t.Errorf("%s %s", verb, action.GetResource().Resource)
		}
	}
	if writes := w.scaleWrites(); len(writes) != 0 {
		w.t.Errorf("scale writes %q", writes)
	}
	if w.hasEvent("") {
		w.t.Errorf("events %q", w.events)
	}
}

// Beside a loop that is on nothing is written, and after the start nothing is read either: also for an HPA that the
// other controller has nothing to write for.
func TestAutoLeavesHPAsToTheOtherLoop(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		w.addHPA(w.web("idle", 2))
		w.upstreamDecides("web", 2)
		w.upstreamDecides("idle", 2)
		w.client.ClearActions()
		w.start(inAuto, func(c *Config) { c.Triggers = true })
		w.set(func() { w.usage = 200 })
		for i := range int32(40) {
			w.upstreamDecides("web", 2+i%3)
			w.pass(period)
		}
		w.wantNothingWritten()
		w.wantStates(0, 2, 0)
		if n := w.decisions(); n != 0 {
			t.Errorf("metrics were read %d times", n)
		}
	})
}

// Where the loop is off, what an HPA shows is soon out of date. Two and a half minutes later Plimsoll acts on it, and
// two minutes after that on every HPA.
func TestAutoTakesOverFromALoopThatIsOff(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		w.addHPA(w.web("same", 2))
		for _, name := range []string{"web", "same"} {
			w.upstreamDecides(name, 2)
		}
		w.writeStatus("same", upstream, showing(100))
		w.writeStatus("web", upstream, showing(90))
		w.client.ClearActions()
		w.start(inAuto)
		w.pass(149 * time.Second)
		w.wantNothingWritten()
		w.wantStates(0, 0, 2)
		w.pass(period)
		w.wantStates(1, 0, 1)
		w.set(func() { w.usage = 200 })
		w.pass(period)
		w.wantReplicas("web", 4, "nobody else acts on it")
		w.pass(takeover.DefaultDelay - period)
		w.wantStates(2, 0, 0)
		w.wantReplicas("same", 4, "nobody has written any status since")
		w.addHPA(w.web("later", 2))
		w.pass(period)
		w.wantReplicas("later", 4, "it is new, and Plimsoll acts on all HPAs")
		w.wantStates(3, 0, 0)
		if w.hasEvent("Contested") || w.hasEvent("Resumed") {
			t.Errorf("events %q", w.events)
		}
	})
}

// showing is a status with this CPU of each pod.
func showing(milli int32) func(*autoscalingv2.HorizontalPodAutoscalerStatus) {
	return func(s *autoscalingv2.HorizontalPodAutoscalerStatus) {
		value := &s.CurrentMetrics[0].Resource.Current
		value.AverageValue.SetMilli(int64(milli))
		utilization := milli / 2
		value.AverageUtilization = &utilization
	}
}

// A loop that is turned on later: Plimsoll says so once for each HPA that it acted on, and stays away.
func TestAutoGivesBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		w.addHPA(w.web("other", 2))
		w.start(inAuto)
		w.pass(3 * time.Minute)
		w.wantStates(2, 0, 0)
		w.upstreamDecides("web", 2)
		w.pass(time.Second)
		if !w.hasEvent("web Warning ScalingContested: kube-controller-manager writes the status of this object too; " +
			"plimsoll leaves it to that controller") {
			t.Errorf("events %q", w.events)
		}
		w.wantStates(1, 1, 0)
		w.upstreamDecides("other", 2)
		w.set(func() { w.usage = 200 })
		for range 30 {
			// It has nothing to write for the other one, and the same loop acts on both.
			w.upstreamDecides("web", 2)
			w.pass(period)
		}
		if writes := w.scaleWrites(); len(writes) != 0 {
			t.Errorf("scale writes %q", writes)
		}
		if n := count(w.events, "ScalingContested"); n != 2 || w.hasEvent("Resumed") {
			t.Errorf("events %q", w.events)
		}
		if got := w.metric("plimsoll_contested_horizontal_pod_autoscalers"); got != 2 {
			t.Errorf("%v contested objects, want 2", got)
		}
		w.pass(3 * time.Minute)
		w.wantReplicas("web", 4, "the other loop is off again")
		w.wantReplicas("other", 4, "the other loop is off again")
		if n := count(w.events, "ScalingResumed"); n != 2 {
			t.Errorf("events %q", w.events)
		}
		if got := w.metric("plimsoll_contested_horizontal_pod_autoscalers"); got != 0 {
			t.Errorf("%v contested objects, want 0", got)
		}
	})
}

// A watch that is stuck shows none of the other controller's writes. Plimsoll reads an HPA before it acts on it because
// of what is not written.
func TestAutoBehindAStuckWatch(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		w.upstreamDecides("web", 2)
		w.writeStatus("web", upstream, showing(90))
		w.client.ClearActions()
		w.start(inAuto)
		w.pass(time.Minute)
		w.writeUnseen("web")
		w.set(func() { w.usage = 200 })
		w.pass(time.Hour)
		w.wantNothingWritten()
		w.wantStates(0, 0, 1)
		w.set(func() { w.hideStatus = false })
		w.pass(period)
		w.wantStates(1, 0, 0)
	})
}

// writeUnseen is a write of the other controller that no watch shows.
func (w *world) writeUnseen(name string) {
	hpa := w.hpa(name)
	touch(&hpa.Status)
	w.set(func() {
		w.version++
		hpa.ResourceVersion = strconv.Itoa(w.version)
		w.hideStatus, w.hidden = true, append(w.hidden, hpa)
	})
}

// A new instance goes on with what this installation wrote last.
func TestAutoGoesOnAfterARestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		w.upstreamDecides("web", 2)
		w.pass(time.Second)
		w.writeStatus("web", FieldManager, touch)
		w.set(func() { w.usage = 200 })
		w.start(inAuto)
		w.pass(period)
		w.wantReplicas("web", 4, "this installation wrote last")
		w.addHPA(w.web("later", 2))
		w.pass(30 * time.Second)
		w.wantReplicas("later", 4, "this installation acts on all HPAs")
	})
}

// Where no metric can be read, Plimsoll cannot know what another controller would write.
func TestAutoKnowsNothingWithoutMetrics(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(externally(w.web("web", 2)))
		w.upstreamDecides("web", 2)
		w.client.ClearActions()
		w.start(inAuto)
		w.pass(time.Hour)
		w.wantNothingWritten()
		w.wantStates(0, 0, 1)
	})
}

// The endpoint of explain says why there is no decision.
func TestWhyNotDecided(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.addHPA(w.web("web", 2))
		w.upstreamDecides("web", 2)
		var c *Controller
		w.made = func(made *Controller) { c = made }
		at := time.Now().UTC()
		w.start(inAuto)
		web := observe.HPA("shop", "web")
		why := fmt.Sprintf("it is left to %s, which wrote its status at %s", upstream, at.Format(time.RFC3339))
		if got := c.NotDecided(web); got != why {
			t.Errorf("%q, want %q", got, why)
		}
		w.pass(time.Minute)
		if got := c.NotDecided(web); got == "" || got == why {
			t.Errorf("undecided: %q", got)
		}
		w.pass(3 * time.Minute)
		if got := c.NotDecided(web); got != "" {
			t.Errorf("acted on: %q", got)
		}
		if got := c.NotDecided(observe.HPA("shop", "none")); got != "" {
			t.Errorf("not there: %q", got)
		}
	})
}

// With ignore no HPA is decided. In mode shadow they are, and early decisions, which the other controller does not
// make, are not compared.
func TestModesThatWriteNothing(t *testing.T) {
	for mode, decisions := range map[takeover.Mode]int{takeover.Ignore: 0, takeover.Shadow: 10} {
		t.Run(mode.String(), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.addHPA(w.web("web", 2))
				w.upstreamDecides("web", 2)
				w.client.ClearActions()
				w.start(func(c *Config) { c.HPAs, c.Triggers = mode, true })
				w.set(func() { w.usage = 200 })
				for i := range 10 {
					w.add(podResource, pod(fmt.Sprintf("web-more-%d", i), map[string]string{"app": "web"}))
					w.pass(period)
				}
				w.wantNothingWritten()
				if n := w.decisions(); n < decisions || n > decisions+2 {
					t.Errorf("metrics were read %d times, want about %d", n, decisions)
				}
				if n := w.series("plimsoll_horizontal_pod_autoscalers"); n != 0 {
					t.Errorf("%d states are counted", n)
				}
			})
		})
	}
}
