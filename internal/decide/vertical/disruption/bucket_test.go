package disruption

import (
	"testing"
	"time"

	"golang.org/x/time/rate"
	"pgregory.net/rapid"
)

// The bucket permits the same as golang.org/x/time/rate, at the same times, to the microsecond.
func TestBucketAgainstRate(t *testing.T) {
	epoch := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		perSecond := rapid.Float64Range(0.01, 50).Draw(t, "rate")
		burst := rapid.IntRange(1, 5).Draw(t, "burst")
		bucket, twin, now := NewBucket(perSecond, burst), rate.NewLimiter(rate.Limit(perSecond), burst), epoch
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "later")))
			reservation := twin.ReserveN(now, 1)
			at, ok, next := bucket.Reserve(now, time.Time{})
			bucket = next
			if want := reservation.DelayFrom(now); !ok || (at.Sub(now)-want).Abs() > time.Microsecond {
				t.Fatalf("after %s, want %s", at.Sub(now), want)
			}
		}
	})
}

func TestBucketHasADeadline(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	b := NewBucket(0.1, 1)
	_, ok, b := b.Reserve(now, now.Add(time.Second))
	if !ok {
		t.Fatal("a full bucket is empty")
	}
	if _, ok, b = b.Reserve(now, now.Add(9*time.Second)); ok {
		t.Error("a token of 10 s from now within 9")
	}
	if at, ok, _ := b.Reserve(now, now.Add(11*time.Second)); !ok || at.Sub(now) != 10*time.Second {
		t.Errorf("the token that was not taken: %t at %s", ok, at)
	}
	if _, ok, _ := NewBucket(1, 0).Reserve(now, time.Time{}); ok {
		t.Error("a token of a bucket that holds none")
	}
	for _, unlimited := range []float64{0, -1} {
		if at, ok, _ := NewBucket(unlimited, 0).Reserve(now, now); !ok || !at.Equal(now) {
			t.Errorf("a rate of %g is a limit", unlimited)
		}
	}
}
