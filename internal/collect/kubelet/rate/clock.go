package rate

import "time"

// Exchange is a request to a node and when it was answered.
type Exchange struct {
	// Sent and Received are when the request was sent and its answer began to arrive, by the clock of this machine.
	Sent, Received time.Time
	// Date is when the answer was written, by the node's clock, cut to whole seconds (RFC 9110, section 6.6.1); zero if
	// that is not known.
	Date time.Time
}

const (
	// dateStep is what a Date does not tell.
	dateStep = time.Second
	// drift is of how many seconds two clocks may move apart by one. A clock that is set moves by more, so that what was
	// known of it cannot be any more, and is forgotten.
	drift = 1000
	// farthest is how far ahead or behind a clock may be: beyond it, an answer says nothing.
	farthest = 100 * 365 * 24 * time.Hour
)

// clock is what is known of how far a node's clock is ahead of this machine's: from least to most. Each answer narrows
// that, as all were written between their request and their arrival (Cristian, Probabilistic clock synchronization,
// 1989).
type clock struct {
	least, most time.Duration
	compared    time.Time
}

func (c *clock) compare(e *Exchange) {
	if e.Date.IsZero() || e.Received.Before(e.Sent) {
		return
	}
	// Without Round, the differences would be those of the monotonic clock where both have it.
	least, most := e.Date.Sub(e.Received.Round(0)), e.Date.Add(dateStep).Sub(e.Sent.Round(0))
	if least < -farthest || most > farthest {
		return
	}
	apart := max(0, e.Received.Sub(c.compared)) / drift
	narrowed := clock{max(least, c.least-apart), min(most, c.most+apart), e.Received}
	if c.compared.IsZero() || narrowed.least > narrowed.most {
		narrowed.least, narrowed.most = least, most
	}
	*c = narrowed
}

// ahead is 0 where the clocks may agree.
func (c *clock) ahead() time.Duration {
	if c.least <= 0 && c.most >= 0 {
		return 0
	}
	return c.least + (c.most-c.least)/2
}
