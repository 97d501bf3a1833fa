package disruption

import (
	"math"
	"time"
)

// Bucket lets things happen at a rate: a token bucket as a value
// (golang.org/x/time/rate has the same arithmetic, with a lock and a clock). The
// zero value lets everything happen.
type Bucket struct {
	perSecond float64
	burst     int
	tokens    float64
	at        time.Time
}

// NewBucket returns a full bucket. A rate of 0 or less is no limit, whatever the burst.
func NewBucket(perSecond float64, burst int) Bucket {
	return Bucket{perSecond: perSecond, burst: burst, tokens: float64(burst)}
}

// Empty returns a bucket that has given all that it had: whatever was taken before now, in a process that is gone, no
// more is taken than the rate allows.
func (b Bucket) Empty(now time.Time) Bucket {
	b.tokens, b.at = 0, now
	return b
}

// Reserve takes a token, if there will be one until the deadline; a zero deadline
// is none. It returns when that is.
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

// lastCallShare is the part of a pass, one tenth, that is left to its last call.
const lastCallShare = 10

// LastAction returns when the last action of a pass may begin. One whose turn comes as the pass ends would leave no
// time for its call.
func LastAction(passEnd time.Time, interval time.Duration) time.Time {
	return passEnd.Add(-interval / lastCallShare)
}

// filled returns how many tokens there are now. A clock that was put back adds none.
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
