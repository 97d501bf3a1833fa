package horizontal

import (
	"fmt"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// PodUsage has the usage of pods, by their indices among the pods of a decision.
type PodUsage interface {
	// IsEmpty reports whether no pod has usage.
	IsEmpty() bool
	// Sample returns a pod's use of the metric's resource, or its container's; sum is the arithmetic of sums.
	Sample(pod int, spec *source.Spec, sum arithmetic.Mode) metric.Sample
	// Recent returns the last single intervals of the same.
	Recent(pod int, spec *source.Spec, sum arithmetic.Mode) metric.Recent
	// Earlier returns the average up to the last moment with samples of all pods; not Present if their samples end at the
	// same moment.
	Earlier(pod int, spec *source.Spec, sum arithmetic.Mode) metric.Sample
}

// Measured reads metric i, of type Resource or ContainerResource, from samples that are in memory. Only its times and
// windows differ from a response of metrics.k8s.io.
func (a *Answers) Measured(i int, usage PodUsage) metric.Reading {
	if usage.IsEmpty() {
		return metric.Reading{Empty: true}
	}
	spec, s, b := &a.policy.Metrics[i], a.samples(i), &a.buffers[i]
	limit := int64(maxMemoryBytes * 1000)
	if spec.Name == source.CPU {
		limit = maxCPUs * 1000
	}
	b.recent = slices.Grow(b.recent[:0], len(a.pods))[:len(a.pods)]
	b.earlier = slices.Grow(b.earlier[:0], len(a.pods))[:len(a.pods)]
	hasEarlier := false
	for n := range a.pods {
		sample := usage.Sample(n, spec, a.mode)
		if a.doubts() && sample.Milli > limit {
			return metric.Reading{Error: fmt.Sprintf("implausible value of pod %s: %dm of %s", a.pods[n].Name, sample.Milli,
				spec.Name)}
		}
		s.reading.Samples[n], b.recent[n] = sample, usage.Recent(n, spec, a.mode)
		b.earlier[n] = usage.Earlier(n, spec, a.mode)
		hasEarlier = hasEarlier || b.earlier[n].Present
	}
	if spec.Name == source.CPU {
		s.reading.Recent = b.recent
	}
	if hasEarlier {
		s.reading.Earlier = b.earlier
	}
	a.markNoContainer(spec, s.reading.Samples)
	s.reading.Requests = a.requests(i)
	return s.reading
}
