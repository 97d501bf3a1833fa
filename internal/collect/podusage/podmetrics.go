package podusage

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podload"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// PodMetrics converts the view to objects of metrics.k8s.io: for each pod with usage, the average over the stable
// window and, marked as such, the last single intervals; and, marked as such, the same for each container that a metric
// names, with that container's times. Readings of the objects equal those of the view.
func (v *View) PodMetrics(pods []*observe.Pod, metrics []source.Spec) *metricsv1beta1.PodMetricsList {
	names := []string{""}
	for i := range metrics {
		if name := metrics[i].Container; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	list := &metricsv1beta1.PodMetricsList{}
	for n, pod := range pods {
		for _, name := range names {
			list.Items = append(list.Items, v.podMetrics(part{pod: pod, place: n, container: name})...)
		}
	}
	return list
}

// part is a pod by its place, or one container of it.
type part struct {
	pod       *observe.Pod
	place     int
	container string
}

func (v *View) podMetrics(p part) []metricsv1beta1.PodMetrics {
	spec := source.Spec{Name: source.CPU, Container: p.container}
	average := v.Sample(p.place, &spec, arithmetic.Saturate)
	if !average.Present {
		return nil
	}
	all := []metricsv1beta1.PodMetrics{v.itemOf(p, &average, func(_ int, c *podload.Usage) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU: cores(&c.CPU), corev1.ResourceMemory: *resource.NewQuantity(c.MemoryBytes, resource.BinarySI),
		}
	})}
	if earlier := v.Earlier(p.place, &spec, arithmetic.Saturate); earlier.Present {
		intervals := v.EarlierIntervals(p.place)
		item := v.itemOf(p, &earlier, func(k int, _ *podload.Usage) corev1.ResourceList {
			return corev1.ResourceList{corev1.ResourceCPU: cores(&intervals[k])}
		})
		observehorizontal.MarkWindow(&item, observehorizontal.EarlierWindow)
		all = append(all, item)
	}
	for n := range averaging.RecentIntervals {
		interval := v.Interval(p.place, n, &spec, arithmetic.Saturate)
		if !interval.Present {
			break
		}
		item := v.itemOf(p, &interval, func(k int, _ *podload.Usage) corev1.ResourceList {
			return corev1.ResourceList{corev1.ResourceCPU: cores(v.IntervalOf(p.place, n, k, &spec))}
		})
		observehorizontal.MarkWindow(&item, observehorizontal.SurgeWindow)
		all = append(all, item)
	}
	return all
}

// itemOf returns an object with the sample's times and the usage of each container.
func (v *View) itemOf(
	p part, s *metric.Sample, usage func(k int, c *podload.Usage) corev1.ResourceList,
) metricsv1beta1.PodMetrics {
	item := metricsv1beta1.PodMetrics{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.pod.Namespace(), Name: p.pod.Name, Labels: p.pod.Labels().Map()},
		Timestamp:  metav1.NewTime(s.At), Window: metav1.Duration{Duration: s.Window},
	}
	if p.container != "" {
		item.Annotations = map[string]string{observehorizontal.ContainerAnnotation: p.container}
	}
	containers := v.Containers(p.place)
	for i := range containers {
		if c := &containers[i]; p.container == "" || c.Name == p.container {
			item.Containers = append(item.Containers, metricsv1beta1.ContainerMetrics{Name: c.Name, Usage: usage(i, c)})
		}
	}
	return item
}

func cores(i *podload.Interval) resource.Quantity {
	return *resource.NewScaledQuantity(i.NanoCores, resource.Nano)
}
