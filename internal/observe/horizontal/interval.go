package horizontal

import (
	"slices"

	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// WindowAnnotation on PodMetrics names their window. It is not a label, as metrics-server gives PodMetrics the labels
// of their pod.
const WindowAnnotation = "plimsoll.dev/window"

// SurgeWindow marks PodMetrics of a single interval between two scrapes, which the surge window uses. A pod may have
// several of them, beside those without the annotation, which are the responses of metrics.k8s.io: the stable window's.
const SurgeWindow = "surge"

// EarlierWindow marks PodMetrics of a window that ends for all pods at the same moment: the last one with samples of
// all pods (metric.Reading.Earlier).
const EarlierWindow = "earlier"

// IsInterval reports whether the PodMetrics are of a single interval.
func IsInterval(m *metricsv1beta1.PodMetrics) bool {
	return m.Annotations[WindowAnnotation] == SurgeWindow
}

// isEarlier reports whether the PodMetrics are of a window that ends for all pods at the same moment.
func isEarlier(m *metricsv1beta1.PodMetrics) bool {
	return m.Annotations[WindowAnnotation] == EarlierWindow
}

// MarkWindow marks PodMetrics with their window: SurgeWindow or EarlierWindow.
func MarkWindow(m *metricsv1beta1.PodMetrics, window string) {
	if m.Annotations == nil {
		m.Annotations = map[string]string{}
	}
	m.Annotations[WindowAnnotation] = window
}

// ContainerAnnotation on PodMetrics names the one container that they are about. The times of a pod's containers differ
// a little, and metrics.k8s.io has one for all of them. If some PodMetrics are about the container of a metric, those
// count for it, otherwise those of whole pods.
const ContainerAnnotation = "plimsoll.dev/container"

// aboutOf returns the subject of the PodMetrics that count for the metric: its container, or empty for whole pods.
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

// numberAbout counts the PodMetrics about that.
func numberAbout(list *metricsv1beta1.PodMetricsList, about string) int {
	n := 0
	for i := range list.Items {
		if list.Items[i].Annotations[ContainerAnnotation] == about {
			n++
		}
	}
	return n
}

// keep adds a single interval of a pod, in any order. One that is not Present stands for an interval whose use is
// unknown.
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

// keepEarlier adds a pod's average up to the moment that all have in common.
func (s *samples) keepEarlier(pod string, earlier metric.Sample) {
	place, found := s.find(pod)
	if !found {
		return
	}
	s.next = place
	if s.reading.Earlier == nil {
		b, n := s.buffer, len(s.answers.pods)
		b.earlier = slices.Grow(b.earlier[:0], n)[:n]
		clear(b.earlier)
		s.reading.Earlier = b.earlier
	}
	s.reading.Earlier[place] = earlier
}

// cutRecent drops the intervals before an unknown one: the rest would not be consecutive.
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
