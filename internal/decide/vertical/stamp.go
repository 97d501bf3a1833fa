package vertical

import "time"

// Stamp is a time in eight bytes: nanoseconds since 1970, or 0 for none. There are many of them, and a time.Time has
// three times that size. A time before 1970 becomes the first nanosecond of 1970.
type Stamp int64

// StampOf returns the moment, and none for the zero time. Times that do not fit, from the year 2262 on, become the last
// one that does.
func StampOf(t time.Time) Stamp {
	const last = 1<<63 - 1
	switch {
	case t.IsZero():
		return 0
	case t.Unix() < 0:
		return 1
	case t.Unix() >= last/int64(time.Second):
		return last
	}
	return max(1, Stamp(t.UnixNano()))
}

// Time returns the moment in UTC, the zero time for none.
func (s Stamp) Time() time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(s)).UTC()
}

// IsZero reports whether there is none.
func (s Stamp) IsZero() bool { return s == 0 }

// Before reports whether s is earlier; none is before every moment.
func (s Stamp) Before(o Stamp) bool { return s < o }

// Add returns the moment that much later.
func (s Stamp) Add(d time.Duration) Stamp { return StampOf(s.Time().Add(d)) }

// Sub returns the time from o to s.
func (s Stamp) Sub(o Stamp) time.Duration { return s.Time().Sub(o.Time()) }
