package noise

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// stableWindow is the longest span that a pod's average is over.
const stableWindow = 15 * time.Second

// point is a counter as it was read.
type point struct {
	at         time.Duration
	cpuSeconds float64
}

// meter turns a pod's CPU counter into what decisions look at.
type meter struct{ points []point }

// read adds a reading, and forgets those that no window reaches any more.
func (m *meter) read(at time.Duration, cpuSeconds float64) {
	gone := 0
	for gone < len(m.points)-metric.RecentIntervals && at-m.points[gone].at > stableWindow {
		gone++
	}
	m.points = append(m.points[:0], m.points[gone:]...)
	m.points = append(m.points, point{at: at, cpuSeconds: cpuSeconds})
}

// average is over the longest span that the stable window holds.
func (m *meter) average() metric.Sample {
	last := len(m.points) - 1
	if last < 1 {
		return metric.Sample{}
	}
	first := 0
	for first < last-1 && m.points[last].at-m.points[first].at > stableWindow {
		first++
	}
	return m.between(first, last)
}

// recent are the last single intervals.
func (m *meter) recent() (r metric.Recent) {
	for k := range r {
		last := len(m.points) - 1 - k
		if last < 1 {
			break
		}
		r[k] = m.between(last-1, last)
	}
	return r
}

func (m *meter) between(first, last int) metric.Sample {
	a, b := m.points[first], m.points[last]
	span := b.at - a.at
	return metric.Sample{
		Present: true, Milli: int64((b.cpuSeconds-a.cpuSeconds)*1000/span.Seconds() + 0.5), At: noon.Add(b.at), Window: span,
	}
}
