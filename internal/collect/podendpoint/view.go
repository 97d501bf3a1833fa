package podendpoint

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/counter"
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	// The samples of a pod that is no longer read count for graceIntervals.
	graceIntervals = 3
	// A ready pod that stops responding keeps its last sample for silentFor. Later the sample does not describe its load.
	silentFor = 5 * time.Minute
	// A pod without failures may have no samples for warmUpIntervals because its scraping has just begun.
	warmUpIntervals = 4
	// rounding is how much shorter than planned a span of scrapes may be that come about every second.
	rounding = 500 * time.Millisecond
)

// View is the result of Latest. The zero value is ready for use, and it may be reused.
type View struct {
	samples []metric.Sample
	recent  []metric.Recent
	found   found
}

// found counts the ready pods of a view that are in the sample.
type found struct {
	// isAny is true if there is a sample, also of a pod that is not ready.
	isAny bool
	// hasLeast is true if there is a sample of which only the least value is known.
	hasLeast bool
	// sampled pods have a sample; starting ones will have one soon; failing ones have none, and failure is the error of
	// the first of them.
	sampled, starting, failing int
	failure                    error
}

var _ observehorizontal.PodUsage = (*View)(nil)

func (v *View) begin(pods int) {
	v.samples, v.recent = resized(v.samples, pods), resized(v.recent, pods)
	v.found = found{}
}

func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// IsEmpty implements observehorizontal.PodUsage.
func (v *View) IsEmpty() bool { return !v.found.isAny }

// Sample implements observehorizontal.PodUsage, for the metric of the query.
func (v *View) Sample(pod int, _ *source.Spec, _ arithmetic.Mode) metric.Sample {
	return v.samples[pod]
}

// Recent implements observehorizontal.PodUsage, for the metric of the query.
func (v *View) Recent(pod int, _ *source.Spec, _ arithmetic.Mode) metric.Recent {
	return v.recent[pod]
}

// Earlier implements observehorizontal.PodUsage. The pods of an object are scraped together: their samples end at the
// same moment.
func (v *View) Earlier(int, *source.Spec, arithmetic.Mode) metric.Sample { return metric.Sample{} }

func (f *found) err(isBeginning bool) error {
	switch {
	case f.starting > 0 && (f.sampled == 0 || isBeginning):
		return fmt.Errorf("%d pods: %w", f.starting, ErrStarting)
	case f.sampled == 0 && f.failing > 0 && !f.hasLeast:
		return fmt.Errorf("none of %d pods that are ready has a sample: %w", f.failing, f.failure)
	}
	return nil
}

// interval is the time in which all targets are scraped once.
func (p *podPage) interval() time.Duration {
	return time.Duration(float64(p.source.config.Interval) * p.stretch())
}

func (p *podPage) warmUp() time.Duration { return warmUpIntervals*p.interval() + time.Second }

// isNew reports whether the scraping of a pod has just begun. Until its first page, it has a timeout more.
func (p *podPage) isNew(now time.Time, t *target, m *wanted) bool {
	warmUp := p.warmUp()
	if t.scrapes == 0 && t.failing == nil {
		warmUp += p.timeout()
	}
	return now.Sub(timing.Later(t.added, m.since)) < warmUp
}

func (p *podPage) latest(now time.Time, m *wanted, pods []*observe.Pod, v *View) error {
	at := slices.Index(p.metrics, m)
	if at < 0 {
		return ErrStarting // the object's metrics have changed
	}
	grace := max(graceIntervals*p.interval(), graceIntervals*time.Second)
	for i, pod := range pods {
		if !isEligible(pod) {
			continue
		}
		t := p.targets[pod.Identity()]
		if t == nil || t.isAhead {
			p.miss(pod, t == nil, i, v)
			continue
		}
		h := &t.histories[at]
		s, isNew := m.averageOf(h, pod), p.isNew(now, t, m)
		if isNew && m.spec.IsRate && isBrief(pod, &s) {
			s = metric.Sample{}
		}
		isNewest := now.Sub(s.At) <= grace
		if now.Sub(h.Confirmed()) > grace || now.Sub(s.At) > staleAfter {
			s = t.outdated(now, pod, s)
		}
		if pod.IsReady() {
			v.found.count(t, h, s.Present, isNew)
		}
		s = v.found.leastOf(h, m, s)
		if v.samples[i] = s; s.Present {
			v.found.isAny = true
			// Single intervals describe the present.
			if isNewest || now.Sub(h.Confirmed()) > grace {
				v.recent[i] = h.Recent()
			}
		}
	}
	return v.found.err(now.Sub(m.since) < p.warmUp())
}

// outdated returns the rest of a sample that is no longer new: all of it while a scrape is under way, and a silent one
// if the pod is ready and does not respond.
func (t *target) outdated(now time.Time, pod *observe.Pod, s metric.Sample) metric.Sample {
	switch {
	case t.failing == nil && t.isAwaited.Load():
		return s
	case t.isSilent && s.Present && pod.IsReady() && now.Sub(s.At) <= silentFor:
		return metric.Sample{Silent: true, Milli: s.Milli, At: s.At, Window: s.Window}
	}
	return metric.Sample{}
}

// isBrief reports whether a pod was scraped for too short a time since this process started: its use in a second or two
// may be a burst. A gauge's value never is. For a pod that has just started, the first seconds are its start in any
// case.
func isBrief(pod *observe.Pod, s *metric.Sample) bool {
	began := s.At.Add(-s.Window)
	return s.Window < averaging.ShortestWindow-rounding && began.Sub(pod.StartTime) > averaging.ShortestWindow
}

// miss records a pod without a target: one that is not in the sample, or that cannot be scraped.
func (p *podPage) miss(pod *observe.Pod, isUnknown bool, i int, v *View) {
	if isUnknown {
		if _, err := p.portOf(pod); err != nil {
			if pod.IsReady() {
				v.found.fail(err)
			}
			return
		}
	}
	v.samples[i].Unsampled = true
}

// averageOf returns the pod's average over the metric's window. The average of a pod that has just become ready begins
// with its readiness. The API truncates that time to seconds.
func (m *wanted) averageOf(h *counter.History, pod *observe.Pod) metric.Sample {
	window := m.window()
	s := h.Average(window)
	if !s.Present || !pod.IsReady() {
		return s
	}
	readyFor := s.At.Sub(pod.ReadyTransition.Add(time.Second))
	if own := averaging.PodWindow(readyFor, window); own < window {
		return h.Average(own)
	}
	return s
}

func (f *found) count(t *target, h *counter.History, isSampled, isNew bool) {
	switch {
	case isSampled:
		f.sampled++
	case t.failing != nil:
		f.fail(t.failing)
	case isNew:
		f.starting++
	case h.RestartsAlways():
		f.fail(errRestarts)
	case h.AwaitsChange():
		f.fail(errOneChange)
	default:
		f.fail(errSilent)
	}
}

// leastOf returns the sample, or for other pods than the target's without one the least that it can be: the first
// request after a while wakes a target.
func (f *found) leastOf(h *counter.History, m *wanted, s metric.Sample) metric.Sample {
	if s.Present || s.Silent || m.spec.Pods.IsTarget() {
		return s
	}
	s = h.Least()
	f.hasLeast = f.hasLeast || s.Silent
	return s
}

func (f *found) fail(err error) {
	if f.failing == 0 {
		f.failure = err
	}
	f.failing++
}
