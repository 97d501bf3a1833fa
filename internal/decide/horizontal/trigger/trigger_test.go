package trigger

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// object has nodes with new samples, and makes each decision when it is due.
type object struct {
	round Round
	lasts time.Duration
	// due is the time of the next decision, undecided the time of the first samples that it will use.
	due, undecided time.Time
	last           map[int]time.Time
	decisions      int
	longestWait    time.Duration
	// oldest are the largest ages of the nodes' newest samples, at each decision.
	oldest []time.Duration
	// calm is the result of each decision.
	calm Calm
}

// report delivers new samples of a node, after the decisions that are due before.
func (o *object) report(now time.Time, node, nodes int) {
	o.decide(now)
	at, yes := o.round.Report(now, o.last[node], nodes, o.lasts)
	o.last[node] = now
	o.undecided = earlier(o.undecided, now)
	if yes {
		o.due = earlier(o.due, at)
	}
	o.decide(now)
}

// decide makes the decision if it is due.
func (o *object) decide(now time.Time) {
	if o.due.IsZero() || o.due.After(now) {
		return
	}
	o.round.Decided(o.due, o.lasts)
	o.round.Calm(o.calm)
	o.longestWait = max(o.longestWait, o.due.Sub(o.undecided))
	var oldest time.Duration
	for _, last := range o.last {
		oldest = max(oldest, o.due.Sub(last))
	}
	o.oldest = append(o.oldest, oldest)
	o.decisions++
	o.due, o.undecided = time.Time{}, time.Time{}
}

// TestRounds: with any order of the nodes' reports, samples wait for at most one round. If no node reports twice within
// a round, each round has one decision.
func TestRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(1, 10).Draw(t, "nodes")
		lasts := RoundOf(time.Duration(rapid.IntRange(100, 3000).Draw(t, "interval")) * time.Millisecond)
		o := object{lasts: lasts, last: map[int]time.Time{}}
		o.calm.Is = rapid.Bool().Draw(t, "calm")
		isEarly := rapid.Bool().Draw(t, "early")
		begin := time.Unix(1000, 0)
		now := begin
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 700).Draw(t, "ms")) * time.Millisecond)
			node := rapid.IntRange(0, nodes-1).Draw(t, "node")
			if before := o.last[node]; isEarly || before.IsZero() || now.Sub(before) >= lasts {
				o.report(now, node, nodes)
			}
		}
		end := now.Add(lasts + SampleDelay)
		o.decide(end)
		if !o.undecided.IsZero() || o.longestWait > lasts+SampleDelay {
			t.Fatalf("samples waited for %v, and %v", o.longestWait, o.undecided)
		}
		if most := 1 + int(end.Sub(begin)/lasts); !isEarly && !o.calm.Is && o.decisions > most {
			t.Fatalf("%d decisions in %v, rounds of %v", o.decisions, end.Sub(begin), lasts)
		}
		if most := 2 + int(end.Sub(begin)/(lasts-roundSlack)); o.calm.Is && o.decisions > most {
			t.Fatalf("%d decisions in %v, rounds of %v", o.decisions, end.Sub(begin), lasts)
		}
	})
}

// TestEachSecond: nodes with new samples every second, at different times, lead to a decision a second.
func TestEachSecond(t *testing.T) {
	for _, nodes := range []int{1, 2, 3, 10} {
		o := object{lasts: RoundOf(time.Second), last: map[int]time.Time{}}
		for second := range 600 {
			for node := range nodes {
				late := time.Duration((second*7+node*13)%20) * time.Millisecond
				o.report(time.Unix(int64(second), 0).Add(time.Second*time.Duration(node)/time.Duration(nodes)+late), node, nodes)
			}
		}
		if o.decisions < 598 || o.decisions > 601 {
			t.Errorf("%d nodes lead to %d decisions in ten minutes", nodes, o.decisions)
		}
	}
}

// TestEachQuarter: nodes with agents have new samples every quarter of a second, at different times and up to 50 ms
// late. They lead to some four decisions a second while a pod exceeds the usage that the last decision permits, and
// otherwise to one. At 99 of 100 decisions no node's samples are older than 400 ms: a period, and the wait for the
// other nodes.
func TestEachQuarter(t *testing.T) {
	const period, latest = 250 * time.Millisecond, 50 * time.Millisecond
	for name, tt := range map[string]struct {
		calm        Calm
		use         Use
		least, most int
	}{
		"calm":               {Calm{Is: true, CPUMilli: 100}, Use{CPUMilli: 100, MemoryMilli: 1e9}, 540, 670},
		"calm whatever":      {Calm{Is: true}, Use{CPUMilli: 1e9}, 540, 670},
		"beyond":             {Calm{Is: true, CPUMilli: 100}, Use{CPUMilli: 101}, 2300, 2600},
		"beyond, of memory":  {Calm{Is: true, MemoryMilli: 100}, Use{MemoryMilli: 101}, 2300, 2600},
		"not calm, as first": {Calm{}, Use{}, 2390, 2600},
	} {
		for _, nodes := range []int{1, 2, 3, 10, 50} {
			random := rand.New(rand.NewPCG(uint64(nodes), 1))
			o := object{lasts: RoundOf(time.Second), last: map[int]time.Time{}, calm: tt.calm}
			phases := make([]time.Duration, nodes)
			for node := range phases {
				phases[node] = time.Duration(random.Int64N(int64(period)))
			}
			var reports []report
			for round := range 4 * 600 {
				for node, phase := range phases {
					at := time.Duration(round)*period + phase + time.Duration(random.Int64N(int64(latest)))
					reports = append(reports, report{time.Unix(1000, 0).Add(at), node})
				}
			}
			slices.SortFunc(reports, func(a, b report) int { return a.at.Compare(b.at) })
			for _, r := range reports {
				o.round.Compare(tt.use)
				o.report(r.at, r.node, nodes)
			}
			if o.decisions < tt.least || o.decisions > tt.most {
				t.Errorf("%s: %d nodes lead to %d decisions in ten minutes", name, nodes, o.decisions)
			}
			slices.Sort(o.oldest[10:])
			if p99 := o.oldest[10:][len(o.oldest[10:])*99/100]; p99 > 400*time.Millisecond {
				t.Errorf("%s, %d nodes: samples are %s old", name, nodes, p99)
			}
		}
	}
}

// report has the samples of one node.
type report struct {
	at   time.Time
	node int
}

// TestRisingAfterADecision: a pod that exceeds the usage that a calm object permits leads to a decision at once.
func TestRisingAfterADecision(t *testing.T) {
	begin := time.Unix(1000, 0)
	at := func(ms int) time.Time { return begin.Add(time.Duration(ms) * time.Millisecond) }
	var r Round
	r.Report(at(0), time.Time{}, 1, time.Second)
	r.Decided(at(0), time.Second)
	r.Calm(Calm{Is: true, MemoryMilli: 1000})
	r.Compare(Use{CPUMilli: 1e6, MemoryMilli: 1000})
	if due, yes := r.Report(at(250), at(0), 1, time.Second); !yes || !due.Equal(at(1150)) {
		t.Errorf("as much as before is decided on after %v", due.Sub(begin))
	}
	r.Compare(Use{MemoryMilli: 1001})
	if due, yes := r.Report(at(500), at(250), 1, time.Second); !yes || !due.Equal(at(500)) {
		t.Errorf("more is decided on after %v", due.Sub(begin))
	}
	r.Decided(at(500), time.Second)
	if due, yes := r.Report(at(750), at(500), 1, time.Second); !yes || !due.Equal(at(1650)) {
		t.Errorf("what follows is decided on after %v", due.Sub(begin))
	}
}

// TestOldSamples: nodes have new samples every 10 to 20 s, as kubelets at their defaults. The first to report must not
// keep the others waiting until it reports again.
func TestOldSamples(t *testing.T) {
	const nodes = 3
	random := rand.New(rand.NewPCG(1, 2))
	o := object{lasts: RoundOf(time.Second), last: map[int]time.Time{}}
	next := [nodes]time.Duration{}
	reports := 0
	for {
		node := 0
		for i := range next {
			if next[i] < next[node] {
				node = i
			}
		}
		if next[node] > 10*time.Minute {
			break
		}
		reports++
		o.report(time.Unix(0, 0).Add(next[node]), node, nodes)
		next[node] += 10*time.Second + time.Duration(random.Int64N(int64(10*time.Second)))
	}
	if o.decisions < reports*8/10 || o.longestWait > time.Second+SampleDelay {
		t.Errorf("%d decisions on %d reports, the longest wait was %v", o.decisions, reports, o.longestWait)
	}
}

// TestEventDecidesNothingForLater: an event's decision within a round does not move the decision that samples wait for,
// unless that is due in a moment: then it replaces it.
func TestEventDecidesNothingForLater(t *testing.T) {
	begin := time.Unix(1000, 0)
	for after, want := range map[time.Duration]time.Duration{
		500 * time.Millisecond: 1500 * time.Millisecond,
		960 * time.Millisecond: 1960 * time.Millisecond,
	} {
		var r Round
		r.Report(begin, time.Time{}, 3, time.Second)
		r.Decided(begin.Add(SampleDelay), time.Second)
		due, yes := r.Report(begin.Add(300*time.Millisecond), time.Time{}, 3, time.Second)
		if !yes || due.Sub(begin) != time.Second+SampleDelay {
			t.Fatalf("due after %v", due.Sub(begin))
		}
		r.Decided(begin.Add(after), time.Second)
		got, yes := r.Report(begin.Add(1350*time.Millisecond), time.Time{}, 3, time.Second)
		if !yes || got.Sub(begin) != want {
			t.Errorf("after an event at %v, the next samples are decided at %v, want %v", after, got.Sub(begin), want)
		}
	}
}

// earlier returns the earlier of two times, ignoring zero.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// TestAfterEvent: one decision serves several changes, and there is a pause between decisions and between requests.
func TestAfterEvent(t *testing.T) {
	now := time.Unix(1000, 0)
	for name, tt := range map[string]struct {
		decided, asked time.Time
		want           time.Duration
	}{
		"nothing before":   {time.Time{}, time.Time{}, EventDelay},
		"just decided":     {now, time.Time{}, EventGap},
		"just requested":   {now, now, RequestGap},
		"requested before": {now.Add(-EventGap), now.Add(-RequestGap), EventDelay},
	} {
		t.Run(name, func(t *testing.T) {
			if got := AfterEvent(now, tt.decided, tt.asked).Sub(now); got != tt.want {
				t.Errorf("after %s, want %s", got, tt.want)
			}
		})
	}
}

// TestKindsAreReadAsTheyAreWritten: a snapshot's trigger is read as it was written.
func TestKindsAreReadAsTheyAreWritten(t *testing.T) {
	for _, kind := range []Kind{Periodic, Samples, Event} {
		if got, known := Parse(kind.String()); got != kind || !known {
			t.Errorf("%s is read as %s, known %v", kind, got, known)
		}
	}
	if _, known := Parse("often"); known {
		t.Error("an unknown kind is read")
	}
}
