package load

import (
	"fmt"
	"sort"
	"time"
)

// From is the load from a time on, by its own clock: that since its beginning.
func (l *Load) From(offset time.Duration) (*Load, error) {
	switch {
	case l.IsSpedUp():
		return nil, fmt.Errorf("load %s: a load that is sped up has another clock", l.Name)
	case offset < 0:
		return nil, fmt.Errorf("load %s: %v is before its beginning", l.Name, offset)
	case l.Length > 0 && offset >= l.Length:
		return nil, fmt.Errorf("load %s: %v is after its end: it lasts %v", l.Name, offset, l.Length)
	}
	part := *l
	part.offset += offset
	if l.Length > 0 {
		part.Length -= offset
	}
	if !l.Start.IsZero() {
		part.Start = l.Start.Add(offset)
	}
	return &part, nil
}

// FromTime is the load from a date on; it must be a trace.
func (l *Load) FromTime(at time.Time) (*Load, error) {
	if l.Start.IsZero() {
		return nil, fmt.Errorf("load %s has no clock: say how long after its beginning", l.Name)
	}
	part, err := l.From(at.Sub(l.Start))
	if err != nil {
		return nil, fmt.Errorf("%w; it is from %s to %s", err, l.Start.Format(time.RFC3339),
			l.Start.Add(l.Length).Format(time.RFC3339))
	}
	return part, nil
}

// Offset is how much of the load is left out at its beginning.
func (l *Load) Offset() time.Duration { return l.offset }

// PeakWithin is its largest rate in the time after it begins.
func (l *Load) PeakWithin(lasts time.Duration) float64 {
	end, peak := l.stretched(lasts), l.Rate(0)
	if l.rows == nil {
		for at := l.offset; at < end; at += stepOf(at - l.offset) {
			peak = max(peak, l.shape.Rate(at))
		}
		return peak
	}
	i := sort.Search(len(l.rows), func(i int) bool { return l.rows[i] > l.offset })
	for ; i < len(l.rows) && l.rows[i] < end; i++ {
		peak = max(peak, l.shape.Rate(l.rows[i]))
	}
	return peak
}
