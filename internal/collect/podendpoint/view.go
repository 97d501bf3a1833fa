package podendpoint

import (
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint/counter"
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

const (
	// graceIntervals is for how many intervals the samples of a pod count that is not read any more.
	graceIntervals = 3
	// warmUpIntervals is for how many intervals a pod that has not failed may have no samples because
	// its scraping has just begun.
	warmUpIntervals = 4
)

// View is what Look found. The zero value is ready for use, and it may be used again.
type View struct {
	samples []metric.Sample
	recent  []metric.Recent
	joint   averaging.CommonWindow
	found   found
}

// found counts the pods of a view that are ready and in the sample.
type found struct {
	// isAny says that there is a sample, also of a pod that is not ready.
	isAny bool
	// sampled pods have a sample; starting ones will have one soon; failing ones do not, and failure is
	// why the first of them does not.
	sampled, starting, failing int
	failure                    error
}

var _ observehorizontal.PodUsage = (*View)(nil)

func (v *View) begin(pods int, share averaging.Share) {
	v.samples, v.recent = resized(v.samples, pods), resized(v.recent, pods)
	v.joint.Reset(share)
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

// look looks a second time, over a shorter window, if so many pods have just become ready that it
// matters.
func (p *podPage) look(now time.Time, m *wanted, q *Query, v *View) error {
	p.lookOver(now, m, q.Pods, averaging.StableWindow, v)
	if window := v.joint.Window(); window < averaging.StableWindow {
		v.begin(len(q.Pods), q.Share)
		p.lookOver(now, m, q.Pods, window, v)
	}
	return v.found.err(now.Sub(m.since) < p.warmUp())
}

// err is why there are no values.
func (f *found) err(isBeginning bool) error {
	switch {
	case f.starting > 0 && (f.sampled == 0 || isBeginning):
		return fmt.Errorf("%d pods: %w", f.starting, ErrStarting)
	case f.sampled == 0 && f.failing > 0:
		return fmt.Errorf("none of %d pods that are ready has a sample: %w", f.failing, f.failure)
	}
	return nil
}

// interval is how long it takes until all targets have been scraped.
func (p *podPage) interval() time.Duration {
	return time.Duration(float64(p.source.config.Interval) * p.stretch())
}

func (p *podPage) warmUp() time.Duration {
	return warmUpIntervals*p.interval() + p.source.config.Timeout
}

func (p *podPage) lookOver(now time.Time, m *wanted, pods []*observe.Pod, window time.Duration, v *View) {
	at := p.indexOf(m)
	grace := max(graceIntervals*p.interval(), graceIntervals*time.Second)
	for i, pod := range pods {
		if !isEligible(pod) {
			continue
		}
		t := p.targets[pod.Identity()]
		if t == nil || t.isAhead {
			p.miss(now, pod, t == nil, i, v)
			continue
		}
		h := &t.histories[at]
		s := h.Average(window)
		if s.Present && now.Sub(s.At) > grace {
			s = metric.Sample{}
		}
		if pod.IsReady() {
			v.found.count(t, h, s.Present, now.Sub(later(t.added, m.since)) < p.warmUp())
		}
		if s.Present {
			v.found.isAny = true
			v.samples[i], v.recent[i] = v.join(h, pod, s, window), h.Recent()
		}
	}
}

// miss is a pod that does not count: one that is not in the sample, or that cannot be scraped. What one that is not in
// the sample has taken over since it is ready, the others do no longer: their averages begin with that, too.
func (p *podPage) miss(now time.Time, pod *observe.Pod, isUnknown bool, i int, v *View) {
	if isUnknown {
		if _, err := p.portOf(pod); err != nil {
			if pod.IsReady() {
				v.found.fail(err)
			}
			return
		}
	}
	v.samples[i].Unsampled = true
	if pod.IsReady() {
		v.joint.Add(now.Sub(pod.ReadyTransition.Add(time.Second)))
	}
}

// join takes in how long the pod was ready when the sample was taken, and begins its average with
// that. The API truncates the time to seconds.
func (v *View) join(h *counter.History, pod *observe.Pod, s metric.Sample, window time.Duration) metric.Sample {
	if !pod.IsReady() {
		return s
	}
	readyFor := s.At.Sub(pod.ReadyTransition.Add(time.Second))
	v.joint.Add(readyFor)
	if own := averaging.PodWindow(readyFor, window); own < window {
		return h.Average(own)
	}
	return s
}

// indexOf is where the histories have the metric.
func (p *podPage) indexOf(m *wanted) int {
	for i := range p.metrics {
		if p.metrics[i] == m {
			return i
		}
	}
	panic("a metric of another page")
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
	default:
		f.fail(errSilent)
	}
}

func (f *found) fail(err error) {
	if f.failing == 0 {
		f.failure = err
	}
	f.failing++
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
