package oracle

import (
	"math"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// level is a load as a multiple of the target.
func (g *generator) level(name string, count int32) float64 {
	if !g.demand {
		return g.move(name, 0.1, 5, []float64{0, 0.5, 0.9, 1, 1, 1.1, 2})
	}
	wanted := g.move("wanted "+name, 0.5, 30, []float64{0, 1, 2, 3, 5, 10, 11, 15, 20, 45})
	return wanted / float64(max(1, count))
}

// move moves a load: mostly a little, at times to somewhere else, at times to
// one of the corners.
func (g *generator) move(name string, least, most float64, corners []float64) float64 {
	level, known := g.levels[name]
	switch {
	case g.zero && g.asleep && g.chance(2):
		level = pick(g, 1.0, 3)
	case g.zero && g.chance(4):
		level = pick(g, 0.0, 0, 1, 3)
	case !known || g.chance(8):
		level = least * math.Exp(g.Float64()*math.Log(most/least))
	case g.chance(8):
		level = corners[g.IntN(len(corners))]
	case g.chance(3):
		level *= 0.85 + 0.3*g.Float64()
	}
	g.levels[name] = level
	return level
}

// wildly replaces a number, rarely and in wild timelines only.
func (g *generator) wildly(milli int64) int64 {
	if !g.wild || !g.chance(12) {
		return milli
	}
	return pick[int64](g, -1, -1000, -milli, 0, math.MaxInt64, math.MaxInt64/2, math.MinInt64, 1<<40, 1<<53,
		3_000_000_000_000)
}

func (g *generator) answers(s *Situation) Answers {
	a := Answers{
		Custom:   map[string]*custommetricsv1beta2.MetricValueList{},
		External: map[string]*externalmetricsv1beta1.ExternalMetricValueList{},
		Errors:   map[string]string{},
	}
	a.Resource = g.resources(s)
	if g.trouble(25) || g.unreadable {
		a.ResourceError = "metrics are away"
	}
	for i := range s.Spec.Metrics {
		g.answer(s, &s.Spec.Metrics[i], &a)
	}
	return a
}

func (g *generator) answer(s *Situation, spec *autoscalingv2.MetricSpec, a *Answers) {
	name, silent := "", g.trouble(25) || g.unreadable
	switch spec.Type {
	case autoscalingv2.PodsMetricSourceType:
		name = spec.Pods.Metric.Name
		a.Custom[name] = g.podValues(s, spec.Pods)
	case autoscalingv2.ObjectMetricSourceType:
		name = spec.Object.Metric.Name
		a.Custom[name] = &custommetricsv1beta2.MetricValueList{Items: []custommetricsv1beta2.MetricValue{{
			DescribedObject: corev1.ObjectReference{
				Kind: spec.Object.DescribedObject.Kind, Name: spec.Object.DescribedObject.Name, Namespace: namespace,
			},
			Metric:    custommetricsv1beta2.MetricIdentifier{Name: name, Selector: spec.Object.Metric.Selector},
			Timestamp: metav1.NewTime(g.now()), Value: g.outer(s, name, &spec.Object.Target),
		}}}
	case autoscalingv2.ExternalMetricSourceType:
		name = spec.External.Metric.Name
		list, series := &externalmetricsv1beta1.ExternalMetricValueList{}, map[string]string{}
		if selector := spec.External.Metric.Selector; selector != nil {
			series = selector.MatchLabels
		}
		for range pick(g, 1, 1, 1, 2, 3) {
			list.Items = append(list.Items, externalmetricsv1beta1.ExternalMetricValue{
				MetricLabels: series, MetricName: name, Timestamp: metav1.NewTime(g.now()),
				Value: g.outer(s, name, &spec.External.Target)})
		}
		if g.trouble(40) {
			list.Items = nil
		}
		a.External[name] = list
	}
	if name != "" && silent {
		a.Errors[name] = "no answer for " + name
	}
}

// outer is the value of an Object or External metric at the metric's level.
func (g *generator) outer(s *Situation, name string, t *autoscalingv2.MetricTarget) resource.Quantity {
	level := g.level(name, s.Scale.Spec)
	if g.wild && g.chance(30) {
		return resource.MustParse(pick(g, "1E", "100E", "-1E", "1n", "1000000000000000000", "9P"))
	}
	if t.Value != nil {
		return *resource.NewMilliQuantity(g.wildly(int64(level*float64(t.Value.MilliValue()))), resource.DecimalSI)
	}
	all := level * float64(t.AverageValue.MilliValue()) * float64(max(1, s.Scale.Status))
	return *resource.NewMilliQuantity(g.wildly(int64(all)), resource.DecimalSI)
}

func (g *generator) podValues(
	s *Situation, source *autoscalingv2.PodsMetricSource,
) *custommetricsv1beta2.MetricValueList {
	list := &custommetricsv1beta2.MetricValueList{}
	level := g.level(source.Metric.Name, s.Scale.Spec)
	for _, pod := range g.reporting(s) {
		milli := int64(level * float64(source.Target.AverageValue.MilliValue()) * (0.9 + 0.2*g.Float64()))
		list.Items = append(list.Items, custommetricsv1beta2.MetricValue{
			DescribedObject: corev1.ObjectReference{Kind: "Pod", Name: pod, Namespace: namespace},
			Metric:          custommetricsv1beta2.MetricIdentifier{Name: source.Metric.Name, Selector: source.Metric.Selector},
			Timestamp:       metav1.NewTime(g.now()), Value: *resource.NewMilliQuantity(g.wildly(milli), resource.DecimalSI),
		})
	}
	return list
}

// reporting are the names of the pods that have samples.
func (g *generator) reporting(s *Situation) []string {
	var names []string
	few := g.trouble(12)
	for _, pod := range s.Pods {
		if g.trouble(25) || few && g.chance(2) || pod.Status.Phase == corev1.PodPending && g.IntN(4) > 0 {
			continue
		}
		names = append(names, pod.Name)
	}
	if g.trouble(40) {
		names = append(names, "stranger")
	}
	if g.trouble(40) && len(names) > 0 {
		// One pod twice.
		names = append(names, names[0])
	}
	if g.trouble(40) {
		names = nil
	}
	return names
}

func (g *generator) resources(s *Situation) *metricsv1beta1.PodMetricsList {
	list := &metricsv1beta1.PodMetricsList{}
	pods := map[string]*corev1.Pod{}
	for _, pod := range s.Pods {
		pods[pod.Name] = pod
	}
	cpu, memory := g.level("cpu", s.Scale.Spec), g.level("memory", s.Scale.Spec)
	for _, name := range g.reporting(s) {
		item := metricsv1beta1.PodMetrics{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": "web"}},
			Timestamp:  metav1.NewTime(g.now().Add(-time.Duration(g.IntN(60)) * time.Second)),
			Window:     metav1.Duration{Duration: pick(g, 10*time.Second, 30*time.Second, time.Minute)},
		}
		if pod := pods[name]; pod != nil {
			item.Labels, item.Containers = pod.Labels, g.usages(pod, cpu, memory)
		}
		list.Items = append(list.Items, item)
	}
	return list
}

func (g *generator) usages(pod *corev1.Pod, cpu, memory float64) []metricsv1beta1.ContainerMetrics {
	var all []metricsv1beta1.ContainerMetrics
	for i := range pod.Spec.Containers {
		if !g.trouble(60) {
			all = append(all, g.usage(&pod.Spec.Containers[i], cpu, memory))
		}
	}
	// Some sources list init containers that have ended, with memory alone.
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.RestartPolicy == nil && g.trouble(4) {
			ended := g.usage(c, cpu, memory)
			delete(ended.Usage, corev1.ResourceCPU)
			all = append(all, ended)
		}
	}
	return all
}

func (g *generator) usage(c *corev1.Container, cpu, memory float64) metricsv1beta1.ContainerMetrics {
	noise := 0.9 + 0.2*g.Float64()
	if g.calm {
		noise = 1
	}
	milli, bytes := int64(100), int64(64<<20)
	if q, ok := c.Resources.Requests[corev1.ResourceCPU]; ok {
		milli = q.MilliValue()
	}
	if q, ok := c.Resources.Requests[corev1.ResourceMemory]; ok {
		bytes = q.Value()
	}
	usage := corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewMilliQuantity(g.wildly(int64(float64(milli)*cpu*noise*0.7)), resource.DecimalSI),
		corev1.ResourceMemory: *resource.NewQuantity(int64(float64(bytes)*memory*noise*0.7), resource.BinarySI),
	}
	if g.trouble(80) {
		delete(usage, corev1.ResourceCPU)
	}
	return metricsv1beta1.ContainerMetrics{Name: c.Name, Usage: usage}
}
