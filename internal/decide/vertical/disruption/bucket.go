package disruption

import (
	"math"
	"time"
)

// Bucket limits a rate: it is a token bucket as a value (golang.org/x/time/rate has the same arithmetic, with a lock
// and a clock). The zero value has no limit.
type Bucket struct {
	perSecond float64
	burst     int
	tokens    float64
	at        time.Time
}

// NewBucket returns a full bucket. A rate of 0 or less means no limit, whatever the burst.
func NewBucket(perSecond float64, burst int) Bucket {
	return Bucket{perSecond: perSecond, burst: burst, tokens: float64(burst)}
}

// Empty returns the bucket without tokens: whatever an earlier process took before now, the rate is not exceeded.
func (b Bucket) Empty(now time.Time) Bucket {
	b.tokens, b.at = 0, now
	return b
}

// Reserve takes a token, if one will be available by the deadline; a zero deadline means none. It returns the time from
// which it is available.
func (b Bucket) Reserve(now, deadline time.Time) (at time.Time, ok bool, next Bucket) {
	if b.perSecond <= 0 {
		return now, true, b
	}
	if b.burst < 1 {
		return now, false, b
	}
	tokens := b.filled(now) - 1
	at = now
	if tokens < 0 {
		at = now.Add(seconds(-tokens / b.perSecond))
	}
	if !deadline.IsZero() && at.After(deadline) {
		return now, false, b
	}
	b.tokens, b.at = tokens, now
	return at, true, b
}

// lastCallShare is the divisor of a pass that gives the time reserved for its last call.
const lastCallShare = 10

// LastAction returns when the last action of a pass may begin, so that its call ends within the pass.
func LastAction(passEnd time.Time, interval time.Duration) time.Time {
	return passEnd.Add(-interval / lastCallShare)
}

// filled returns the number of tokens now. A clock that was set back adds none.
func (b Bucket) filled(now time.Time) float64 {
	if b.at.IsZero() || now.Before(b.at) {
		return b.tokens
	}
	return min(float64(b.burst), b.tokens+now.Sub(b.at).Seconds()*b.perSecond)
}

func seconds(s float64) time.Duration {
	if s > math.MaxInt64/float64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(s * float64(time.Second))
}
