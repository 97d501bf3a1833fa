package admission

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestIsFresh(t *testing.T) {
	now := time.Now()
	lease := func(created, renewed time.Duration) *coordinationv1.Lease {
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-created))}}
		if renewed >= 0 {
			l.Spec.RenewTime = ptr.To(metav1.NewMicroTime(now.Add(-renewed)))
		}
		return l
	}
	for why, c := range map[string]struct {
		lease *coordinationv1.Lease
		want  bool
	}{
		"renewed":               {lease(time.Hour, 59*time.Second), true},
		"not renewed for long":  {lease(time.Hour, time.Minute), false},
		"made a moment ago":     {lease(time.Second, -1), true},
		"made long ago, unused": {lease(time.Hour, -1), false},
	} {
		if got := isFresh(c.lease, time.Minute, now); got != c.want {
			t.Errorf("%s: %t", why, got)
		}
	}
}

// Whatever the time in the Lease, it is fresh for a timeout after its last observed change, and no longer.
func TestLeaseOfAWrongClock(t *testing.T) {
	const timeout = time.Minute
	for _, ahead := range []time.Duration{-time.Hour, -30 * time.Second, 0, 30 * time.Second, time.Hour} {
		now := time.Now()
		var seen observedLease
		look := func(renewed time.Time) bool {
			lease := &coordinationv1.Lease{
				ObjectMeta: metav1.ObjectMeta{UID: "1", CreationTimestamp: metav1.NewTime(now.Add(-24 * time.Hour))},
				Spec:       coordinationv1.LeaseSpec{RenewTime: ptr.To(metav1.NewMicroTime(renewed.Add(ahead)))},
			}
			seen.observe(lease, timeout, now)
			return now.Sub(seen.changed) < timeout
		}
		last := now
		if got, want := look(last), ahead.Abs() < timeout; got != want {
			t.Errorf("%s ahead, at first sight: fresh %t", ahead, got)
		}
		for range 10 {
			now = now.Add(10 * time.Second)
			last = now
			if !look(last) {
				t.Errorf("%s ahead: not fresh, though it was renewed", ahead)
			}
		}
		for _, after := range []time.Duration{59 * time.Second, time.Minute, time.Hour} {
			now = last.Add(after)
			if got, want := look(last), after < timeout; got != want {
				t.Errorf("%s ahead, %s after the last renewal: fresh %t", ahead, after, got)
			}
		}
	}
}
