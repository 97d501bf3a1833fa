package status

import (
	"testing"
	"time"
)

// TestMissing: a container without samples for three intervals, or for a minute if they are short, is no finding yet.
func TestMissing(t *testing.T) {
	for why, c := range map[string]struct {
		unmeasured, interval time.Duration
		want                 bool
	}{
		"measured now":                {0, time.Minute, false},
		"three intervals":             {3 * time.Minute, time.Minute, false},
		"more than three":             {3*time.Minute + 1, time.Minute, true},
		"a pod has just started":      {50 * time.Second, time.Second, false},
		"a minute of short intervals": {time.Minute + 1, time.Second, true},
	} {
		if f := FindMissing(c.unmeasured, c.interval); f.Kind != MetricsMissing || (f.Message != "") != c.want {
			t.Errorf("%s: %+v, want a message: %t", why, f, c.want)
		}
	}
}

// TestShared: the first of several takes precedence; one object alone shares nothing.
func TestShared(t *testing.T) {
	const want = "Deployment web has several VerticalPodAutoscalers: a, b; a applies to its pods"
	if f := FindShared("Deployment", "web", []string{"a", "b"}); f.Kind != TargetShared || f.Message != want {
		t.Errorf("%+v", f)
	}
	if got, none := AppliesOf(want), AppliesOf("pods run"); got != "a" || none != "" {
		t.Errorf("%q applies by the message, and %q by another one", got, none)
	}
	if f := FindShared("Deployment", "web", []string{"a"}); f.Message != "" {
		t.Errorf("%+v", f)
	}
}
