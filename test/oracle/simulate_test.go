package oracle

import (
	"fmt"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
	simulated "github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

// ahead is how much later than in the simulation everything happens here: the caches
// have to be filled first.
const ahead = 10 * time.Second

// syncStep is what the simulated upstream loop saw at one sync, and what it decided.
type syncStep struct {
	at               time.Duration
	pods             []metric.Pod
	samples          []metric.Sample
	current, desired int32
}

// TestSimulatedUpstream: what plimsoll simulate --as upstream decides under a load is
// what upstream's own controller decides of the same pods and samples, sync after sync.
func TestSimulatedUpstream(t *testing.T) {
	for name, spec := range simulatedSpecs() {
		for _, day := range []string{"batch", "noisy", "flash"} {
			t.Run(fmt.Sprintf("%s, %s", name, day), func(t *testing.T) {
				steps := playUpstream(t, spec, day)
				writes := 0
				for _, s := range steps {
					if s.desired != s.current {
						writes++
					}
				}
				if len(steps) < 400 || writes < 8 {
					t.Fatalf("%d steps with %d changes are no test", len(steps), writes)
				}
				follow(t, spec, steps)
			})
		}
	}
}

// simulatedSpecs are objects without and with behavior.
func simulatedSpecs() map[string]*autoscalingv2.HorizontalPodAutoscalerSpec {
	least, percent, window := int32(2), int32(60), int32(60)
	plain := &autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: target},
		MinReplicas:    &least, MaxReplicas: 20,
		Metrics: []autoscalingv2.MetricSpec{{
			Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name:   corev1.ResourceCPU,
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent},
			},
		}},
	}
	choice := autoscalingv2.MaxChangePolicySelect
	rules := func(window int32, policies ...autoscalingv2.HPAScalingPolicy) *autoscalingv2.HPAScalingRules {
		return &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &window, SelectPolicy: &choice, Policies: policies}
	}
	bound := plain.DeepCopy()
	bound.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
		ScaleUp: rules(30, autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy,
			Value: 3, PeriodSeconds: 45}),
		ScaleDown: rules(window, autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PercentScalingPolicy,
			Value: 25, PeriodSeconds: 60},
			autoscalingv2.HPAScalingPolicy{Type: autoscalingv2.PodsScalingPolicy, Value: 1, PeriodSeconds: 30}),
	}
	return map[string]*autoscalingv2.HorizontalPodAutoscalerSpec{"without behavior": plain, "with behavior": bound}
}

// playUpstream simulates a part of a day with a start that costs CPU.
func playUpstream(t *testing.T, spec *autoscalingv2.HorizontalPodAutoscalerSpec, day string) []syncStep {
	t.Helper()
	l, err := load.Parse("generated:" + day)
	if err != nil {
		t.Fatal(err)
	}
	w := simulate.DefaultWorkload()
	w.ReadyAfter, w.Profile.StartupCPUMilli = 20*time.Second, 300
	w.Complete()
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: *spec}
	// Four times as fast, so that there is more to decide.
	scene, err := simulate.NewScene(l.SpedUp(4), w, observehorizontal.HPA(hpa))
	if err != nil {
		t.Fatal(err)
	}
	scene.For = 6 * time.Hour
	var steps []syncStep
	_, err = simulate.Play(t.Context(), scene, simulate.Setting{Side: simulate.Upstream, HPA: hpa}, simulate.Watch{
		Decision: func(_ time.Duration, o *horizontal.Observation, d *horizontal.Decision) {
			s := syncStep{at: d.At.Sub(simulated.Epoch) + ahead, current: d.Current, desired: d.Desired}
			s.pods = append(s.pods, o.Pods...)
			s.samples = append(s.samples, o.Readings[0].Samples...)
			steps = append(steps, s)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return steps
}

// follow takes upstream's controller through the steps.
func follow(t *testing.T, spec *autoscalingv2.HorizontalPodAutoscalerSpec, steps []syncStep) {
	t.Helper()
	i := 0
	run(t, upstream, func(w *world) *Situation {
		if i > 0 {
			if got, want := w.replicas(), steps[i-1].desired; got != want {
				t.Errorf("step %d, at %v, from %d: upstream wants %d, the simulation %d", i-1, steps[i-1].at, steps[i-1].current,
					got, want)
				return nil
			}
		}
		if i == len(steps) {
			return nil
		}
		i++
		return situationOf(w, spec, &steps[i-1])
	})
}

// situationOf is a step in the API's words.
func situationOf(w *world, spec *autoscalingv2.HorizontalPodAutoscalerSpec, s *syncStep) *Situation {
	date := func(at time.Time) metav1.Time { return metav1.NewTime(w.begun.Add(at.Sub(simulated.Epoch) + ahead)) }
	situation := &Situation{At: s.at, Spec: *spec, Scale: Scale{Kind: "Deployment", Spec: s.current, Selector: "app=web"}}
	list := &metricsv1beta1.PodMetricsList{}
	labels := map[string]string{"app": "web"}
	for i := range s.pods {
		p, sample := &s.pods[i], &s.samples[i]
		if !p.Deleting {
			situation.Scale.Status++
		}
		situation.Pods = append(situation.Pods, podOf(p, date, labels))
		if sample.Present {
			list.Items = append(list.Items, metricsv1beta1.PodMetrics{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.Name, Labels: labels},
				Timestamp:  date(sample.At), Window: metav1.Duration{Duration: sample.Window},
				Containers: []metricsv1beta1.ContainerMetrics{{Name: "app", Usage: corev1.ResourceList{
					corev1.ResourceCPU: *resource.NewMilliQuantity(sample.Milli, resource.DecimalSI),
				}}},
			})
		}
	}
	situation.Answers.Resource = list
	return situation
}

func podOf(p *metric.Pod, date func(time.Time) metav1.Time, labels map[string]string) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.Name, UID: types.UID(p.Name), Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")},
		}}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	if p.Phase == metric.PhaseRunning {
		pod.Status.Phase = corev1.PodRunning
	}
	if p.Deleting {
		now := date(simulated.Epoch)
		pod.DeletionTimestamp, pod.Finalizers = &now, []string{"test/stays"}
	}
	if !p.StartTime.IsZero() {
		start := date(p.StartTime)
		pod.Status.StartTime = &start
	}
	if p.Ready != metric.NoReadiness {
		status := corev1.ConditionFalse
		if p.Ready == metric.ReadyTrue {
			status = corev1.ConditionTrue
		}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status,
			LastTransitionTime: date(p.ReadyTransition)}}
	}
	return pod
}
