package forecast

import "time"

// Renewal returns when the forecast's current minute ends, after which the proposal may change; zero for a forecast
// that raises no count. It schedules a decision that nothing else would trigger.
func Renewal(now time.Time, settings *Settings, r *Result) time.Time {
	if settings.Mode != Active || r.Reason != ReasonInUse {
		return time.Time{}
	}
	return now.Add(-Lag).Truncate(time.Minute).Add(time.Minute + Lag)
}

// Acts reports whether the forecast may raise the count.
func (s *Settings) Acts() bool { return s.Mode == Active }

// Learns reports whether the load is learnt.
func (s *Settings) Learns() bool { return s.Mode != Off }
