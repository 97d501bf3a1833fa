package horizontal_test

import (
	"context"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// replay begins before a controller is made.
func (w *world) replay(t *testing.T, object string, set divergence.Set) *horizontaltest.Replayer {
	return w.ReplayOf(t, observe.HPA("shop", object), set)
}

// TestSurgeReplays: a decision of the surge window can be repeated from its snapshot: both windows, the whole state,
// times to the nanosecond.
func TestSurgeReplays(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a", "b")
		hpa := w.Web("web", 2)
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &autoscalingv2.HPAScalingRules{
			Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 3,
				PeriodSeconds: 4}},
		}}
		w.Onto("web", 2, "a", "b")
		w.AddHPA(hpa)
		k.Milli = 10
		r := w.replay(t, "web", divergence.Default)
		w.Start(k.Direct)
		w.Pass(30 * time.Second)
		// In the middle of a second, so that times are not whole ones.
		w.Pass(123456789 * time.Nanosecond)
		w.Set(func() { k.Milli = 900 })
		w.Pass(10 * time.Second)
		r.Want("of the surge window", func(d *horizontal.Decision) bool {
			return d.Rescale &&
				d.Proposed.Source == proposal.Surge
		})
		r.Want("that a rate limits", func(d *horizontal.Decision) bool {
			return d.Limited.Rated &&
				d.Limited.Replicas < d.Proposed.Replicas
		})
		last := r.Saved[len(r.Saved)-1]
		for _, part := range []string{"plimsoll.dev/window: surge", "scaleUps:", "recommendations:", "count:",
			"plimsoll.dev/divergences: default"} {
			if !strings.Contains(last, part) {
				t.Errorf("%q is not in\n%s", part, last)
			}
		}
	})
}

// TestDoublingReplays: so can one that had to wait for the end of a second.
func TestDoublingReplays(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a")
		hpa := w.Web("web", 4)
		w.Onto("web", 4, "a")
		w.AddHPA(hpa)
		r := w.replay(t, "web", divergence.Default)
		w.Start(k.Direct)
		w.Pass(30 * time.Second)
		w.Set(func() { k.Milli = 1000 })
		w.Pass(5 * time.Second)
		r.Want("that doubles", func(d *horizontal.Decision) bool { return d.Rescale && d.Desired == 2*d.Current })
	})
}

// TestUnreadNodesAreSaved: a snapshot has why metrics.k8s.io replaces the nodes.
func TestUnreadNodesAreSaved(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a", "b")
		hpa := w.Web("web", 2)
		w.Onto("web", 2, "a", "b")
		w.AddHPA(hpa)
		r := w.replay(t, "web", divergence.Default)
		w.Start(k.Direct)
		w.Pass(20 * time.Second)
		const part = "1 of 2 ready pods are on nodes that cannot be read (node b): connection"
		if last := r.Saved[len(r.Saved)-1]; strings.Contains(last, part) {
			t.Errorf("too early:\n%s", last)
		}
		w.Set(func() { k.Broken["b"] = true })
		w.Pass(30 * time.Second)
		if last := r.Saved[len(r.Saved)-1]; !strings.Contains(last, part) {
			t.Errorf("%q is not in\n%s", part, last)
		}
	})
}

// TestContainersReplay: metrics of a pod, of each of its two containers, and of its memory.
func TestContainersReplay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.Kubelets("a")
		hpa := w.Web("web", 2)
		average := autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType,
			AverageValue: resource.NewMilliQuantity(90, resource.DecimalSI)}
		memory := autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType,
			AverageValue: resource.NewQuantity(1<<20, resource.BinarySI)}
		for _, name := range []string{"web", "proxy"} {
			hpa.Spec.Metrics = append(hpa.Spec.Metrics, autoscalingv2.MetricSpec{
				Type: autoscalingv2.ContainerResourceMetricSourceType,
				ContainerResource: &autoscalingv2.ContainerResourceMetricSource{Name: "cpu", Container: name,
					Target: average},
			})
		}
		hpa.Spec.Metrics = append(hpa.Spec.Metrics, autoscalingv2.MetricSpec{
			Type:     autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{Name: "memory", Target: memory},
		})
		w.Onto("web", 2, "a")
		w.AddHPA(hpa)
		r := w.replay(t, "web", divergence.Default)
		w.Start(k.Direct)
		w.Pass(20 * time.Second)
		r.Want("with four metrics", func(d *horizontal.Decision) bool {
			return len(d.Metrics) == 4 && d.Metrics[1].Failure == nil && d.Metrics[3].Failure == nil
		})
	})
}

// TestEveryWayReplays: a snapshot has all inputs of a decision.
func TestEveryWayReplays(t *testing.T) {
	branch := func(b horizontal.Branch) func(*horizontal.Decision) bool {
		return func(d *horizontal.Decision) bool { return d.Branch == b }
	}
	for name, tt := range map[string]struct {
		prepare func(w *world, hpa *autoscalingv2.HorizontalPodAutoscaler)
		play    func(w *world)
		change  func(*controllerhorizontal.Config)
		is      func(*horizontal.Decision) bool
	}{
		"metrics.k8s.io, without labels": {
			play: func(w *world) { w.Set(func() { w.Usage = 200 }) },
			is:   func(d *horizontal.Decision) bool { return d.Rescale && d.Desired == 4 },
		},
		"it fails": {
			prepare: func(_ *world, hpa *autoscalingv2.HorizontalPodAutoscaler) { horizontaltest.Externally(hpa) },
			is:      branch(horizontal.BranchFailed),
		},
		"external": {
			prepare: func(w *world, hpa *autoscalingv2.HorizontalPodAutoscaler) {
				horizontaltest.Externally(hpa)
				// The same series is selected twice, once by labels that the answer leaves out.
				other := *hpa.Spec.Metrics[0].DeepCopy()
				other.External.Metric.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
				hpa.Spec.Metrics = append(hpa.Spec.Metrics, other)
				w.ExternalValue = func(context.Context) (int64, error) { return 500, nil }
			},
			is: func(d *horizontal.Decision) bool { return d.Rescale && d.Desired == 5 },
		},
		"custom": {
			prepare: func(w *world, hpa *autoscalingv2.HorizontalPodAutoscaler) {
				w.CustomValue = func(context.Context) (int64, error) { return 300, nil }
				target := autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType,
					Value: resource.NewMilliQuantity(100, resource.DecimalSI)}
				object := autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType,
					Object: &autoscalingv2.ObjectMetricSource{
						DescribedObject: autoscalingv2.CrossVersionObjectReference{APIVersion: "v1", Kind: "Service",
							Name: "web"},
						Metric: autoscalingv2.MetricIdentifier{Name: "requests"}, Target: target,
					}}
				hpa.Spec.Metrics = []autoscalingv2.MetricSpec{object, object}
			},
			is: func(d *horizontal.Decision) bool { return d.Rescale && d.Desired == 6 },
		},
		"no scale": {
			prepare: func(_ *world, hpa *autoscalingv2.HorizontalPodAutoscaler) {
				hpa.Spec.ScaleTargetRef.Name = "nobody"
			},
			is: branch(horizontal.BranchNoScale),
		},
		"switched off": {
			prepare: func(w *world, _ *autoscalingv2.HorizontalPodAutoscaler) { w.SetReplicas("web", 0) },
			is:      branch(horizontal.BranchDisabled),
		},
		"above max": {
			prepare: func(_ *world, hpa *autoscalingv2.HorizontalPodAutoscaler) { hpa.Spec.MaxReplicas = 1 },
			is:      branch(horizontal.BranchAboveMax),
		},
		"two objects": {
			prepare: func(w *world, hpa *autoscalingv2.HorizontalPodAutoscaler) {
				twin := hpa.DeepCopy()
				twin.Name, twin.UID = "twin", "twin"
				w.AddHPA(twin)
			},
			is: branch(horizontal.BranchFailed),
		},
		"a vertical autoscaler": {
			change: func(c *controllerhorizontal.Config) {
				c.Conflict = func(observehorizontal.Autoscaler) string { return "it sets the requests" }
			},
			is: branch(horizontal.BranchMetrics),
		},
		"other flags": {
			change: func(c *controllerhorizontal.Config) {
				c.Options.Tolerance, c.Options.DownscaleStabilization = 0.9, time.Second
			},
			play: func(w *world) { w.Set(func() { w.Usage = 5 }) },
			is:   func(d *horizontal.Decision) bool { return d.Rescale && d.Desired == 1 },
		},
		"as upstream": {
			change: func(c *controllerhorizontal.Config) { c.Options.Divergences = divergence.None },
			play: func(w *world) {
				w.ChangePod("web-0",
					func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
			},
			is: branch(horizontal.BranchMetrics),
		},
		"in shadow mode": {
			change: horizontaltest.InShadow,
			play: func(w *world) {
				w.Set(func() { w.Usage = 200 })
				w.UpstreamDecides("web", 4)
			},
			is: func(d *horizontal.Decision) bool { return d.Current == 2 && d.Desired == 4 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				hpa := w.Web("web", 2)
				if tt.prepare != nil {
					tt.prepare(w, hpa)
				}
				w.AddHPA(hpa)
				set := divergence.Default
				r := w.replay(t, "web", set)
				w.Start(func(c *controllerhorizontal.Config) {
					if tt.change != nil {
						tt.change(c)
					}
					r.Set = c.Options.Divergences
				})
				if tt.play != nil {
					tt.play(w)
				}
				w.Pass(3 * horizontaltest.Period)
				r.Want("of what this is about", tt.is)
			})
		})
	}
}

// TestInspectingEnds: a stopped inspector receives no more decisions, the others do.
func TestInspectingEnds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := observe.HPA("shop", "web")
		told := map[string]int{}
		inspector := func(name string) controllerhorizontal.Inspector {
			return func(*snapshothorizontal.Step, *horizontal.Decision) { told[name]++ }
		}
		var controller *controllerhorizontal.Controller
		w.Made = func(c *controllerhorizontal.Controller) { controller = c }
		w.AddHPA(w.Web("web", 2))
		w.Start()
		stop := controller.Inspect(web, inspector("first"))
		stopSecond := controller.Inspect(web, inspector("second"))
		stopOther := controller.Inspect(observe.HPA("shop", "other"), inspector("other"))
		w.Pass(2 * horizontaltest.Period)
		before := told["first"]
		stop()
		stop()
		w.Pass(2 * horizontaltest.Period)
		if before == 0 || told["first"] != before || told["second"] <= before || told["other"] != 0 {
			t.Errorf("told %v, the first one %d times before it stopped", told, before)
		}
		stopSecond()
		stopOther()
		if n, objects := controller.Inspectors(); n != 0 || objects != 0 {
			t.Errorf("%d inspectors are left", n)
		}
	})
}
