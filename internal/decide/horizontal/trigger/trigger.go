// Package trigger determines when an object is decided between its sync periods: which events trigger a decision, and
// after which delay. The controller and the simulator both use it.
package trigger

import "time"

// Kind is the cause of a decision.
type Kind uint8

// The kinds. The zero value is upstream's only one.
const (
	// Periodic: a sync period is over, or the object is new or was edited.
	Periodic Kind = iota
	// Samples: there are new samples of its pods.
	Samples
	// Event: pods of the target changed, or another client set its replica count. When a pod ends, the others do not carry
	// its load yet, or their samples do not show it: the load appears too small. So a decision on an event lowers nothing.
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
	// SampleDelay is the time after the samples of an object's first node for which a decision waits for those of the
	// others. The decision takes the rest of 200 ms at most.
	SampleDelay = 150 * time.Millisecond
	// EventDelay collects changes of pods and replica counts, which often come together.
	EventDelay = 50 * time.Millisecond
	// EventGap is the shortest time from a decision to one that such a change triggers. A decision on samples that is due
	// within it is merged with that on the change. RequestGap is the shortest time from the last request to
	// metrics.k8s.io.
	EventGap   = 200 * time.Millisecond
	RequestGap = time.Second
	// EarlyScrapeGap is the shortest time from a scrape of a node to an early one.
	EarlyScrapeGap = 200 * time.Millisecond
)

// LoweringPeriod is the shortest time between two decisions on samples alone that may lower the count: the default of
// kube-controller-manager's --horizontal-pod-autoscaler-sync-period.
const LoweringPeriod = 15 * time.Second

// AfterEvent returns when a change that was observed now triggers a decision.
func AfterEvent(now, lastDecision, lastRequest time.Time) time.Time {
	due := now.Add(EventDelay)
	for _, earliest := range [...]time.Time{lastDecision.Add(EventGap), lastRequest.Add(RequestGap)} {
		if earliest.After(due) {
			due = earliest
		}
	}
	return due
}

// AfterAnswer returns when a response or an unrequested report of a server triggers a decision: at once, but with a gap
// after the last one, so that a server causes at most five decisions a second.
func AfterAnswer(now, last time.Time) time.Time {
	if earliest := last.Add(EventGap); earliest.After(now) {
		return earliest
	}
	return now
}

// shortestRound limits decisions on samples to one a second if nodes are scraped more often.
const shortestRound = time.Second

// RoundOf returns the longest duration of a round of scrapes with this interval.
func RoundOf(scrapeInterval time.Duration) time.Duration { return max(shortestRound, scrapeInterval) }

// roundSlack is the time by which a round may be shorter if its first node has new samples slightly early: samples
// every second do not come exactly then.
const roundSlack = 100 * time.Millisecond

// Round is one round of scrapes over the nodes of an object's pods. It begins with new samples of a node that already
// had some in the last round, or when that has lasted long enough: kubelets have new samples of an object's pods every
// 10 to 20 s, each at another time. With several samples a second, those within the limits of Calm do not begin a round
// before the last has ended.
type Round struct {
	began time.Time
	// reported is the number of times nodes have had new samples in it.
	reported int
	// decided is set once a decision has begun since, and waits once there have been new samples after it.
	decided, waits bool
	// calm is that of the last decision, and isExceeded is set if new samples exceed it.
	calm       Calm
	isExceeded bool
}

// Report records new samples of one of nodes nodes, taken at a time; before is the time of the node's last ones, and
// lasts the longest duration of a round. It returns when they trigger a decision: once in a round, at once if all nodes
// have reported, otherwise a little after the first. Samples after the decision trigger another one at the end of the
// round.
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

// isOver reports whether new samples belong to another round.
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

// Calm sets the limits after a decision. Before the first one, every sample exceeds them.
func (r *Round) Calm(c Calm) { r.calm = c }

// Compare compares the use of a pod in new samples with the limits, before they are reported.
func (r *Round) Compare(u Use) { r.isExceeded = r.isExceeded || r.calm.isExceeded(u) }

// following returns when samples that wait trigger a decision.
func (r *Round) following(lasts time.Duration) time.Time { return r.began.Add(lasts + SampleDelay) }

// Decided records that a decision begins, for whatever cause. If samples wait for one, or would in a moment (EventGap),
// it is that of the next round.
func (r *Round) Decided(now time.Time, lasts time.Duration) {
	if r.waits && !now.Before(r.following(lasts).Add(-EventGap)) {
		r.begin(now.Add(-SampleDelay))
	}
	r.decided, r.isExceeded = true, false
}
