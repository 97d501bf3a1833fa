// Package meter keeps the readings of pods: of kubelets and agents for Plimsoll, whose decisions
// internal/decide/horizontal/podload makes samples of, of the pods' own endpoints, and of kubelets for
// metrics-server, which keeps its last two scrapes.
package meter

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

const (
	// freshContainer is how old a container must be at least for metrics-server to
	// average over its whole life.
	freshContainer = 10 * time.Second
	// points at a second each span the stable window, one early one among them. More frequent ones are
	// thinned out, as internal/decide/points does it, but for the newest.
	points, newestPoints = 18, 8
	// shortestGap is the shortest time between two samples for the later one to count as new.
	shortestGap = 100 * time.Millisecond
)

// Reading is a kubelet's measurement of a pod, or the pod's own response.
type Reading struct {
	// At is when it was measured.
	At         time.Duration
	CPUSeconds float64
	// MemoryBytes is the working set.
	MemoryBytes float64
	// ServedTotal counts the requests that the pod has served, InPod are those in it now.
	ServedTotal, InPod float64
}

// Meter has the samples of one pod. It serves one of both readers.
type Meter struct {
	kubelet [points]Reading
	first   int
	n       int
	server  struct{ staged, last, previous Reading }
	// servers are how many of the server's three readings there are.
	hasStaged, hasLast, hasPrevious bool
}

// Read records what a pod answered, and reports whether it is new.
func (m *Meter) Read(r Reading) (isNew bool) {
	if m.n > 0 && r.At-m.at(0).At < shortestGap {
		return false
	}
	if m.n == points {
		m.makeRoom(r.At)
	}
	m.kubelet[(m.first+m.n)%points] = r
	m.n++
	return true
}

// makeRoom removes the oldest reading, if the others span the stable window with the one to come; otherwise
// an inner one, whose neighbours are the closest to each other.
func (m *Meter) makeRoom(next time.Duration) {
	out := m.n - 1
	if next-m.at(out-1).At < averaging.StableWindow-averaging.StableWindow/points {
		smallest := time.Duration(math.MaxInt64)
		for k := newestPoints - 1; k < m.n-1; k++ {
			if gap := m.at(k-1).At - m.at(k+1).At; gap <= smallest {
				out, smallest = k, gap
			}
		}
	}
	for k := out; k < m.n-1; k++ {
		*m.at(k) = *m.at(k + 1)
	}
	m.first = (m.first + 1) % points
	m.n--
}

// at is the k-th newest reading.
func (m *Meter) at(k int) *Reading { return &m.kubelet[(m.first+m.n-1-k+points)%points] }

// Newest is the newest reading; false if there is none.
func (m *Meter) Newest() (Reading, bool) {
	if m.n == 0 {
		return Reading{}, false
	}
	return *m.at(0), true
}

// HasAverage reports whether there is one.
func (m *Meter) HasAverage() bool { return m.n >= 2 }

// longest is the reading with which the longest span in the window begins, or the last interval.
func (m *Meter) longest(window time.Duration) int {
	k := m.n - 1
	for k > 1 && m.at(0).At-m.at(k).At > window {
		k--
	}
	return k
}

// between is the average of the time between two readings. Milli-cores are rounded up,
// as quantities are.
func between(epoch time.Time, a, b *Reading) metric.Sample {
	span := b.At - a.At
	nano := math.Floor((b.CPUSeconds - a.CPUSeconds) * 1e9 / span.Seconds())
	return metric.Sample{Present: true, Milli: int64(math.Ceil(nano / 1e6)), At: epoch.Add(b.At), Window: span}
}

// Scrape records a reading as metrics-server does, which it does not serve before
// Publish.
func (m *Meter) Scrape(r Reading) { m.server.staged, m.hasStaged = r, true }

// Publish serves what was scraped (metrics-server v0.9, pkg/storage/pod.go). The container runs since
// started; scrapes are a resolution apart. Of a container that is younger than that, but not too
// young, the average is over its life. A sample that is already known changes nothing. What was not scraped is
// forgotten.
func (m *Meter) Publish(started, resolution time.Duration) {
	if !m.hasStaged {
		m.hasLast, m.hasPrevious = false, false
		return
	}
	staged := m.server.staged
	age := staged.At - started
	goesOn := m.hasLast && started < m.server.last.At
	switch {
	case age < resolution && age >= freshContainer:
		m.server.previous, m.hasPrevious = Reading{At: started}, true
	case goesOn && staged.At > m.server.last.At:
		m.server.previous, m.hasPrevious = m.server.last, true
	case goesOn:
		m.hasPrevious = m.hasPrevious && m.server.previous.At < staged.At
	default:
		m.hasPrevious = false
	}
	m.server.last, m.hasLast, m.hasStaged = staged, true, false
}

// Served is a response of metrics-server. The API's times are whole seconds.
func (m *Meter) Served(epoch time.Time) metric.Sample {
	if !m.hasPrevious {
		return metric.Sample{}
	}
	s := between(epoch, &m.server.previous, &m.server.last)
	s.At = s.At.Truncate(time.Second)
	return s
}

// ServedReading is the reading behind it; false if there is none.
func (m *Meter) ServedReading() (Reading, bool) { return m.server.last, m.hasPrevious }
