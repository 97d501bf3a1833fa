// Package trigger determines when an object is decided between its sync periods: what leads to a decision, and after
// which delay. The controller and the simulator both follow it.
package trigger

import "time"

// Kind is why a decision is made now.
type Kind uint8

// The kinds. The zero value is what upstream has.
const (
	// Periodic: a sync period is over, or the object is new or was edited.
	Periodic Kind = iota
	// Samples: there are new samples of its pods.
	Samples
	// Event: pods of the target changed, or another client set its replica count. When a
	// pod ends, the others do not carry its load yet, or their samples do not show it: the
	// load looks too small. So an event alone lowers nothing.
	Event
)

var names = [...]string{"periodic", "samples", "event"}

// String returns the kind as snapshots and logs write it.
func (k Kind) String() string { return names[k] }

// IsBetween reports whether the decision is between two sync periods, when upstream decides nothing.
func (k Kind) IsBetween() bool { return k != Periodic }

// Parse reads what String wrote; nothing is Periodic.
func Parse(text string) (k Kind, known bool) {
	if text == "" {
		return Periodic, true
	}
	for i, name := range names {
		if name == text {
			return Kind(i), true
		}
	}
	return Periodic, false
}

// The delays.
const (
	// SampleDelay is how long the samples of an object's other nodes are waited for after
	// those of the first. What follows takes the rest of 200 ms at most.
	SampleDelay = 150 * time.Millisecond
	// EventDelay gathers changes of pods and replica counts, which seldom come alone.
	EventDelay = 50 * time.Millisecond
	// EventGap is the least time from a decision to one that such a change causes. Samples on which
	// a decision is due within it are decided on together with the change. RequestGap is
	// that from the last request to metrics.k8s.io.
	EventGap   = 200 * time.Millisecond
	RequestGap = time.Second
	// EarlyScrapeGap is the least time from a scrape of a node to an early one.
	EarlyScrapeGap = 200 * time.Millisecond
)

// LoweringPeriod is how often it is decided at most, on new samples alone, whether to lower the count: the default of
// kube-controller-manager's --horizontal-pod-autoscaler-sync-period.
const LoweringPeriod = 15 * time.Second

// AfterEvent returns when an object is decided because of a change that was seen now.
func AfterEvent(now, lastDecision, lastRequest time.Time) time.Time {
	due := now.Add(EventDelay)
	for _, earliest := range [...]time.Time{lastDecision.Add(EventGap), lastRequest.Add(RequestGap)} {
		if earliest.After(due) {
			due = earliest
		}
	}
	return due
}

// AfterAnswer returns when an object is decided because a server has answered or reported by itself that there is work:
// at once, but so long after the last time that a server which does nothing else gets five decisions a second.
func AfterAnswer(now, last time.Time) time.Time {
	if earliest := last.Add(EventGap); earliest.After(now) {
		return earliest
	}
	return now
}

// shortestRound keeps decisions on samples to one a second where nodes are scraped more often.
const shortestRound = time.Second

// RoundOf returns how long a round of scrapes lasts at most where each node is scraped at an interval.
func RoundOf(scrapeInterval time.Duration) time.Duration { return max(shortestRound, scrapeInterval) }

// roundSlack is how much shorter a round is where its first node has new samples a little before it is over: what comes
// every second does not come exactly then.
const roundSlack = 100 * time.Millisecond

// Round is one round of scrapes over the nodes of an object's pods. It begins with new samples of a node
// that already had some in the round before, or when that has lasted for long enough: kubelets have new
// samples of the pods of an object every 10 to 20 s, each at another time. Where samples come several times
// a second, those of a calm object do not begin one before the last is over.
type Round struct {
	began time.Time
	// reported is how many times nodes have had new samples in it.
	reported int
	// decided says that a decision has begun since, and waits that there have been new samples after it.
	decided, waits bool
	// calm is what the last decision has left, and isExceeded that new samples are beyond it.
	calm       Calm
	isExceeded bool
}

// Report records new samples of one of so many nodes, taken at a time, after those before; a round lasts
// as long as given at most. It says when they lead to a decision: once in a round, at once if all nodes
// have reported, otherwise a little after the first. What comes after the decision has another one when
// the round is over.
func (r *Round) Report(at, before time.Time, nodes int, lasts time.Duration) (due time.Time, yes bool) {
	if r.isOver(at, before, lasts) {
		r.begin(at)
	}
	r.reported++
	switch {
	case r.waits:
		return time.Time{}, false
	case r.decided:
		r.waits = true
		return r.following(lasts), true
	case r.reported >= nodes:
		return at, true
	case r.reported == 1:
		return at.Add(SampleDelay), true
	}
	return time.Time{}, false
}

// isOver reports whether new samples are those of another round.
func (r *Round) isOver(at, before time.Time, lasts time.Duration) bool {
	lasted := at.Sub(r.began)
	if r.began.IsZero() || lasted >= lasts {
		return true
	}
	isRepeated := !before.Before(r.began)
	return isRepeated && (!r.calm.Is || r.isExceeded || lasted >= lasts-roundSlack)
}

func (r *Round) begin(at time.Time) {
	*r = Round{began: at, calm: r.calm, isExceeded: r.isExceeded}
}

// Calm notes what a decision has left. Before the first, an object is not calm.
func (r *Round) Calm(c Calm) { r.calm = c }

// Compare records what a pod uses by new samples, before they are reported.
func (r *Round) Compare(u Use) { r.isExceeded = r.isExceeded || r.calm.isExceeded(u) }

// following returns when what waits is decided.
func (r *Round) following(lasts time.Duration) time.Time { return r.began.Add(lasts + SampleDelay) }

// Decided says that a decision begins, for whatever reason. If samples wait for it, or would in a moment
// (EventGap), it is that of the next round.
func (r *Round) Decided(now time.Time, lasts time.Duration) {
	if r.waits && !now.Before(r.following(lasts).Add(-EventGap)) {
		r.begin(now.Add(-SampleDelay))
	}
	r.decided, r.isExceeded = true, false
}
