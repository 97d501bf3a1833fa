package forecast

import "time"

// Renewal returns when a minute is over for the forecast, with which the proposal may become another one; zero for one
// that raises no count. A decision then is on time although nothing else leads to one.
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
