package status

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// TestFindIneffective: policies that hold for no container are found, and those that leave out every one; not those
// that only leave out a container which may be injected later.
func TestFindIneffective(t *testing.T) {
	pods := Containers{Sized: []string{"app", "proxy"}, Init: []string{"setup"}}
	off := func(name string) vertical.ContainerPolicy {
		return vertical.ContainerPolicy{Container: name, Off: true}
	}
	on := func(name string) vertical.ContainerPolicy {
		return vertical.ContainerPolicy{Container: name, Controlled: vertical.Controls()}
	}
	for name, tt := range map[string]struct {
		policies  []vertical.ContainerPolicy
		pods      Containers
		want      string
		isUnknown bool
	}{
		"no policy":               {nil, pods, "", false},
		"no policy and no pods":   {nil, Containers{}, "", false},
		"no pods":                 {[]vertical.ContainerPolicy{on("ap")}, Containers{}, "", true},
		"each has its container":  {[]vertical.ContainerPolicy{on("app"), on("*")}, pods, "", false},
		"misspelt":                {[]vertical.ContainerPolicy{on("ap")}, pods, "the policy for ap has no effect: no pod has such a container", false},
		"one of two misspelt":     {[]vertical.ContainerPolicy{on("app"), on("ap")}, pods, "the policy for ap has no effect: no pod has such a container", false},
		"of an init container":    {[]vertical.ContainerPolicy{on("setup")}, pods, "the policy for setup has no effect: init containers are not sized", false},
		"leaves out another one":  {[]vertical.ContainerPolicy{off("mesh")}, pods, "", false},
		"leaves out one":          {[]vertical.ContainerPolicy{off("app")}, pods, "", false},
		"leaves out both":         {[]vertical.ContainerPolicy{off("app"), off("proxy")}, pods, AllLeftOut, false},
		"leaves out all by *":     {[]vertical.ContainerPolicy{off("*")}, pods, AllLeftOut, false},
		"controls nothing":        {[]vertical.ContainerPolicy{{Container: "*"}}, pods, AllLeftOut, false},
		"all but one by *":        {[]vertical.ContainerPolicy{off("*"), on("app")}, pods, "", false},
		"all but a misspelt one":  {[]vertical.ContainerPolicy{off("*"), on("ap")}, pods, AllLeftOut + "; the policy for ap has no effect: no pod has such a container", false},
		"the last policy of *":    {[]vertical.ContainerPolicy{on("*"), off("*")}, pods, AllLeftOut, false},
		"off, and named by twice": {[]vertical.ContainerPolicy{on("app"), off("app"), off("*")}, pods, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, isKnown := FindIneffective(tt.policies, tt.pods)
			if got.Kind != ConfigIneffective || got.Message != tt.want || isKnown == tt.isUnknown {
				t.Errorf("%q, known: %t, want %q", got.Message, isKnown, tt.want)
			}
		})
	}
}

// TestPolicyEffect: policies are found once they have been without effect for a minute since the last check with one,
// and no longer from the first check on in which they have an effect. While there are no pods, nothing is found.
func TestPolicyEffect(t *testing.T) {
	misspelt := []vertical.ContainerPolicy{{Container: "ap", Controlled: vertical.Controls()}}
	without, with := Containers{Sized: []string{"app"}}, Containers{Sized: []string{"app", "ap"}}
	start := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	var effect PolicyEffect
	for _, step := range []struct {
		after           time.Duration
		pods            Containers
		isFound, isTrue bool
		why             string
	}{
		{0, without, false, false, "the first check of the object"},
		{59 * time.Second, without, false, false, "less than a minute"},
		{time.Minute, without, true, true, "a minute"},
		{90 * time.Second, with, true, false, "a pod has the container"},
		{140 * time.Second, without, false, false, "50 s after that"},
		{150 * time.Second, without, true, true, "a minute after that"},
		{160 * time.Second, Containers{}, false, false, "no pods"},
		{200 * time.Second, without, false, false, "40 s after there were none"},
		{220 * time.Second, without, true, true, "a minute after there were none"},
	} {
		f, isFound := effect.Find(start.Add(step.after), misspelt, step.pods)
		if isFound != step.isFound || isFound && (f.Message != "") != step.isTrue || f.Kind != ConfigIneffective {
			t.Errorf("after %s, %s: %+v, %t", step.after, step.why, f, isFound)
		}
	}
}
