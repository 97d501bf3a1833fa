package projection

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const period = 15 * time.Second

// policy returns a policy with one external metric and a target of 1 for each replica.
func policy(least, most int32, b *behavior.Behavior) horizontal.Policy {
	return horizontal.Policy{
		MinReplicas: least, MaxReplicas: most, Behavior: b, DownscaleStabilization: 5 * time.Minute,
		Metrics: []source.Spec{{
			Type: source.External, Name: "queue", Target: source.Target{Type: source.AverageValue, Milli: 1000},
		}},
		Divergences: divergence.Default,
	}
}

// decide makes a decision with this length of the queue and this replica count.
func decide(
	p *horizontal.Policy, s horizontal.State, at time.Time, replicas int32, queue int64,
) (horizontal.Decision, horizontal.State) {
	d, s := horizontal.Decide(at, p, s, &horizontal.Observation{
		Target:   horizontal.Target{SpecReplicas: replicas, StatusReplicas: replicas},
		Readings: []metric.Reading{{Series: []int64{queue * 1000}}},
	})
	d = d.Clone()
	return d, horizontal.Settle(s, horizontal.Outcome{At: at})
}

// say prints a projection with its times in seconds after noon.
func say(o Projection) string {
	seconds := func(t time.Time) int { return int(t.Sub(noon).Seconds()) }
	var parts []string
	for _, s := range o.Steps {
		parts = append(parts, fmt.Sprintf("%d at %d s (%s)", s.Replicas, seconds(s.At), s.Limited.Reason))
	}
	if o.Settled {
		parts = append(parts, "then steady")
	}
	if o.Lower != nil {
		text := fmt.Sprintf("no lower before %d s", seconds(o.Lower.At))
		if h := o.Lower.DelayedBy; h != nil && h.Stabilized.Reason != behavior.ReadyForNewScale {
			text += fmt.Sprintf(" because of %d at %d s", h.Stabilized.By.Replicas, seconds(h.Stabilized.By.Time))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

func TestAhead(t *testing.T) {
	slowly := &behavior.Behavior{
		Up: behavior.Rules{Policies: []behavior.RatePolicy{{Type: behavior.RatePods, Value: 2, Period: time.Minute}}},
		Down: behavior.Rules{
			Stabilization: time.Minute,
			Policies:      []behavior.RatePolicy{{Type: behavior.RatePods, Value: 1, Period: time.Minute}},
		},
	}
	for why, c := range map[string]struct {
		behavior        *behavior.Behavior
		replicas, queue int32
		want            string
	}{
		"without behavior it doubles at each turn": {
			nil, 1, 10,
			"8 at 15 s (ScaleUpLimit), 10 at 30 s (DesiredWithinRange), then steady, no lower before 300 s because of 10 at 0 s",
		},
		"max ends it": {
			nil, 10, 100,
			"then steady, no lower before 300 s because of 100 at 0 s",
		},
		"two a minute": {
			slowly, 1, 6,
			"5 at 60 s (ScaleUpLimit), 6 at 120 s (DesiredWithinRange), then steady, no lower before 60 s because of 6 at 0 s",
		},
		"down when the window has passed, one a minute": {
			slowly, 5, 3,
			"4 at 60 s (ScaleDownLimit), 3 at 120 s (DesiredWithinRange), then steady, no lower before 60 s because of 5 at 0 s",
		},
		"nothing to come": {
			nil, 4, 4,
			"then steady, no lower before 300 s because of 4 at 0 s",
		},
	} {
		t.Run(why, func(t *testing.T) {
			p := policy(1, 10, c.behavior)
			d, s := decide(&p, horizontal.State{}, noon, c.replicas, int64(c.queue))
			if diff := cmp.Diff(c.want, say(Project(&p, &s, &d, period))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAheadIsWhatHappens: with a constant load, the following decisions equal the projected ones, step by step.
func TestAheadIsWhatHappens(t *testing.T) {
	for _, b := range []*behavior.Behavior{
		nil,
		{
			Up: behavior.Rules{Stabilization: 30 * time.Second, Policies: []behavior.RatePolicy{
				{Type: behavior.RatePercent, Value: 50, Period: 45 * time.Second},
				{Type: behavior.RatePods, Value: 1, Period: period},
			}},
			Down: behavior.Rules{Stabilization: 2 * time.Minute, Select: behavior.SelectMin, Policies: []behavior.RatePolicy{
				{Type: behavior.RatePercent, Value: 20, Period: time.Minute},
				{Type: behavior.RatePods, Value: 3, Period: 30 * time.Second},
			}},
		},
	} {
		for _, queue := range []int64{1, 7, 30, 90} {
			p := policy(2, 60, b)
			d, s := decide(&p, horizontal.State{}, noon, 20, queue)
			ahead := Project(&p, &s, &d, period)
			var happened []string
			for count, now := d.Desired, noon.Add(period); now.Before(noon.Add(30 * time.Minute)); now = now.Add(period) {
				d, s = decide(&p, s, now, count, queue)
				if d.Desired != count {
					happened = append(happened, fmt.Sprintf("%d at %s", d.Desired, now.Sub(noon)))
				}
				count = d.Desired
			}
			var predicted []string
			for _, step := range ahead.Steps {
				predicted = append(predicted, fmt.Sprintf("%d at %s", step.Replicas, step.At.Sub(noon)))
			}
			if diff := cmp.Diff(happened, predicted); diff != "" {
				t.Errorf("queue of %d (-happened +predicted):\n%s", queue, diff)
			}
		}
	}
}

// TestAheadOnlyReads: computing a projection does not change later decisions.
func TestAheadOnlyReads(t *testing.T) {
	p := policy(1, 50, nil)
	d, s := decide(&p, horizontal.State{}, noon, 5, 40)
	before := s.Clone()
	Project(&p, &s, &d, period)
	if diff := cmp.Diff(before.Recommendations, s.Recommendations); diff != "" {
		t.Errorf("the state changed (-before +after):\n%s", diff)
	}
}

// TestAheadOfNothing: a decision without metrics has no projection.
func TestAheadOfNothing(t *testing.T) {
	p := policy(1, 10, nil)
	d, s := decide(&p, horizontal.State{}, noon, 0, 5)
	if o := Project(&p, &s, &d, period); o.Steps != nil || o.Settled || o.Lower != nil {
		t.Errorf("the outlook of an object that is switched off is %+v", o)
	}
}

// TestNotLowered: a metric that cannot be read, and a fallback that asks for the count, keep it whatever the load is.
func TestNotLowered(t *testing.T) {
	p := policy(1, 10, nil)
	p.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{}
	p.Metrics[0].Fallback = source.Fallback{FailureDuration: time.Minute, Replicas: 6}
	p.DownscaleStabilization = 0
	mails := p.Metrics[0]
	mails.Name, mails.Fallback = "mails", source.Fallback{}
	two := p
	two.Metrics = []source.Spec{p.Metrics[0], mails}
	value, down := metric.Reading{Series: []int64{6000}}, metric.Reading{Error: "down"}
	for why, tt := range map[string]struct {
		policy   horizontal.Policy
		readings []metric.Reading
		isHeld   bool
	}{
		"read":                         {p, []metric.Reading{value}, false},
		"its fallback asks for 6":      {p, []metric.Reading{down}, true},
		"the other one cannot be read": {two, []metric.Reading{value, down}, true},
	} {
		var d horizontal.Decision
		var s horizontal.State
		for _, at := range []time.Time{noon, noon.Add(2 * time.Minute)} {
			d, s = horizontal.Decide(at, &tt.policy, s, &horizontal.Observation{
				Target: horizontal.Target{SpecReplicas: 6, StatusReplicas: 6}, Readings: tt.readings,
			})
			d = d.Clone()
		}
		if lower := Project(&tt.policy, &s, &d, period).Lower; d.Desired != 6 || (lower == nil) != tt.isHeld {
			t.Errorf("%s: at %d it falls by %+v", why, d.Desired, lower)
		}
	}
}

// TestBinds: the named limit is the last one that changed the count.
func TestBinds(t *testing.T) {
	halted := &behavior.Behavior{Up: behavior.Rules{Select: behavior.SelectDisabled}}
	for why, c := range map[string]struct {
		behavior   *behavior.Behavior
		remembered int32
		replicas   int32
		queue      int64
		want       Limit
	}{
		"as the metrics want":              {nil, 0, 3, 4, None},
		"near enough":                      {nil, 0, 4, 4, Tolerance},
		"the double is the most":           {nil, 0, 3, 9, ScaleUpRate},
		"max is the most":                  {nil, 0, 8, 12, MaxReplicas},
		"min is the least":                 {nil, 0, 3, 1, MinReplicas},
		"a recommendation of before holds": {nil, 6, 6, 3, Stabilization},
		"scaling up is switched off":       {halted, 0, 3, 5, ScaleUpRate},
		"put to 0 by hand":                 {nil, 0, 0, 5, Maintenance},
		"more than max":                    {nil, 0, 11, 5, MaxReplicas},
	} {
		p := policy(2, 10, c.behavior)
		s := horizontal.State{}
		if c.remembered > 0 {
			s.Recommendations.Add(noon.Add(-time.Minute), c.remembered)
		} else {
			s.Recommendations.Add(noon.Add(-time.Hour), 1)
		}
		d, _ := decide(&p, s, noon, c.replicas, c.queue)
		if got := BindingLimit(&d); got != c.want {
			t.Errorf("%s: %s binds, want %s", why, got, c.want)
		}
	}
}

// TestUses: the used part of a rate policy's budget comes with the count at the start of its period.
func TestUses(t *testing.T) {
	p := policy(1, 20, &behavior.Behavior{Up: behavior.Rules{Policies: []behavior.RatePolicy{
		{Type: behavior.RatePods, Value: 4, Period: time.Minute}, {Type: behavior.RatePercent, Value: 100, Period: period},
	}}})
	s := horizontal.State{}
	s.ScaleUps = s.ScaleUps.Add(noon.Add(-30*time.Second), 3, time.Minute)
	before := s.Clone()
	d, _ := decide(&p, s, noon, 5, 20)
	var got []string
	for _, u := range Uses(&p, &before, &d) {
		got = append(got, fmt.Sprintf("from %d to %d in %s", u.Start, u.Permits, u.Policy.Period))
	}
	if diff := cmp.Diff([]string{"from 2 to 6 in 1m0s", "from 5 to 10 in 15s"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
