package priority

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
)

func cpu(milli vertical.Amount) vertical.Amounts { return vertical.Amounts{}.With(vertical.CPU, milli) }

func pod(requests vertical.Amounts) *vertical.Pod {
	return &vertical.Pod{Containers: []vertical.PodContainer{{Name: "app", Requests: requests}}}
}

func recommend(target, lower, upper vertical.Amounts) []vertical.Recommendation {
	return []vertical.Recommendation{{Container: "app", Target: target, Lower: lower, Upper: upper}}
}

func TestOf(t *testing.T) {
	none := vertical.Amounts{}
	for why, c := range map[string]struct {
		pod  *vertical.Pod
		recs []vertical.Recommendation
		want Priority
	}{
		"a growth by four times": {pod(cpu(2000)), recommend(cpu(10000), none, none),
			Priority{ScaleUp: true, Difference: 4}},
		"below the lower bound": {pod(cpu(4000)), recommend(cpu(10000), cpu(6000), cpu(14000)),
			Priority{Outside: true, ScaleUp: true, Difference: 1.5}},
		"above the upper bound": {pod(cpu(8000)), recommend(cpu(2000), cpu(1000), cpu(3000)),
			Priority{Outside: true, Difference: 0.75}},
		"the bounds themselves are within": {pod(cpu(1000)), recommend(cpu(2000), cpu(1000), cpu(1000)),
			Priority{ScaleUp: true, Difference: 1}},
		"nothing requested": {pod(none), recommend(cpu(5), none, none),
			Priority{Outside: true, ScaleUp: true, Difference: 4}},
		"nothing recommended": {pod(cpu(5)), nil, Priority{}},
		"both resources' parts are added": {pod(vertical.Of(3000, 10<<20)),
			recommend(vertical.Of(6000, 20<<20), none, none), Priority{ScaleUp: true, Difference: 2}},
		"one grows and the other shrinks": {pod(vertical.Of(4000, 10<<20)),
			recommend(vertical.Of(2000, 20<<20), none, none), Priority{ScaleUp: true, Difference: 1.5}},
		"a container that admission missed": {&vertical.Pod{HasObserved: true, Containers: pod(cpu(1)).Containers},
			recommend(cpu(5), none, none), Priority{}},
	} {
		if got := Of(c.pod, c.recs); got != c.want {
			t.Errorf("%s: %+v, want %+v", why, got, c.want)
		}
	}
}

// Compare is a total order of the numbers that can occur.
func TestCompareOrders(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) Priority {
			return Priority{ScaleUp: rapid.Bool().Draw(t, label), Difference: float64(rapid.IntRange(0, 3).Draw(t, label))}
		}
		a, b, c := draw("a"), draw("b"), draw("c")
		if a.Compare(b) != -b.Compare(a) {
			t.Errorf("%v and %v are each before the other", a, b)
		}
		if a.Compare(b) <= 0 && b.Compare(c) <= 0 && a.Compare(c) > 0 {
			t.Errorf("%v, %v and %v are a circle", a, b, c)
		}
	})
}

// The difference is a number and not negative, and zero for a pod that requests its target.
func TestDifferenceIsANumber(t *testing.T) {
	amounts := rapid.Custom(func(t *rapid.T) vertical.Amounts {
		var a vertical.Amounts
		for r := range vertical.Resource(vertical.Resources) {
			if rapid.Bool().Draw(t, "has") {
				a = a.With(r, vertical.Amount(rapid.Int64Min(0).Draw(t, "amount")))
			}
		}
		return a
	})
	rapid.Check(t, func(t *rapid.T) {
		requests, target := amounts.Draw(t, "requests"), amounts.Draw(t, "target")
		p := Of(pod(requests), recommend(target, vertical.Amounts{}, vertical.Amounts{}))
		if p.Difference < 0 || math.IsNaN(p.Difference) {
			t.Errorf("%+v", p)
		}
		if same := Of(pod(target), recommend(target, target, target)); same.Outside || same.ScaleUp {
			t.Errorf("a pod with what is recommended is %+v", same)
		}
	})
}

func TestJudge(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	p := Policy{MinChange: 0.1, Lifetime: 12 * time.Hour, AfterOOM: 10 * time.Minute}
	aged := func(age time.Duration, requests vertical.Amount) *vertical.Pod {
		pod := pod(cpu(requests))
		pod.Started = now.Add(-age)
		return pod
	}
	oom := func(ran, ago time.Duration) *vertical.Pod {
		pod := aged(time.Hour, 900)
		finished := now.Add(-ago)
		pod.Containers[0].Crashed = vertical.Termination{Started: finished.Add(-ran), Finished: finished, OutOfMemory: true}
		return pod
	}
	within := recommend(cpu(1000), cpu(500), cpu(2000))
	for why, c := range map[string]struct {
		pod  *vertical.Pod
		recs []vertical.Recommendation
		want reason.Reason
	}{
		"outside":                  {aged(time.Second, 100), within, reason.OutsideRange},
		"young":                    {aged(12*time.Hour-1, 600), within, reason.WithinBounds},
		"old enough":               {aged(12*time.Hour, 600), within, reason.LongLived},
		"too near":                 {aged(13*time.Hour, 950), within, reason.SmallDifference},
		"never started":            {pod(cpu(600)), within, reason.NotStarted},
		"out of memory":            {oom(time.Minute, time.Minute), within, reason.QuickOOM},
		"out of memory after long": {oom(10*time.Minute, time.Minute), within, reason.WithinBounds},
		"out of memory long ago":   {oom(time.Minute, 10*time.Minute), within, reason.WithinBounds},
		"out of memory with nothing better": {oom(time.Minute, time.Minute), recommend(cpu(900), cpu(500), cpu(2000)),
			reason.NothingChanges},
		"nothing would change": {aged(time.Hour, 400), recommend(cpu(400), cpu(500), cpu(600)), reason.OutsideRange},
	} {
		if _, got := p.Evaluate(now, c.pod, c.recs); got != c.want {
			t.Errorf("%s: %s, want %s", why, got, c.want)
		}
	}
	p.Divergences = divergence.UnchangedRequests
	if _, got := p.Evaluate(now, aged(time.Hour, 400),
		recommend(cpu(400), cpu(500), cpu(600))); got != reason.NothingChanges {
		t.Errorf("with unchanged-requests: %s", got)
	}
	p.Containers = []vertical.ContainerPolicy{{Container: "app", Off: true}}
	if _, got := p.Evaluate(now, oom(time.Minute, time.Minute), within); got != reason.WithinBounds {
		t.Errorf("a container that is off ran out of memory: %s", got)
	}
}

func TestAllows(t *testing.T) {
	both := func(cpu, memory vertical.Amount) *vertical.Pod { return pod(vertical.Of(cpu, memory)) }
	up := func(resources ...vertical.Resource) Requirement {
		return Requirement{Resources: resources, Direction: Higher}
	}
	down := func(resources ...vertical.Resource) Requirement {
		return Requirement{Resources: resources, Direction: Lower}
	}
	recs := recommend(vertical.Of(100, 100), vertical.Amounts{}, vertical.Amounts{})
	for why, c := range map[string]struct {
		pod          *vertical.Pod
		requirements []Requirement
		recs         []vertical.Recommendation
		want         bool
	}{
		"none":                           {both(50, 50), nil, recs, true},
		"higher":                         {both(50, 200), []Requirement{up(vertical.CPU)}, recs, true},
		"not higher":                     {both(100, 50), []Requirement{up(vertical.CPU)}, recs, false},
		"one of two resources is enough": {both(200, 50), []Requirement{up(vertical.CPU, vertical.Memory)}, recs, true},
		"all requirements": {both(50, 50), []Requirement{up(vertical.CPU), down(vertical.Memory)}, recs,
			false},
		"both requirements hold": {both(50, 200), []Requirement{up(vertical.CPU), down(vertical.Memory)}, recs,
			true},
		"without resources": {both(50, 50), []Requirement{up()}, recs, false},
		"nowhere": {both(50, 50), []Requirement{{Resources: []vertical.Resource{vertical.CPU}}},
			recs, false},
		"a container without a request":      {pod(cpu(200)), []Requirement{up(vertical.CPU)}, recs, true},
		"no container with a recommendation": {both(50, 50), nil, nil, false},
	} {
		p := Policy{Requirements: c.requirements}
		if got := p.MeetsRequirements(c.pod, c.recs); got != c.want {
			t.Errorf("%s: %t", why, got)
		}
	}
	if !(&Policy{Unrestricted: true}).MeetsRequirements(both(1, 1), nil) {
		t.Error("no update policy restricts")
	}
}

// For a resource without a recommendation, neither a missing request nor a zero target permits a change.
func TestRequirementsAreAboutWhatIsRecommended(t *testing.T) {
	memory := func(bytes vertical.Amount) vertical.Amounts { return vertical.Amounts{}.With(vertical.Memory, bytes) }
	require := func(d Direction, r vertical.Resource) []Requirement {
		return []Requirement{{Resources: []vertical.Resource{r}, Direction: d}}
	}
	for why, c := range map[string]struct {
		requests, target vertical.Amounts
		required         []Requirement
		want, upstream   bool
	}{
		"no request of CPU, which is not recommended": {memory(900), memory(600), require(Higher, vertical.Memory), false,
			true},
		"no request of CPU, which is recommended": {memory(900), vertical.Of(1, 600), require(Higher, vertical.Memory), true,
			true},
		"the requirement holds":            {memory(900), memory(1000), require(Higher, vertical.Memory), true, true},
		"a target of nothing is not lower": {vertical.Of(100, 900), memory(600), require(Lower, vertical.CPU), false, true},
		"but lower memory is":              {vertical.Of(100, 900), memory(600), require(Lower, vertical.Memory), true, true},
	} {
		recs := recommend(c.target, vertical.Amounts{}, vertical.Amounts{})
		for d, want := range map[divergence.Set]bool{divergence.Default: c.want, divergence.None: c.upstream} {
			p := Policy{Requirements: c.required, Divergences: d}
			if got := p.MeetsRequirements(pod(c.requests), recs); got != want {
				t.Errorf("%s, %s: %t", why, d, got)
			}
		}
	}
}

// TestRequirementsIgnoreContainersThatAdmissionDidNotSee: side was injected after the admission and requests nothing,
// which permits any change of a container that admission saw.
func TestRequirementsIgnoreContainersThatAdmissionDidNotSee(t *testing.T) {
	pod := pod(vertical.Of(100, 900))
	pod.Containers = append(pod.Containers, vertical.PodContainer{Name: "side"})
	var recs []vertical.Recommendation
	for i := range pod.Containers {
		recs = append(recs, vertical.Recommendation{Container: pod.Containers[i].Name, Target: vertical.Of(100, 600)})
	}
	p := Policy{Divergences: divergence.Default,
		Requirements: []Requirement{{Resources: []vertical.Resource{vertical.Memory}, Direction: Higher}}}
	if !p.MeetsRequirements(pod, recs) {
		t.Error("a container without requests permits no change")
	}
	pod.HasObserved, pod.Observed = true, []string{"app"}
	if p.MeetsRequirements(pod, recs) {
		t.Error("a container that admission did not see permits a change")
	}
	p.Divergences = divergence.None
	if !p.MeetsRequirements(pod, recs) {
		t.Error("without the divergence it does not, as upstream")
	}
}
