package meter

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// Page is how the page that a pod serves about itself is read.
type Page uint8

// The two ways.
const (
	// Rate is how many requests the pod serves per second, by its counter.
	Rate Page = iota
	// Gauge is how many requests are in the pod: those that wait and those that it works on.
	Gauge
)

// AverageOf is the average over the longest span in the window, or over the last interval. A single
// value of a gauge counts alone.
func (m *Meter) AverageOf(page Page, epoch time.Time, window time.Duration) metric.Sample {
	switch {
	case m.HasAverage():
		return m.span(page, epoch, m.longest(window), 0)
	case m.n == 1 && page == Gauge:
		return metric.Sample{Present: true, Milli: milli(m.at(0).InPod), At: epoch.Add(m.at(0).At)}
	}
	return metric.Sample{}
}

// RecentOf are the last single intervals.
func (m *Meter) RecentOf(page Page, epoch time.Time) (r metric.Recent) {
	for k := range r {
		if k+1 >= m.n {
			break
		}
		r[k] = m.span(page, epoch, k+1, k)
	}
	return r
}

// span is the average between two readings, the first the older one. Each value of a gauge counts
// for the time since the one before.
func (m *Meter) span(page Page, epoch time.Time, first, last int) metric.Sample {
	a, b := m.at(first), m.at(last)
	span, value := b.At-a.At, b.ServedTotal-a.ServedTotal
	if page == Gauge {
		value = 0
		for k := first - 1; k >= last; k-- {
			value += m.at(k).InPod * (m.at(k).At - m.at(k+1).At).Seconds()
		}
	}
	return metric.Sample{Present: true, Milli: milli(value / span.Seconds()), At: epoch.Add(b.At), Window: span}
}

func milli(value float64) int64 { return int64(math.Round(value * 1000)) }
