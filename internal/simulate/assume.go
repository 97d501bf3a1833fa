package simulate

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Known is the capacity of a pod, as far as the caller knows it.
type Known struct {
	// PerSecond is how many a pod serves in a second at 100 % of its CPU request, and From what says so; 0 if nothing
	// does.
	PerSecond float64
	From      string
	// IsInPods says that the load is in pods at the target of the object. Otherwise a unit of it is a request a second.
	IsInPods bool
}

// Assume has pods serve what is known. What is not follows from the object as it is, before settings change it: all
// settings have the same pods. NewScene and the length of the scene come first.
func (s *Scene) Assume(unmodified observehorizontal.Autoscaler, known Known) error {
	// What is wrong with it is reported when it is played.
	policy, _, _ := observehorizontal.PolicyOf(unmodified, observehorizontal.DefaultOptions())
	peak := s.Load.PeakWithin(s.For)
	if peak <= 0 {
		return fmt.Errorf("load %s: it is never above 0 in the %v that are played", s.Load.Name, s.For)
	}
	a := s.assumption(&policy, known, peak)
	w := &s.Workload
	if w.CPURequestMilli > 0 {
		w.Profile.CPUPerRequestMilliCoreSeconds = w.CPURequestMilli / a.perSecond
	}
	s.Target, s.Tolerance = targetOf(&policy, w), policy.Tolerance.Up
	s.isInPods, s.PodCapacity = known.IsInPods, a.perSecond
	if known.IsInPods {
		s.PodCapacity = 1 / s.Target
	}
	s.IsQueue = slices.ContainsFunc(policy.Metrics, func(m source.Spec) bool { return isWaiting(&m) })
	s.Assumed = s.assumedText(&a)
	if known.PerSecond == 0 {
		s.Assumed += "; --pod-capacity changes what a pod serves"
	}
	s.MetricMeanings = nil
	for i := range policy.Metrics {
		s.MetricMeanings = append(s.MetricMeanings, s.meaningText(&policy.Metrics[i]))
	}
	return nil
}

// assumption is the capacity of a pod at 100 % of its CPU request, as a number and as text.
type assumption struct {
	perSecond float64
	text      string
}

func (s *Scene) assumption(p *horizontal.Policy, known Known, peak float64) assumption {
	at := func(perSecond float64, why string) assumption {
		return assumption{perSecond, "a pod serves " + number(perSecond) + " requests/s at 100 % of its CPU request" + why}
	}
	if known.PerSecond > 0 {
		return at(known.PerSecond, ", as "+known.From+" says")
	}
	w := s.Workload
	part := usedAtTarget(w, p)
	if requests, name := w.fewestAtTarget(p); requests > 0 {
		return assumption{requests / part, fmt.Sprintf(
			"a pod serves %s requests/s at its target, as %s says, with %.0f %% of its CPU request, so %s at 100 %%",
			number(requests), name, 100*part, number(requests/part))}
	}
	if known.IsInPods {
		return at(requestsAtFull, "")
	}
	return at(peak/(peakPart*float64(p.MaxReplicas)*part), fmt.Sprintf(
		", so that the peak of %s needs %.0f %% of maxReplicas %d", number(peak), 100*peakPart, p.MaxReplicas))
}

// usedAtTarget is the part of its CPU request that a pod uses at the target, by the metrics that say it of any request.
func usedAtTarget(w Workload, p *horizontal.Policy) float64 {
	// How long a request waits for something else than CPU counts in parts of its CPU time, which is not known yet.
	w.Profile.IOLatency = 0
	part := math.Inf(1)
	for i := range p.Metrics {
		if m := &p.Metrics[i]; m.IsCPU() || isGauge(m) {
			if of, ok := w.partAtTarget(m); ok {
				part = min(part, of)
			}
		}
	}
	if math.IsInf(part, 1) {
		return defaultTarget
	}
	return part
}

// fewestAtTarget is how many requests a second a pod serves at its target, by the metric that asks for the most pods,
// and the name of that; 0 if no metric says it. Memory says it if nothing else does.
func (w *Workload) fewestAtTarget(p *horizontal.Policy) (perSecond float64, name string) {
	for i := range p.Metrics {
		m := &p.Metrics[i]
		requests, ok := requestsAtTarget(m)
		if len(p.Metrics) == 1 && isMemory(m) {
			requests, ok = w.memoryRequests(m), true
		}
		if ok && requests > 0 && (name == "" || requests < perSecond) {
			perSecond, name = requests, m.ShortName()
		}
	}
	return perSecond, name
}

func (s *Scene) assumedText(a *assumption) string {
	text := a.text
	if s.isInPods {
		text = "the load is in pods at the target, as recorded, each of which serves " + number(s.Target*a.perSecond) +
			" requests/s; " + text
	}
	text += fmt.Sprintf("; at %.0f %% the peak needs %s", 100*s.Target, pods(s.podsFor(s.Target)))
	if s.IsQueue {
		text += "; requests wait in one queue, which loses none"
	}
	return text
}

// peakRequests is the peak of what is played in requests per second.
func (s *Scene) peakRequests() float64 { return s.Load.PeakWithin(s.For) * s.requestsPerUnit() }

// podsFor is how many pods serve the peak if each uses that part of its CPU request.
func (s *Scene) podsFor(part float64) int64 {
	needed := math.Ceil(s.peakRequests()/(part*s.Workload.servesAtFull()) - 1e-9)
	return int64(min(max(needed, 1), math.MaxInt32))
}

func pods(n int64) string {
	if n == 1 {
		return "1 pod"
	}
	return strconv.FormatInt(n, 10) + " pods"
}

// number has as many digits as people read.
func number(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// meaningText says what a metric is here, whatever its name is.
func (s *Scene) meaningText(m *source.Spec) string {
	return m.ShortName() + " is " + s.meaning(m) + s.wants(m)
}

func (s *Scene) meaning(m *source.Spec) string {
	p := &s.Workload.Profile
	switch {
	case m.IsCPU():
		return fmt.Sprintf("what requests use, %sm for each request per second", number(p.CPUPerRequestMilliCoreSeconds))
	case isMemory(m):
		return fmt.Sprintf("%s in a pod and %s for each request in it or served within %v",
			bytes(s.Workload.idleMemory(m)), bytes(p.MemoryPerRequestBytes), p.MemoryHold)
	case isOffered(m):
		return "all requests per second"
	case isWaiting(m):
		return "the requests that wait"
	case m.IsPodEndpoint() && !m.IsRate:
		return "the requests that are in a pod"
	}
	return "the requests that a pod serves per second"
}

// wants is how many pods the peak needs by a metric, if that follows from the load alone.
func (s *Scene) wants(m *source.Spec) string {
	part, ok := s.Workload.partAtTarget(m)
	if !ok {
		return ""
	}
	return ": the peak needs " + pods(s.podsFor(part))
}

func bytes(v float64) string {
	return resource.NewQuantity(int64(v), resource.BinarySI).String()
}

// IsInPods reports whether the load is in pods at the target, as recorded loads are.
func (s *Scene) IsInPods() bool { return s.isInPods }
