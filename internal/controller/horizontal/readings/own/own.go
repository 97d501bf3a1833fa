package own

import (
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/kube/services"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// Specs has the subscription of each metric of an object, at the metric's index; nil if the object has none that
// Plimsoll reads itself.
type Specs []sources.Spec

// Has reports whether Plimsoll reads metric i itself.
func (s Specs) Has(i int) bool { return i < len(s) && s[i] != sources.Spec{} }

// HasPods reports whether a metric comes from the endpoints of the target's pods.
func (s Specs) HasPods() bool {
	for i := range s {
		if p := s[i].PodEndpoint; p != nil && p.Pods.IsTarget() {
			return true
		}
	}
	return false
}

// OthersOf returns the pods of metric i that are not the target's; ok is false if it has none.
func (s Specs) OthersOf(i int) (set sources.PodSet, ok bool) {
	if p := s[i].PodEndpoint; p != nil && !p.Pods.IsTarget() {
		return p.Pods, true
	}
	return sources.PodSet{}, false
}

// Query selects the metrics of one decision.
type Query struct {
	Key   observe.Key
	Specs Specs
	Pods  []*observe.Pod
	// Others has the pods of each metric whose pods are not the target's, at the metric's index; nil if there is none.
	Others []OtherPods
}

// OtherPods are pods that are not the target's, or why they are not known.
type OtherPods struct {
	Pods []*observe.Pod
	Err  error
	// IsShared is set if Pods is the slice of an earlier metric.
	IsShared bool
}

// Answers has the values for one decision. It is reusable.
type Answers struct {
	all   []answer
	views []observehorizontal.PodUsage
}

// answer is the value of one metric.
type answer struct {
	// usage has the pods' values; nil for other metrics.
	usage observehorizontal.PodUsage
	// total is a server's value, or the error if there are no values of pods.
	total sources.Answer
}

// Latest reads the latest values into a.
func (s *Sources) Latest(now time.Time, q *Query, a *Answers) {
	a.all = a.all[:0]
	views := 0
	for i := range q.Specs {
		var known answer
		switch spec := &q.Specs[i]; {
		case spec.PodEndpoint != nil && !spec.PodEndpoint.Pods.IsTarget():
			known.total = s.totalOf(now, q, i)
		case spec.PodEndpoint != nil:
			known = s.latestOfPods(now, q, spec.PodEndpoint, a, views)
			views++
		case spec.Prometheus != nil && s.Prometheus != nil:
			known.total = s.Prometheus.Latest(now, q.Key, spec.Prometheus)
		case spec.Prometheus != nil:
			known.total = isOff(source.Prometheus)
		case spec.ExternalScaler != nil && s.Scalers != nil:
			known.total = s.Scalers.Latest(now, q.Key, spec.ExternalScaler)
		case spec.ExternalScaler != nil && spec.ExternalScaler.FromPlimsollScalers:
			known.total = isOff(source.Scaler)
		case spec.ExternalScaler != nil:
			known.total = isOff(source.ExternalScaler)
		}
		a.all = append(a.all, known)
	}
}

// totalOf returns the value of metric i, whose pods are not the target's.
func (s *Sources) totalOf(now time.Time, q *Query, i int) sources.Answer {
	switch {
	case s.Pods == nil:
		return isOff(source.PodEndpoint)
	case i >= len(q.Others):
		return sources.Answer{IsPending: true}
	case q.Others[i].Err != nil:
		err := q.Others[i].Err
		return sources.Answer{Err: err, IsPending: errors.Is(err, services.ErrAwaited)}
	}
	return s.Pods.Total(now, q.Key, q.Specs[i].PodEndpoint, q.Others[i].Pods)
}

// latestOfPods reads into the view with this index. The views are kept for reuse.
func (s *Sources) latestOfPods(
	now time.Time, q *Query, spec *sources.PodEndpoint, a *Answers, view int,
) answer {
	if s.Pods == nil {
		return answer{total: isOff(source.PodEndpoint)}
	}
	if view == len(a.views) {
		a.views = append(a.views, nil)
	}
	var err error
	if a.views[view], err = s.Pods.Latest(now, q.Key, spec, q.Pods, a.views[view]); err != nil {
		return answer{total: sources.Answer{Err: err, IsPending: errors.Is(err, podendpoint.ErrStarting)}}
	}
	return answer{usage: a.views[view]}
}

func isOff(kind source.Type) sources.Answer {
	return sources.Answer{Err: fmt.Errorf("this controller does not read metrics of type %s", kind)}
}

// Reading returns the reading of metric i, which must be one of the specs.
func (a *Answers) Reading(i int, translate *observehorizontal.Answers) metric.Reading {
	if usage := a.all[i].usage; usage != nil {
		return translate.PodEndpoint(i, usage)
	}
	return translate.Server(i, &a.all[i].total)
}

// Reset drops references, which would keep objects and pods in memory.
func (a *Answers) Reset() {
	clear(a.all)
	a.all = a.all[:0]
}
