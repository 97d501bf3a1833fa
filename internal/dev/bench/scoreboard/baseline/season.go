package baseline

import (
	"math"
	"slices"
)

// season expects what was a day or a week ago.
type season struct {
	ring
	length, ahead int
	// part of it is expected.
	part float64
}

func newSeason(length, ahead int, part float64) *season {
	return &season{ring: newRing(length), length: length, ahead: ahead, part: part}
}

var _ Forecast = (*season)(nil)

// Next implements Forecast.
func (s *season) Next(load float64) float64 {
	s.add(load)
	if s.known() < s.length {
		return 0
	}
	largest := 0.0
	for i := range min(s.ahead, s.length) {
		largest = max(largest, s.part*s.ago(s.length-1-i))
	}
	return largest
}

const (
	// quantileDays are the days of which the quantile is taken, quantileOf which one it is.
	quantileDays = 7
	quantileOf   = 0.8
)

// quantile expects a quantile of the same minutes of several days.
type quantile struct {
	ring
	ahead int
	same  []float64
}

func newQuantile(ahead int) *quantile {
	return &quantile{ring: newRing(quantileDays * minutesOfDay), ahead: min(ahead, minutesOfDay)}
}

var _ Forecast = (*quantile)(nil)

// Next implements Forecast. Of fewer days than seven, it is the quantile of those.
func (q *quantile) Next(load float64) float64 {
	q.add(load)
	days := q.known() / minutesOfDay
	largest := 0.0
	for i := range q.ahead {
		q.same = q.same[:0]
		for day := 1; day <= days; day++ {
			q.same = append(q.same, q.ago(day*minutesOfDay-1-i))
		}
		largest = max(largest, quantileIn(q.same, quantileOf))
	}
	return largest
}

// quantileIn is the least of the values that at least this part of them does not exceed; 0 if there are none. It sorts
// them.
func quantileIn(values []float64, part float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[max(0, int(math.Ceil(part*float64(len(values))-1e-9))-1)]
}
