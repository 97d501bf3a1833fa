package resize

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// Each quota must have room for all changes of a pass, in requests and in limits; the claims of a failed change are
// returned. A change without growth always fits.
func TestClaimsAddUp(t *testing.T) {
	grown := func(cpu, memory, cpuLimit vertical.Amount) vertical.Resized {
		return vertical.Resized{Requests: vertical.Of(cpu, memory), Limits: vertical.Amounts{}.With(vertical.CPU, cpuLimit)}
	}
	quotas := []Quota{{Requests: vertical.Of(500, 500)}, {Limits: vertical.Amounts{}.With(vertical.CPU, 900)}}
	var claims Claims
	for i, step := range []struct {
		growth vertical.Resized
		back   bool
		want   bool
	}{
		{growth: grown(300, 300, 300), want: true},
		{growth: grown(300, 100, 300)},
		{growth: grown(100, 300, 300)},
		{growth: grown(100, 100, 700)},
		{growth: grown(200, 200, 600), want: true, back: true},
		{growth: grown(200, 200, 600), want: true},
		{growth: grown(1, 0, 0)},
		{growth: vertical.Resized{}, want: true},
	} {
		if got := claims.Take(step.growth, quotas); got != step.want {
			t.Fatalf("step %d: %t", i, got)
		}
		if step.back {
			claims.Release(step.growth)
		}
	}
}

// Only growth is claimed: the decrease of another container is free once the change is done, not before.
func TestGrowth(t *testing.T) {
	pod := &vertical.Pod{Containers: []vertical.PodContainer{
		{Name: "app", Spec: vertical.Resized{Requests: vertical.Of(100, 400), Limits: vertical.Of(200, 400)}},
		{Name: "log", Spec: vertical.Resized{Requests: vertical.Of(50, 50)}},
	}}
	got := Growth(pod,
		[]Target{{Container: "app", Resized: vertical.Resized{Requests: vertical.Of(300, 100), Limits: vertical.Of(600,
			100)}}})
	if want := (vertical.Resized{
		Requests: vertical.Amounts{}.With(vertical.CPU, 200), Limits: vertical.Amounts{}.With(vertical.CPU, 400),
	}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
}
