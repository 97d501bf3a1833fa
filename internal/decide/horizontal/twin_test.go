package horizontal_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// twin decides as upstream documents it, without regard to memory or time: it keeps every recommendation and scale
// event and searches all of them every time.
//
// It equals the decision with window-history only. Upstream keeps its recommendations in slots; a slot is free if its
// recommendation is older than every window, and every decision overwrites at most one free slot. So a recommendation
// may outlive its window until its slot is needed, and if an edit lengthens the window meanwhile, upstream counts it
// again. Which ones remain depends on the order of slots. Plimsoll drops a recommendation once a decision finds it
// older than every window of that moment (forgotten below), so that the two differ for a while after a window was
// lengthened: see TestLengthenedWindow. Without the divergence, slots is the twin.
type twin struct {
	seeded          bool
	recommendations []entry
	// forgotten is the time before which recommendations are forgotten.
	forgotten  time.Time
	ups, downs []entry
	// count is the last observed count, changed the time of its last change, and isRaised is set if that was a rise.
	count    int32
	changed  time.Time
	isRaised bool
	// metrics are the proposals of this decision's metrics and the times of their samples.
	metrics []entry
}

type entry struct {
	at       time.Time
	replicas int32
	// asked is the time at which a metric was requested; zero if it was not.
	asked time.Time
}

// decide returns the count after the windows, the rates and the bounds.
func (n *twin) decide(now time.Time, p *horizontal.Policy, current, proposed int32) (stabilized, desired int32) {
	n.seed(now, current)
	stabilized = n.stabilize(now, p, current, proposed)
	n.recommendations = append(n.recommendations, entry{at: now, replicas: proposed})
	return stabilized, n.limit(now, p, current, stabilized)
}

func (n *twin) seed(now time.Time, current int32) {
	if !n.seeded {
		n.recommendations, n.seeded = append(n.recommendations, entry{at: now, replicas: current}), true
	}
}

func (n *twin) stabilize(now time.Time, p *horizontal.Policy, current, proposed int32) int32 {
	lowest, highest := proposed, proposed
	for _, r := range n.recommendations {
		age := now.Sub(r.at)
		switch {
		case r.at.Before(n.forgotten):
		case p.Behavior == nil && age <= p.DownscaleStabilization:
			highest = max(highest, r.replicas)
		case p.Behavior != nil:
			if age < p.Behavior.Up.Stabilization {
				lowest = min(lowest, r.replicas)
			}
			if age < p.Behavior.Down.Stabilization {
				highest = max(highest, r.replicas)
			}
		}
	}
	if p.Behavior == nil {
		n.forget(now.Add(-p.DownscaleStabilization))
		return highest
	}
	n.forget(now.Add(-max(p.Behavior.Up.Stabilization, p.Behavior.Down.Stabilization)))
	return min(max(current, lowest), highest)
}

func (n *twin) forget(before time.Time) {
	if before.After(n.forgotten) {
		n.forgotten = before
	}
}

func (n *twin) limit(now time.Time, p *horizontal.Policy, current, proposed int32) int32 {
	switch {
	case p.Behavior == nil:
		return max(p.MinReplicas, min(proposed, p.MaxReplicas, max(2*current, 4), n.doubling(p, current)))
	case proposed > current:
		return min(proposed, p.MaxReplicas, n.farthest(now, &p.Behavior.Up, current, true))
	case proposed < current:
		return max(proposed, p.MinReplicas, n.farthest(now, &p.Behavior.Down, current, false))
	default:
		return proposed
	}
}

// doubling returns the limit of one-doubling: an answer that was requested before the count was raised does not double
// it.
func (n *twin) doubling(p *horizontal.Policy, current int32) int32 {
	if !p.Divergences.Has(divergence.OneDoubling) {
		return math.MaxInt32
	}
	farthest, hasOld := current, false
	for _, m := range n.metrics {
		isOld := !m.asked.IsZero() && n.isRaised && !m.asked.After(n.changed)
		if hasOld = hasOld || isOld; !isOld {
			farthest = max(farthest, m.replicas)
		}
	}
	if !hasOld {
		return math.MaxInt32
	}
	return farthest
}

// farthest returns the limit of the rules, which is never on the other side of the current count.
func (n *twin) farthest(now time.Time, rules *behavior.Rules, current int32, up bool) int32 {
	if rules.Select == behavior.SelectDisabled || len(rules.Policies) == 0 {
		return current
	}
	var permitted []int32
	for _, policy := range rules.Policies {
		start := current - sum(n.ups, now, policy.Period) + sum(n.downs, now, policy.Period)
		share := float64(policy.Value) / 100
		switch {
		case policy.Type == behavior.RatePods && up:
			permitted = append(permitted, start+policy.Value)
		case policy.Type == behavior.RatePods:
			permitted = append(permitted, start-policy.Value)
		case up:
			permitted = append(permitted, int32(math.Ceil(float64(start)*(1+share))))
		default:
			permitted = append(permitted, int32(float64(start)*(1-share)))
		}
	}
	slices.Sort(permitted)
	lowest, highest := permitted[0], permitted[len(permitted)-1]
	// The largest change is the highest count for a rise, the lowest for a fall.
	switch {
	case up && rules.Select == behavior.SelectMax:
		return max(current, highest)
	case up:
		return max(current, lowest)
	case rules.Select == behavior.SelectMax:
		return min(current, lowest)
	default:
		return min(current, highest)
	}
}

func sum(events []entry, now time.Time, period time.Duration) int32 {
	var n int32
	for _, e := range events {
		if now.Sub(e.at) < period {
			n += e.replicas
		}
	}
	return n
}

// see records the count, independent of its writer.
func (n *twin) see(now time.Time, count int32) {
	if count != n.count && n.count > 0 {
		n.changed, n.isRaised = now, false
	}
	n.count = count
}

// wrote stores a change that was written.
func (n *twin) wrote(now time.Time, p *horizontal.Policy, change int32) {
	if n.see(now, n.count+change); change > 0 {
		n.isRaised = true
	}
	switch {
	case p.Behavior == nil:
	case change > 0:
		n.ups = append(n.ups, entry{at: now, replicas: change})
	case change < 0:
		n.downs = append(n.downs, entry{at: now, replicas: -change})
	}
}

// drawRules draws rules of one direction. The first policy has the longest period, so that both directions keep their
// events for the same time. A period never grows, so that no decision needs an event that upstream has dropped.
func drawRules(t *rapid.T, longest time.Duration) behavior.Rules {
	rules := behavior.Rules{
		Select: behavior.Select(rapid.IntRange(0, 2).Draw(t, "select")),
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "policies") {
		policy := behavior.RatePolicy{
			Type:   behavior.RateType(rapid.IntRange(0, 1).Draw(t, "type")),
			Value:  rapid.SampledFrom([]int32{1, 2, 4, 10, 50, 100, 150}).Draw(t, "value"),
			Period: longest,
		}
		if i > 0 {
			policy.Period = time.Duration(rapid.Int64Range(1, int64(longest/time.Second)).Draw(t, "period")) * time.Second
		}
		rules.Policies = append(rules.Policies, policy)
	}
	return rules
}

func drawWindow(t *rapid.T, longest time.Duration) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, longest / 10, longest / 2, longest}).Draw(t, "window")
}

// drawSampled returns the time of a metric's sample; some have none.
func drawSampled(t *rapid.T, now time.Time) time.Time {
	age := rapid.SampledFrom([]time.Duration{-1, 0, 0, time.Second / 4, 10 * time.Second, 2 * time.Minute}).Draw(t,
		"sample's age")
	if age < 0 {
		return time.Time{}
	}
	return now.Add(-age)
}

// TestAgainstTwin plays random timelines: proposals of two metrics, pauses, failed writes, changes of the count by
// users, and edits of the windows and rates.
func TestAgainstTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policy(1, 40)
		p.Metrics = append(p.Metrics, queue())
		p.Divergences = rapid.SampledFrom([]divergence.Set{divergence.WindowHistory, divergence.Default}).Draw(t,
			"divergences") &^ divergence.NewerSamples
		longest := 5 * time.Minute
		edit := func() {
			p.DownscaleStabilization, p.Behavior = drawWindow(t, 5*time.Minute), nil
			if rapid.IntRange(0, 3).Draw(t, "behavior") == 0 {
				return
			}
			longest = rapid.SampledFrom([]time.Duration{longest, longest,
				max(time.Second, longest/2).Truncate(time.Second)}).Draw(t, "longest")
			p.Behavior = rates(drawRules(t, longest), drawRules(t, longest))
			p.Behavior.Up.Stabilization = drawWindow(t, 2*time.Minute)
			p.Behavior.Down.Stabilization = drawWindow(t, 5*time.Minute)
		}
		edit()
		var s horizontal.State
		var naive twin
		now, current := noon, rapid.Int32Range(1, 40).Draw(t, "current")
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 100, 1000, 15000, 15000, 15000, 30000, 60000, 400000}).Draw(t,
				"gap")) * time.Millisecond)
			switch rapid.IntRange(0, 19).Draw(t, "incident") {
			case 0:
				edit()
			case 1:
				current = rapid.Int32Range(1, 45).Draw(t, "by hand")
			}
			o := see(current)
			naive.see(now, current)
			naive.metrics = nil
			proposed := int32(0)
			for range p.Metrics {
				m := entry{at: drawSampled(t, now), replicas: rapid.Int32Range(0, 45).Draw(t, "proposed")}
				reading := length(m.replicas)
				if rapid.Bool().Draw(t, "asked for") {
					m.asked = now.Add(-time.Duration(rapid.SampledFrom([]int{0, 1, 14}).Draw(t, "asked ago")) * time.Second)
				}
				reading.At, reading.Asked = m.at, m.asked
				o.Readings, naive.metrics = append(o.Readings, reading), append(naive.metrics, m)
				proposed = max(proposed, m.replicas)
			}
			var d horizontal.Decision
			d, s = horizontal.Decide(now, &p, s, &o)
			desired := p.MaxReplicas
			if current > p.MaxReplicas {
				naive.seed(now, current)
			} else {
				var held int32
				held, desired = naive.decide(now, &p, current, proposed)
				if d.Stabilized.Replicas != held {
					t.Fatalf("at %v: from %d, proposed %d: stabilized at %d, the twin at %d; %+v", now.Sub(noon), current, proposed,
						d.Stabilized.Replicas, held, s)
				}
			}
			if d.Desired != desired {
				t.Fatalf("at %v: from %d, proposed %d: desired %d, the twin %d; %+v", now.Sub(noon), current, proposed, d.Desired,
					desired, s)
			}
			outcome := horizontal.Outcome{At: now}
			if rapid.IntRange(0, 9).Draw(t, "write") == 0 {
				outcome.Error = "conflict"
			} else {
				naive.wrote(now, &p, desired-current)
				current = desired
			}
			s = horizontal.Settle(s, outcome)
		}
	})
}

// slots is upstream's list of recommendations: each decision may overwrite one that is older than every window, the
// last of the list first.
type slots []entry

func (l *slots) stabilize(now time.Time, p *horizontal.Policy, current, proposed int32) int32 {
	lowest, highest, free := proposed, proposed, -1
	for i, r := range *l {
		age := now.Sub(r.at)
		if p.Behavior == nil {
			if age > p.DownscaleStabilization {
				free = i
			} else {
				highest = max(highest, r.replicas)
			}
			continue
		}
		if age < p.Behavior.Up.Stabilization {
			lowest = min(lowest, r.replicas)
		}
		if age < p.Behavior.Down.Stabilization {
			highest = max(highest, r.replicas)
		}
		if age > p.Behavior.Up.Stabilization && age > p.Behavior.Down.Stabilization {
			free = i
		}
	}
	if free < 0 {
		*l = append(*l, entry{})
		free = len(*l) - 1
	}
	(*l)[free] = entry{at: now, replicas: proposed}
	if p.Behavior == nil {
		return highest
	}
	return min(max(current, lowest), highest)
}

// TestAgainstSlots: without window-history the windows equal upstream's list. Dropping recommendations early has no
// effect as long as no window grows.
func TestAgainstSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := policy(1, 40)
		p.Divergences = rapid.SampledFrom([]divergence.Set{divergence.None, divergence.WindowHistory}).Draw(t, "divergences")
		longest := func(now time.Duration) time.Duration {
			if p.Divergences == divergence.None {
				return 5 * time.Minute
			}
			return now
		}
		p.DownscaleStabilization = drawWindow(t, 5*time.Minute)
		if rapid.Bool().Draw(t, "behavior") {
			p.Behavior = rates(unlimited(), unlimited())
			p.Behavior.Up.Stabilization = drawWindow(t, 5*time.Minute)
			p.Behavior.Down.Stabilization = drawWindow(t, 5*time.Minute)
		}
		var s horizontal.State
		current := rapid.Int32Range(1, 40).Draw(t, "current")
		now, upstream := noon, slots{{at: noon, replicas: current}}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.IntRange(0, 9).Draw(t, "edit") == 0 {
				p.DownscaleStabilization = drawWindow(t, longest(p.DownscaleStabilization))
				if p.Behavior != nil {
					p.Behavior.Up.Stabilization = drawWindow(t, longest(p.Behavior.Up.Stabilization))
					p.Behavior.Down.Stabilization = drawWindow(t, longest(p.Behavior.Down.Stabilization))
				}
			}
			proposed := rapid.Int32Range(0, 45).Draw(t, "proposed")
			o := see(current, length(proposed))
			var d horizontal.Decision
			d, s = horizontal.Decide(now, &p, s, &o)
			if want := upstream.stabilize(now, &p, current, proposed); d.Stabilized.Replicas != want {
				t.Fatalf("at %v: from %d, proposed %d: stabilized at %d, upstream at %d; %v", now.Sub(noon), current, proposed,
					d.Stabilized.Replicas, want, upstream)
			}
			current = d.Desired
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 1, 15, 30, 150, 300, 301}).Draw(t, "gap")) * time.Second)
		}
	})
}

// TestLengthenedWindow: two proposals left a window of a minute without a decision in between, and the next decision
// overwrote one of them. The edit brings the other back in upstream's list; with window-history it is dropped.
func TestLengthenedWindow(t *testing.T) {
	for set, want := range map[divergence.Set]int32{divergence.None: 9, divergence.WindowHistory: 3} {
		p := policy(1, 40)
		p.Divergences, p.DownscaleStabilization = set, time.Minute
		var s horizontal.State
		step := func(at time.Duration, current, proposed int32) int32 {
			o, now := see(current, length(proposed)), noon.Add(at)
			var d horizontal.Decision
			d, s = horizontal.Decide(now, &p, s, &o)
			return d.Stabilized.Replicas
		}
		step(0, 9, 9)
		if got := step(2*time.Minute, 9, 3); got != 3 {
			t.Fatalf("%v: stabilized at %d, want 3", set, got)
		}
		p.DownscaleStabilization = 5 * time.Minute
		if got := step(3*time.Minute, 3, 3); got != want {
			t.Errorf("%v: stabilized at %d after the window was lengthened, want %d", set, got, want)
		}
	}
}
