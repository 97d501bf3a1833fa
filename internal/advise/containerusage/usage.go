// Package containerusage has the measured CPU and memory use of containers: samples of a
// period from a file, or of one moment from metrics.k8s.io.
package containerusage

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Sample is what a container used at a time.
type Sample struct {
	Time                      time.Time
	Namespace, Pod, Container string
	CPUMilli, MemoryBytes     int64
}

// Partial is a sample that lacks CPU, memory or both.
type Partial struct {
	Namespace, Pod, Container string
	HasCPU, HasMemory         bool
}

// Samples are all that is known.
type Samples struct {
	All []Sample
	// Partial has those that are not in All because they lack an amount.
	Partial []Partial
	// IsMoment says that there is one sample of each container: how usage changes over
	// time cannot be seen.
	IsMoment bool
	// Source is a text that says where they are from.
	Source string
}

// OfWorkload are the samples of a workload's pods, told by the pods' names.
func (s *Samples) OfWorkload(namespace, kind, name string) []Sample {
	if s == nil {
		return nil
	}
	own := pattern(kind, name)
	var found []Sample
	for _, sample := range s.All {
		if own != nil && sample.Namespace == namespace && own.MatchString(sample.Pod) {
			found = append(found, sample)
		}
	}
	return found
}

// PartialOf returns a partial sample of a container of the workload.
func (s *Samples) PartialOf(namespace, kind, name, container string) (Partial, bool) {
	own := pattern(kind, name)
	for _, p := range s.Partial {
		if own != nil && p.Namespace == namespace && p.Container == container && own.MatchString(p.Pod) {
			return p, true
		}
	}
	return Partial{}, false
}

// Names that Kubernetes makes have no vowels in them, so web-api's pods are not web's.
const made = "[bcdfghjklmnpqrstvwxz2456789]"

func pattern(kind, name string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(name)
	switch kind {
	case "Deployment":
		return regexp.MustCompile("^" + quoted + "-" + made + "{1,10}-" + made + "{5}$")
	case "StatefulSet":
		return regexp.MustCompile("^" + quoted + "-[0-9]+$")
	case "DaemonSet", "ReplicaSet":
		return regexp.MustCompile("^" + quoted + "-" + made + "{5}$")
	}
	return nil
}

// OfContainer are the samples of one container.
func OfContainer(samples []Sample, container string) []Sample {
	var found []Sample
	for _, s := range samples {
		if s.Container == container {
			found = append(found, s)
		}
	}
	return found
}

// CPU is a sample's CPU in thousandths of a core.
func CPU(s Sample) int64 { return s.CPUMilli }

// Memory is a sample's memory in bytes.
func Memory(s Sample) int64 { return s.MemoryBytes }

// Percentile is the smallest amount that at least that part of the samples do not
// exceed. There must be one.
func Percentile(samples []Sample, percent float64, of func(Sample) int64) int64 {
	amounts := make([]int64, len(samples))
	for i, s := range samples {
		amounts[i] = of(s)
	}
	return PercentileOf(amounts, percent)
}

// PercentileOf is the same for bare numbers.
func PercentileOf(amounts []int64, percent float64) int64 {
	sorted := slices.Sorted(slices.Values(amounts))
	rank := int(math.Ceil(percent / 100 * float64(len(sorted))))
	return sorted[max(0, min(rank, len(sorted))-1)]
}

// Counts are how many pods were there at each time of a sample, in the order of time.
func Counts(samples []Sample) []int64 {
	at := map[time.Time]map[string]bool{}
	for _, s := range samples {
		if at[s.Time] == nil {
			at[s.Time] = map[string]bool{}
		}
		at[s.Time][s.Pod] = true
	}
	times := make([]time.Time, 0, len(at))
	for t := range at {
		times = append(times, t)
	}
	slices.SortFunc(times, time.Time.Compare)
	counts := make([]int64, len(times))
	for i, t := range times {
		counts[i] = int64(len(at[t]))
	}
	return counts
}

// ByPod is the mean CPU of each pod, all its containers together.
func ByPod(samples []Sample) map[string]int64 {
	sums, times := map[string]int64{}, map[string]map[time.Time]bool{}
	for _, s := range samples {
		sums[s.Pod] += s.CPUMilli
		if times[s.Pod] == nil {
			times[s.Pod] = map[time.Time]bool{}
		}
		times[s.Pod][s.Time] = true
	}
	for pod := range sums {
		sums[pod] /= int64(len(times[pod]))
	}
	return sums
}

// Length is the time between the first sample and the last.
func Length(samples []Sample) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	byTime := func(a, b Sample) int { return a.Time.Compare(b.Time) }
	return slices.MaxFunc(samples, byTime).Time.Sub(slices.MinFunc(samples, byTime).Time)
}

// column is the place of a name in a header; false if it is not there.
func column(header []string, name string) (int, bool) {
	i := slices.IndexFunc(header, func(h string) bool { return strings.EqualFold(strings.TrimSpace(h), name) })
	return i, i >= 0
}
