package monitor

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/startup"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

const (
	// longestStartup is the time after a scale-up within which a new pod counts as created by it.
	longestStartup = 15 * time.Minute
	// maxScaleUps bounds the recorded scale-ups of an HPA.
	maxScaleUps = 16
)

// PodStartup measures the parts of the time from a scale write to a ready pod. Its series have no label for the HPA:
// the cause of slowness is nearly always the cluster, and each label value would be a histogram.
type PodStartup struct {
	byPart *prometheus.HistogramVec
	whole  prometheus.Histogram

	// mu guards the following.
	mu sync.Mutex
	// scaleUps has the scale-ups some of whose pods are not ready.
	scaleUps map[observe.Key]scaleUps
	// times has the start-up times of each HPA's last pods, from their creation.
	times map[observe.Key]*startup.Times
}

func newPodStartup() *PodStartup {
	// Statuses have whole seconds.
	buckets := []float64{0, 1, 2, 3, 5, 8, 12, 20, 30, 45, 60, 90, 120, 180, 300, 600}
	s := &PodStartup{
		byPart: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "plimsoll_horizontal_startup_seconds", Buckets: buckets,
			Help: "Parts of the time from a scale write to a ready pod. The label 'part' is 'creation', " +
				"'scheduling', 'sandbox', 'init', 'image' or 'readiness', named after the event that ended it.",
		}, []string{"part"}),
		whole: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "plimsoll_horizontal_scale_to_ready_seconds", Buckets: buckets,
			Help: "Time from a scale write until each new pod is ready.",
		}),
		scaleUps: map[observe.Key]scaleUps{}, times: map[observe.Key]*startup.Times{},
	}
	for _, part := range observe.StartupParts() {
		s.byPart.WithLabelValues(part.String())
	}
	return s
}

// Scaled records a written change of the replica count.
func (s *PodStartup) Scaled(key observe.Key, at time.Time, change int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(key, s.scaleUps[key].add(at, change))
}

// Forget drops the scale-ups of an HPA.
func (s *PodStartup) Forget(key observe.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.scaleUps, key)
	delete(s.times, key)
}

// StartUp returns the time from the creation to the readiness of the HPA's pods, measured on those that scale-ups
// created; 0 if there is none.
func (s *PodStartup) StartUp(key observe.Key, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if times := s.times[key]; times != nil {
		return times.Percentile90(now)
	}
	return 0
}

// Ready measures the startup of a pod that a scale-up of one of these HPAs created.
func (s *PodStartup) Ready(pod *observe.Pod, keys []observe.Key) {
	for _, key := range keys {
		at, found := s.take(key, time.Unix(0, pod.Created), pod.ReadyTransition)
		if !found {
			continue
		}
		observe.SplitStartup(pod, at, func(part observe.StartupPart, took time.Duration) {
			s.byPart.WithLabelValues(part.String()).Observe(took.Seconds())
		})
		s.whole.Observe(max(0, pod.ReadyTransition.Sub(at.Truncate(time.Second)).Seconds()))
		return
	}
}

// take returns when the scale-up that created a ready pod of the HPA was written.
func (s *PodStartup) take(key observe.Key, created, readyAt time.Time) (at time.Time, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rest, at, found := s.scaleUps[key].take(created)
	s.setLocked(key, rest)
	if found {
		if s.times[key] == nil {
			s.times[key] = &startup.Times{}
		}
		s.times[key].Add(readyAt, readyAt.Sub(created))
	}
	return at, found
}

func (s *PodStartup) setLocked(key observe.Key, to scaleUps) {
	if len(to) == 0 {
		delete(s.scaleUps, key)
		return
	}
	s.scaleUps[key] = to
}

// scaleUps are an HPA's scale-ups, oldest first, with the number of their pods that are not ready.
type scaleUps []scaleUp

type scaleUp struct {
	at   time.Time
	pods int32
}

func (r scaleUps) add(at time.Time, change int32) scaleUps {
	if change <= 0 {
		// A scale-down may delete any of the pods that start, so no later pod can be attributed.
		return nil
	}
	if len(r) == maxScaleUps {
		r = r[1:]
	}
	return append(r, scaleUp{at: at, pods: change})
}

// take returns the scale-up that created a pod at this time: the last one before it that still waits for pods. A pod
// beyond those, such as one of a rollout, has none.
func (r scaleUps) take(created time.Time) (rest scaleUps, at time.Time, found bool) {
	for i := len(r) - 1; i >= 0; i-- {
		// Pods are created in whole seconds.
		before := created.Sub(r[i].at.Truncate(time.Second))
		if before < 0 || before > longestStartup {
			continue
		}
		at = r[i].at
		if r[i].pods--; r[i].pods == 0 {
			r = append(r[:i], r[i+1:]...)
		}
		return r, at, true
	}
	return r, time.Time{}, false
}
