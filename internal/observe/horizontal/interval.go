package horizontal

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// WindowAnnotation on PodMetrics says of which window they are. It is not a label,
// as metrics-server gives PodMetrics the labels of their pod.
const WindowAnnotation = "plimsoll.dev/window"

// SurgeWindow marks PodMetrics of a single interval between two scrapes, which the
// surge window uses. A pod may have several of them, beside those without the
// annotation, which are what metrics.k8s.io answers: the stable window's.
const SurgeWindow = "surge"

// IsInterval reports whether the PodMetrics are of a single interval.
func IsInterval(m *metricsv1beta1.PodMetrics) bool {
	return m.Annotations[WindowAnnotation] == SurgeWindow
}

// MarkInterval says that the PodMetrics are of a single interval.
func MarkInterval(m *metricsv1beta1.PodMetrics) {
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[WindowAnnotation] = SurgeWindow
}

// ContainerAnnotation on PodMetrics names the one container that they are about. The
// times of a pod's containers differ a little, and what metrics.k8s.io answers has
// one for all of them. Where some PodMetrics are about the container of a metric,
// those count for it, otherwise those of whole pods.
const ContainerAnnotation = "plimsoll.dev/container"

// UncountedCPUAnnotation on PodMetrics says how much CPU is left out of the use, as a quantity: the pod was ready for a
// part of the window alone (metric.Sample.UncountedMilli).
const UncountedCPUAnnotation = "plimsoll.dev/uncounted-cpu"

// MarkUncounted says how much is left out of the use, if anything is.
func MarkUncounted(m *metricsv1beta1.PodMetrics, milli int64) {
	if milli <= 0 {
		return
	}
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[UncountedCPUAnnotation] = resource.NewMilliQuantity(milli, resource.DecimalSI).String()
}

// uncountedOf is 0 where nothing is left out, and for a text that is no amount.
func uncountedOf(m *metricsv1beta1.PodMetrics, spec *source.Spec) int64 {
	text := m.Annotations[UncountedCPUAnnotation]
	if text == "" || spec.Name != source.CPU {
		return 0
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil || quantity.Sign() < 0 || quantity.Cmp(*resource.NewQuantity(maxCPUs, resource.DecimalSI)) > 0 {
		return 0
	}
	return quantity.MilliValue()
}

// aboutOf is what the PodMetrics that count for the metric are about: its container,
// or empty for whole pods.
func aboutOf(list *metricsv1beta1.PodMetricsList, spec *source.Spec) string {
	if spec.Container == "" {
		return ""
	}
	for i := range list.Items {
		if list.Items[i].Annotations[ContainerAnnotation] == spec.Container {
			return spec.Container
		}
	}
	return ""
}

// numberAbout is how many of the PodMetrics are about that.
func numberAbout(list *metricsv1beta1.PodMetricsList, about string) int {
	n := 0
	for i := range list.Items {
		if list.Items[i].Annotations[ContainerAnnotation] == about {
			n++
		}
	}
	return n
}

// keep takes in a single interval of a pod, in whatever order they come. One that
// is not Present stands for an interval in which the use is not known.
func (s *samples) keep(pod string, interval metric.Sample) {
	place, found := s.find(pod)
	if !found {
		return
	}
	s.next = place
	if s.reading.Recent == nil {
		b, n := s.buffer, len(s.answers.pods)
		b.recent = slices.Grow(b.recent[:0], n)[:n]
		clear(b.recent)
		s.reading.Recent = b.recent
	}
	recent := &s.reading.Recent[place]
	for k := range recent {
		if recent[k].At.IsZero() || interval.At.After(recent[k].At) {
			copy(recent[k+1:], recent[k:])
			recent[k] = interval
			return
		}
	}
}

// cutRecent drops what lies before an interval that is not known: the rest would
// not be in a row.
func (s *samples) cutRecent() {
	for i := range s.reading.Recent {
		recent := &s.reading.Recent[i]
		for k := range recent {
			if !recent[k].Present {
				clear(recent[k:])
				break
			}
		}
	}
}
