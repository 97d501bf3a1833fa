package horizontal

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	explainhorizontal "github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// replayer saves each live decision on an object, reads what was saved, and decides
// that.
type replayer struct {
	t         *testing.T
	set       divergence.Set
	decisions []horizontal.Decision
	saved     []string
}

// replay begins before a controller is made.
func (w *world) replay(t *testing.T, object string, set divergence.Set) *replayer {
	return w.replayOf(t, observe.HPA("shop", object), set)
}

func (w *world) replayOf(t *testing.T, object observe.Key, set divergence.Set) *replayer {
	r := &replayer{t: t, set: set}
	w.made = func(c *Controller) { c.Inspect(object, r.decided) }
	return r
}

func (r *replayer) decided(step *snapshothorizontal.Step, d *horizontal.Decision) {
	var file bytes.Buffer
	if err := snapshothorizontal.Encode(&file, step); err != nil {
		r.t.Error(err)
		return
	}
	text := file.String()
	r.decisions, r.saved = append(r.decisions, d.Clone()), append(r.saved, text)
	read, err := snapshothorizontal.NewReader(&file).Next()
	if err != nil {
		r.t.Errorf("%v:\n%s", err, text)
		return
	}
	result, _, err := explainhorizontal.Evaluate(read, horizontal.State{}, r.set)
	if err != nil {
		r.t.Errorf("%v:\n%s", err, text)
		return
	}
	options := cmp.Options{cmpopts.IgnoreUnexported(horizontal.Decision{}), cmpopts.EquateEmpty(), cmpopts.EquateNaNs(),
		cmp.Comparer(sameSchedule), cmp.Comparer(sameZone)}
	if diff := cmp.Diff(*d, result.Decision, options); diff != "" {
		r.t.Errorf("decision %d (-live +replayed):\n%s\n%s", len(r.decisions), diff, text)
	}
	report := statusreport.Of(d, horizontal.Outcome{At: d.At})
	if diff := cmp.Diff(report, result.Report, options); diff != "" {
		r.t.Errorf("report %d (-live +replayed):\n%s\n%s", len(r.decisions), diff, text)
	}
}

// want wants a decision of that kind among those that were replayed.
func (r *replayer) want(what string, is func(*horizontal.Decision) bool) {
	r.t.Helper()
	for i := range r.decisions {
		if is(&r.decisions[i]) {
			return
		}
	}
	r.t.Errorf("of %d decisions none is one %s", len(r.decisions), what)
}

// TestSurgeReplays: a decision that the surge window made is made again from what is
// saved of it: both windows, the whole state, times to the nanosecond.
func TestSurgeReplays(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a", "b")
		hpa := w.web("web", 2)
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: &autoscalingv2.HPAScalingRules{
			Policies: []autoscalingv2.HPAScalingPolicy{{Type: autoscalingv2.PodsScalingPolicy, Value: 3,
				PeriodSeconds: 4}},
		}}
		w.onto("web", 2, "a", "b")
		w.addHPA(hpa)
		k.milli = 10
		r := w.replay(t, "web", divergence.Default)
		w.start(k.direct)
		w.pass(30 * time.Second)
		// In the middle of a second, so that times are not whole ones.
		w.pass(123456789 * time.Nanosecond)
		w.set(func() { k.milli = 900 })
		w.pass(10 * time.Second)
		r.want("of the surge window", func(d *horizontal.Decision) bool {
			return d.Rescale &&
				d.Proposed.Source == proposal.Surge
		})
		r.want("that a rate limits", func(d *horizontal.Decision) bool {
			return d.Limited.Rated &&
				d.Limited.Replicas < d.Proposed.Replicas
		})
		last := r.saved[len(r.saved)-1]
		for _, part := range []string{"plimsoll.dev/window: surge", "scaleUps:", "recommendations:", "count:",
			"plimsoll.dev/divergences: default"} {
			if !strings.Contains(last, part) {
				t.Errorf("%q is not in\n%s", part, last)
			}
		}
	})
}

// TestDoublingReplays: so is one that had to wait for a second to be over.
func TestDoublingReplays(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a")
		hpa := w.web("web", 4)
		w.onto("web", 4, "a")
		w.addHPA(hpa)
		r := w.replay(t, "web", divergence.Default)
		w.start(k.direct)
		w.pass(30 * time.Second)
		w.set(func() { k.milli = 1000 })
		w.pass(5 * time.Second)
		r.want("that doubles", func(d *horizontal.Decision) bool { return d.Rescale && d.Desired == 2*d.Current })
	})
}

// TestContainersReplay: a pod, each of two containers of it, and its memory.
func TestContainersReplay(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		k := w.kubelets("a")
		hpa := w.web("web", 2)
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
		w.onto("web", 2, "a")
		w.addHPA(hpa)
		r := w.replay(t, "web", divergence.Default)
		w.start(k.direct)
		w.pass(20 * time.Second)
		r.want("with four metrics", func(d *horizontal.Decision) bool {
			return len(d.Metrics) == 4 && d.Metrics[1].Failure == nil && d.Metrics[3].Failure == nil
		})
	})
}

// TestEveryWayReplays: whatever a decision is made of is saved with it.
func TestEveryWayReplays(t *testing.T) {
	branch := func(b horizontal.Branch) func(*horizontal.Decision) bool {
		return func(d *horizontal.Decision) bool { return d.Branch == b }
	}
	for name, tt := range map[string]struct {
		prepare func(w *world, hpa *autoscalingv2.HorizontalPodAutoscaler)
		play    func(w *world)
		change  func(*Config)
		is      func(*horizontal.Decision) bool
	}{
		"metrics.k8s.io, without labels": {
			play: func(w *world) { w.set(func() { w.usage = 200 }) },
			is:   func(d *horizontal.Decision) bool { return d.Rescale && d.Desired == 4 },
		},
		"it fails": {
			prepare: func(_ *world, hpa *autoscalingv2.HorizontalPodAutoscaler) { externally(hpa) },
			is:      branch(horizontal.BranchFailed),
		},
		"external": {
			prepare: func(w *world, hpa *autoscalingv2.HorizontalPodAutoscaler) {
				externally(hpa)
				// The same series is selected twice, once by labels that the answer leaves out.
				other := *hpa.Spec.Metrics[0].DeepCopy()
				other.External.Metric.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
				hpa.Spec.Metrics = append(hpa.Spec.Metrics, other)
				w.external = func(context.Context) (int64, error) { return 500, nil }
			},
			is: func(d *horizontal.Decision) bool { return d.Rescale && d.Desired == 5 },
		},
		"custom": {
			prepare: func(w *world, hpa *autoscalingv2.HorizontalPodAutoscaler) {
				w.custom = func(context.Context) (int64, error) { return 300, nil }
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
			prepare: func(w *world, _ *autoscalingv2.HorizontalPodAutoscaler) { w.setReplicas("web", 0) },
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
				w.addHPA(twin)
			},
			is: branch(horizontal.BranchFailed),
		},
		"a vertical autoscaler": {
			change: func(c *Config) {
				c.Conflict = func(observehorizontal.Autoscaler) string { return "it sets the requests" }
			},
			is: branch(horizontal.BranchMetrics),
		},
		"other flags": {
			change: func(c *Config) { c.Options.Tolerance, c.Options.DownscaleStabilization = 0.9, time.Second },
			play:   func(w *world) { w.set(func() { w.usage = 5 }) },
			is:     func(d *horizontal.Decision) bool { return d.Rescale && d.Desired == 1 },
		},
		"as upstream": {
			change: func(c *Config) { c.Options.Divergences = divergence.None },
			play: func(w *world) {
				w.changePod("web-0",
					func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
			},
			is: branch(horizontal.BranchMetrics),
		},
		"in shadow mode": {
			change: inShadow,
			play: func(w *world) {
				w.set(func() { w.usage = 200 })
				w.upstreamDecides("web", 4)
			},
			is: func(d *horizontal.Decision) bool { return d.Current == 2 && d.Desired == 4 },
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				hpa := w.web("web", 2)
				if tt.prepare != nil {
					tt.prepare(w, hpa)
				}
				w.addHPA(hpa)
				set := divergence.Default
				r := w.replay(t, "web", set)
				w.start(func(c *Config) {
					if tt.change != nil {
						tt.change(c)
					}
					r.set = c.Options.Divergences
				})
				if tt.play != nil {
					tt.play(w)
				}
				w.pass(3 * period)
				r.want("of what this is about", tt.is)
			})
		})
	}
}

// TestInspectingEnds: an inspector that was stopped receives no more decisions, the others do.
func TestInspectingEnds(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := observe.HPA("shop", "web")
		told := map[string]int{}
		inspector := func(name string) Inspector {
			return func(*snapshothorizontal.Step, *horizontal.Decision) { told[name]++ }
		}
		var controller *Controller
		w.made = func(c *Controller) { controller = c }
		w.addHPA(w.web("web", 2))
		w.start()
		stop := controller.Inspect(web, inspector("first"))
		stopSecond := controller.Inspect(web, inspector("second"))
		stopOther := controller.Inspect(observe.HPA("shop", "other"), inspector("other"))
		w.pass(2 * period)
		before := told["first"]
		stop()
		stop()
		w.pass(2 * period)
		if before == 0 || told["first"] != before || told["second"] <= before || told["other"] != 0 {
			t.Errorf("told %v, the first one %d times before it stopped", told, before)
		}
		stopSecond()
		stopOther()
		if n := controller.inspectors.count.Load(); n != 0 || len(controller.inspectors.byHPA) != 0 {
			t.Errorf("%d inspectors are left", n)
		}
	})
}
