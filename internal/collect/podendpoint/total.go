package podendpoint

import (
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// neverReadyWithin is the time after its start within which a pod that is not ready became so if it has never been
// ready, as --horizontal-pod-autoscaler-initial-readiness-delay of kube-controller-manager has it.
const neverReadyWithin = 30 * time.Second

// Total returns the latest value that pods which are not the target's have together.
//
// Where some of them have no value, it is the least that the value can be: these pods count as they last did if they
// are silent, with their growth so far if it is not known over which time they grew, and otherwise as 0. Pods that have
// never been ready have no part in it until they have a value.
func (s *Source) Total(
	now time.Time, key observe.Key, spec *sources.PodEndpoint, pods []*observe.Pod,
) sources.Answer {
	v, _ := s.views.Get().(*View)
	defer s.views.Put(v)
	if _, err := s.Latest(now, key, spec, pods, v); err != nil {
		return sources.Answer{Err: err, IsPending: errors.Is(err, ErrStarting)}
	}
	return v.total(spec, pods)
}

// parts are the values of which a total is made.
type parts struct {
	sum, most int64
	// known pods have a value, missing ones have none, unsampled ones are represented by others. The sum is that of
	// counted pods.
	known, missing, unsampled, counted int
	oldest                             time.Time
}

func (v *View) total(spec *sources.PodEndpoint, pods []*observe.Pod) sources.Answer {
	var of parts
	running := 0
	for i, pod := range pods {
		if isEligible(pod) {
			running++
			of.add(pod, &v.samples[i], spec.Aggregate)
		}
	}
	switch {
	case len(pods) == 0:
		return sources.Answer{Err: fmt.Errorf("no pod of the namespace matches %s", spec.Pods.SelectorText())}
	case running == 0:
		return sources.Answer{Err: fmt.Errorf("no pod that matches %s is running", spec.Pods.SelectorText())}
	case of.counted == 0:
		return sources.Answer{Err: fmt.Errorf("no pod that matches %s has a value", spec.Pods.SelectorText())}
	}
	// The largest value, or the only one above zero, may be that of a pod that is not in the sample.
	mayBeMore := of.unsampled > 0 && (of.sum == 0 || spec.Aggregate == sources.Max)
	answer := sources.Answer{
		Series: []float64{of.value(spec.Aggregate)}, At: of.oldest, IsLeast: of.missing > 0 || mayBeMore,
	}
	if of.missing > v.found.starting {
		answer.Incomplete = of.missingText(v.found.failure)
	}
	return answer
}

func (p *parts) add(pod *observe.Pod, s *metric.Sample, by sources.Aggregate) {
	switch {
	case s.Present && by == sources.Average && isStarting(pod):
		// It has no part of the load yet, which the others share.
	case s.Present:
		p.known++
		p.count(s)
	case s.Silent:
		p.missing++
		p.count(s)
	case s.Unsampled:
		if pod.IsReady() {
			p.unsampled++
		}
	case !isStarting(pod):
		p.missing++
	}
}

func (p *parts) count(s *metric.Sample) {
	p.counted++
	p.sum, p.most = arithmetic.Saturate.Add(p.sum, s.Milli), max(p.most, s.Milli)
	if p.oldest.IsZero() || s.At.Before(p.oldest) {
		p.oldest = s.At
	}
}

// value returns the value in the metric's own unit. The pods of a sample stand for all.
func (p *parts) value(by sources.Aggregate) float64 {
	const milli = 1000
	switch by {
	case sources.Max:
		return float64(p.most) / milli
	case sources.Average:
		return float64(p.sum) / milli / float64(p.known+p.missing)
	default:
		return float64(p.sum) / milli * float64(p.counted+p.unsampled) / float64(p.counted)
	}
}

func (p *parts) missingText(why error) string {
	have := "have"
	if p.missing == 1 {
		have = "has"
	}
	text := fmt.Sprintf("%d of %d pods %s no value", p.missing, p.known+p.missing+p.unsampled, have)
	if why == nil {
		return text
	}
	return text + ": " + why.Error()
}

// isStarting reports whether a pod has never been ready.
func isStarting(pod *observe.Pod) bool {
	return !pod.IsReady() && (pod.StartTime.IsZero() || pod.ReadyTransition.Before(pod.StartTime.Add(neverReadyWithin)))
}
