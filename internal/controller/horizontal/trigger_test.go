package horizontal_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/monitor"
)

func TestLoadIsSeenWithinSeconds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a")
		hpa := w.Web("web", 2)
		w.Onto("web", 2, "a")
		w.AddHPA(hpa)
		w.Start(k.Direct)
		w.Pass(10 * time.Second)
		if got := w.Condition("web", autoscalingv2.ScalingActive); got != "True ValidMetricFound" {
			t.Fatalf("ScalingActive is %s", got)
		}
		asked := w.Decisions()
		k.Decisions()
		w.Set(func() { k.Milli = 200 })
		w.Pass(5 * time.Second)
		w.WantReplicas("web", 4, "twice the target for five seconds, far from the end of the sync period")
		if n := w.Decisions() - asked; n > 0 {
			t.Errorf("metrics.k8s.io was asked %d times", n)
		}
		if got := w.Metric("plimsoll_resource_readings_total", monitor.SourceKubelet); got < 10 {
			t.Errorf("%v readings from kubelets", got)
		}
	})
}

// TestFourSamplesASecond: with four samples a second, an object far below its threshold is decided about once a second,
// on samples as fresh as before; a rising load triggers a decision at once.
func TestFourSamplesASecond(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a", "b")
		k.Rounds.Period = 250 * time.Millisecond
		hpa := w.Web("web", 4)
		w.Onto("web", 4, "a", "b")
		w.AddHPA(hpa)
		w.Start(k.Direct)
		w.Pass(30 * time.Second)
		k.Decisions()
		w.Pass(time.Minute)
		if n := len(k.Decisions()); n < 50 || n > 70 {
			t.Errorf("%d decisions in a minute in which nothing changes", n)
		}
		for range 20 {
			w.Set(func() { k.Milli = 400 })
			w.Pass(350 * time.Millisecond)
			if len(k.Decisions()) == 0 {
				t.Error("no decision in the first 350 ms of a load of four times the target")
			}
			w.Set(func() { k.Milli = 40 })
			w.Pass(15350 * time.Millisecond)
			k.Decisions()
		}
	})
}

// TestSurgeIsConfirmedEarly: after a first sample far above the target its node is scraped again at once, and the
// second sample raises the count.
func TestSurgeIsConfirmedEarly(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a")
		hpa := w.Web("web", 4)
		w.Onto("web", 4, "a")
		w.AddHPA(hpa)
		k.Milli = 10
		w.Start(k.Direct)
		w.Pass(30 * time.Second)
		k.Decisions()
		// Right after a scrape, so that the next one includes all of it.
		w.Set(func() { k.Milli, k.Asked = 900, map[string][]time.Time{} })
		for len(k.Decisions()) == 0 {
			w.Pass(time.Millisecond)
		}
		began := time.Now()
		w.Pass(time.Second)
		asked := k.Asked["a"]
		if len(asked) < 3 || asked[1].Sub(asked[0]) > 300*time.Millisecond {
			t.Errorf("after the first sample, scraped at %v", asked)
		}
		if now := w.Replicas("web"); now < 8 {
			t.Errorf("%d replicas, want twice the pods within a second of the first sample", now)
		}
		if decided := k.Decisions(); len(decided) == 0 || decided[0].Sub(began) > 400*time.Millisecond {
			t.Errorf("decided at %v, the first sample came at %v", decided, began)
		}
	})
}

// TestOncePerRound: however many nodes the pods are on, each round of scrapes triggers one decision, at most 200 ms
// after its first samples.
func TestOncePerRound(t *testing.T) {
	for _, nodes := range [][]string{{"a"}, {"a", "b"}, {"a", "b", "c", "d", "e", "f", "g"}} {
		t.Run(fmt.Sprint(len(nodes), " nodes"), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				k := w.Kubelets(nodes...)
				hpa := w.Web("web", 14)
				w.Onto("web", 14, nodes...)
				w.AddHPA(hpa)
				w.Start(k.Direct)
				w.Pass(10 * time.Second)
				k.Decisions()
				w.Set(func() { clear(k.Asked) })
				w.Pass(20 * time.Second)
				decided := k.Decisions()
				if n := len(decided); n < 19 || n > 21 {
					t.Errorf("%d decisions in 20 rounds", n)
				}
				first := ""
				for node, asked := range k.Asked {
					if first == "" || soonAfter(decided, asked) < soonAfter(decided, k.Asked[first]) {
						first = node
					}
				}
				if delay := soonAfter(decided, k.Asked[first]); delay > 200*time.Millisecond {
					t.Errorf("decided %s after the first samples of a round", delay)
				}
			})
		})
	}
}

// soonAfter returns how long it takes from any of the moments to the next decision, at most.
func soonAfter(decided, moments []time.Time) (most time.Duration) {
	for _, m := range moments[:len(moments)-1] {
		for _, d := range decided {
			if !d.Before(m) {
				most = max(most, d.Sub(m))
				break
			}
		}
	}
	return most
}

// TestKubeletThatCannotBeRead: metrics.k8s.io replaces it, which is reported once, and so is its end.
func TestKubeletThatCannotBeRead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a", "b")
		hpa := w.Web("web", 2)
		w.Onto("web", 2, "a", "b")
		w.AddHPA(hpa)
		w.Start(k.Direct)
		w.Pass(10 * time.Second)
		asked := w.Decisions()
		w.Set(func() { k.Broken["b"] = true })
		w.Pass(20 * time.Second)
		if n := w.Decisions() - asked; n < 3 || n > 5 {
			t.Errorf("metrics.k8s.io was asked %d times in the 17 s that it stood in", n)
		}
		if n := w.Metric("plimsoll_resource_stand_ins"); n != 1 {
			t.Errorf("it stands in for %v objects", n)
		}
		if n := w.Logged("falling back to metrics.k8s.io"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		if !w.HasEvent("web Warning FailedReadKubelet: metrics.k8s.io stands in meanwhile: connection refused") ||
			len(w.Events) != 1 {
			t.Errorf("events %q", w.Events)
		}
		w.Set(func() { w.Usage = 200 })
		w.Pass(6 * time.Second)
		w.WantReplicas("web", 4, "what metrics.k8s.io says counts")
		w.Set(func() { k.Broken["b"], w.Usage = false, 100 })
		w.Pass(40 * time.Second)
		asked = w.Decisions()
		w.Pass(10 * time.Second)
		if n := w.Decisions() - asked; n > 0 {
			t.Errorf("healed, but metrics.k8s.io was asked %d times", n)
		}
		if n := w.Metric("plimsoll_resource_stand_ins"); n != 0 || w.Logged("come from the nodes again") != 1 {
			t.Errorf("it stands in for %v objects, %q", n, w.Logs)
		}
	})
}

// TestSamplesDoNotAskOthers: an object with another metric is decided every second, and requests that one once in a
// sync period.
func TestSamplesDoNotAskOthers(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a")
		var asked []time.Time
		w.ExternalValue = func(context.Context) (int64, error) {
			w.Set(func() { asked = append(asked, time.Now()) })
			return 300, nil
		}
		hpa := w.Web("web", 2)
		hpa.Spec.Metrics = append(hpa.Spec.Metrics, horizontaltest.Externally(w.Web("other", 1)).Spec.Metrics...)
		w.Onto("web", 2, "a")
		w.AddHPA(hpa)
		w.Start(k.Direct)
		w.WantReplicas("web", 3, "300m at 100m each")
		w.Pass(5 * time.Minute)
		if n := len(k.Decisions()); n < 300 {
			t.Errorf("%d decisions in 300 s", n)
		}
		for i := range asked[1:] {
			if gap := asked[i+1].Sub(asked[i]); gap < 30*time.Second || gap > time.Minute {
				t.Errorf("asked after %s", gap)
			}
		}
		// An edit requests all metrics again.
		before := len(asked)
		w.Edit("web", func(hpa *autoscalingv2.HorizontalPodAutoscaler) { hpa.Spec.MaxReplicas = 9 })
		w.Pass(10 * time.Millisecond)
		if len(asked) != before+1 {
			t.Errorf("asked %d times because of an edit", len(asked)-before)
		}
	})
}

func TestPodsLeadToDecisions(t *testing.T) {
	change := map[string]func(w *world){
		"one becomes unready": func(w *world) {
			w.ChangePod("web-0", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse })
		},
		"one goes": func(w *world) {
			w.DeletePod("web-0")
		},
		"one fails": func(w *world) {
			w.ChangePod("web-0",
				func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
		},
		"one appears": func(w *world) {
			w.Add(horizontaltest.PodResource, horizontaltest.Pod("web-new", map[string]string{"app": "web"}))
		},
		"many appear": func(w *world) {
			for i := range 30 {
				w.Add(horizontaltest.PodResource, horizontaltest.Pod(fmt.Sprint("web-new-", i), map[string]string{"app": "web"}))
			}
		},
		"another writer scales": func(w *world) { w.SetReplicas("web", 3) },
	}
	for name, f := range change {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				k := w.Kubelets()
				w.AddHPA(w.Web("web", 2))
				w.Start(k.Prompt)
				w.Pass(5 * time.Second)
				k.Decisions()
				f(w)
				began := time.Now()
				w.Pass(5 * time.Second)
				if decided := k.Decisions(); len(decided) != 1 || decided[0].Sub(began) > 100*time.Millisecond {
					t.Errorf("decided %v after %s: %q", decided, began, w.Logs)
				}
			})
		})
	}
	t.Run("without triggers none does", func(t *testing.T) {
		inWorld(t, func(t *testing.T, w *world) {
			k := w.Kubelets()
			w.AddHPA(w.Web("web", 2))
			w.Start(k.Prompt, func(c *controllerhorizontal.Config) { c.Triggers = false })
			w.Pass(5 * time.Second)
			k.Decisions()
			for name, f := range change {
				if name != "one goes" {
					f(w)
				}
			}
			w.Pass(5 * time.Second)
			if decided := k.Decisions(); len(decided) > 0 {
				t.Errorf("decided %v", decided)
			}
		})
	})
}

// TestEventsDoNotLower: right after a pod has ended the others do not have its load yet. A decision at once must not
// treat that as too little load.
func TestEventsDoNotLower(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets()
		hpa := w.Web("web", 4)
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
			ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32)},
		}
		w.AddHPA(hpa)
		w.Start(k.Prompt)
		w.Pass(5 * time.Second)
		w.Set(func() { w.Usage = 30 })
		w.ChangePod("web-0", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
		w.Pass(time.Second)
		w.WantReplicas("web", 4, "a pod has gone, and nothing else is known")
		if n := w.Logged("decision deferred until newer samples arrive"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		w.Set(func() { w.Usage = 600 })
		w.ChangePod("web-1", func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} })
		w.Pass(2 * time.Second)
		w.WantReplicas("web", 8, "what asks for more is not held")
		w.Set(func() { w.Usage = 30 })
		w.Pass(time.Minute)
		if got := w.Replicas("web"); got >= 8 {
			t.Errorf("%d replicas after the object's turn by the clock", got)
		}
	})
}

// TestEventsAskSeldom: if metrics.k8s.io is needed, pods that change all the time cause one request a second.
func TestEventsAskSeldom(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets()
		w.AddHPA(w.Web("web", 2))
		w.Start(k.Prompt)
		w.Pass(5 * time.Second)
		before := w.Decisions()
		for i := range 100 {
			w.Add(horizontaltest.PodResource, horizontaltest.Pod(fmt.Sprint("web-new-", i), map[string]string{"app": "web"}))
			w.Pass(100 * time.Millisecond)
		}
		if n := w.Decisions() - before; n < 9 || n > 11 {
			t.Errorf("asked %d times in 10 s", n)
		}
	})
}

// TestOwnScalingIsNoNews: a count that Plimsoll has set does not trigger another decision.
func TestOwnScalingIsNoNews(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets()
		w.Usage = 200
		w.AddHPA(w.Web("web", 2))
		w.Start(k.Prompt)
		w.WantReplicas("web", 4, "twice the target")
		w.Pass(5 * time.Second)
		if n := len(k.Decisions()); n != 1 {
			t.Errorf("%d decisions", n)
		}
		w.Set(func() { w.Usage = 100 })
		w.SetReplicas("web", 5)
		w.Pass(time.Second)
		if n := len(k.Decisions()); n != 1 {
			t.Errorf("%d decisions after the scaling of another writer", n)
		}
	})
}
