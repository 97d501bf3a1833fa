package load

import (
	"fmt"
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// FromValues is a load of which the value of each step is given, NaN where it is not known. It begins and ends with
// known values. Where one is not known the value before goes on, and IsMissing reports it: no load is only where the
// value is 0.
func FromValues(name string, start time.Time, step time.Duration, values []float64) (*Load, error) {
	if step <= 0 {
		return nil, fmt.Errorf("load %s: a step of %v", name, step)
	}
	for len(values) > 0 && math.IsNaN(values[0]) {
		start, values = start.Add(step), values[1:]
	}
	for len(values) > 0 && math.IsNaN(values[len(values)-1]) {
		values = values[:len(values)-1]
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("load %s: it is never known", name)
	}
	if len(values) > maxRows {
		return nil, fmt.Errorf("load %s: more than %d values", name, maxRows)
	}
	l := &Load{
		Name: name, Length: time.Duration(len(values)) * step, Burstiness: math.NaN(), Start: start, speedUp: 1,
		rows: make([]time.Duration, 0, len(values)),
	}
	points := make([]workloadmodel.Point, 0, len(values))
	for i, value := range values {
		at := time.Duration(i) * step
		if math.IsNaN(value) {
			l.addGap(at, at+step)
			continue
		}
		if !(value >= 0 && value <= maxValue) {
			return nil, fmt.Errorf("load %s: value %v, want 0 to %g", name, value, float64(maxValue))
		}
		points = append(points, workloadmodel.Point{At: at, RequestsPerSecond: value})
		l.rows, l.Peak = append(l.rows, at), max(l.Peak, value)
	}
	var err error
	if l.shape, err = workloadmodel.NewSteps(points); err != nil {
		return nil, fmt.Errorf("load %s: %w", name, err)
	}
	return l, nil
}

func (l *Load) addGap(from, to time.Duration) {
	if n := len(l.gaps); n > 0 && l.gaps[n-1].to == from {
		l.gaps[n-1].to = to
		return
	}
	l.gaps = append(l.gaps, gap{from: from, to: to})
}

// Missing is for how long values are missing.
func (l *Load) Missing() time.Duration {
	missing := time.Duration(0)
	for _, g := range l.gaps {
		missing += g.to - g.from
	}
	return missing
}
