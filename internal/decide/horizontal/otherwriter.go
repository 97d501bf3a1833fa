package horizontal

import "time"

const (
	// heldPeriods is for how many sync periods two overrides keep the next write back to the sync period.
	heldPeriods = 2
	// contestedTime is the time in which the last maxOverrides overrides name the other writer. Tools that set the count
	// back do so every few minutes.
	contestedTime = 30 * time.Minute
	maxOverrides  = 3
)

// Overrides is what is remembered of writes of a replica count, and of other writers' changes of what was written. The
// other writer may set the count back as fast as it is written, so that each write would cause the next: after two such
// overrides, writes come by the sync period.
type Overrides struct {
	// Written is the last count that was written, and IsWritten ends once another writer has set another. WrittenAt is
	// when, and stays.
	Written   int32     `json:"written,omitempty"`
	IsWritten bool      `json:"known,omitempty"`
	WrittenAt time.Time `json:"writtenAt,omitzero"`
	// Noticed are when overrides were, the newest first.
	Noticed [maxOverrides]time.Time `json:"noticed,omitzero"`
}

// Overridden is what a replica count shows of another writer.
type Overridden struct {
	// IsNamed says that another writer has just been noticed, often enough to be named: the shell then reads its name.
	// IsNew says that none was named before.
	IsNamed, IsNew bool
}

// Next returns what a decision on this replica count will find, before it is made.
func (h *Overrides) Next(now time.Time, replicas int32, period time.Duration) Overridden {
	next := *h
	if !next.Observe(now, replicas) || !next.IsContested(now, period) {
		return Overridden{}
	}
	return Overridden{IsNamed: true, IsNew: !h.IsContested(now, period)}
}

// Observe records the target's replica count, and reports whether another writer has set it.
func (h *Overrides) Observe(now time.Time, replicas int32) (isOverride bool) {
	if !h.IsWritten || h.Written == replicas {
		return false
	}
	h.Forget()
	copy(h.Noticed[1:], h.Noticed[:maxOverrides-1])
	h.Noticed[0] = now
	return true
}

// Wrote notes a write of the count, which began then.
func (h *Overrides) Wrote(at time.Time, replicas int32) {
	h.Written, h.IsWritten, h.WrittenAt = replicas, true, at
}

// Forget notes that the count may not be what was written last.
func (h *Overrides) Forget() { h.Written, h.IsWritten = 0, false }

// HeldUntil returns until when the count is not written again; zero if it may be now.
func (h *Overrides) HeldUntil(now time.Time, period time.Duration) time.Time {
	if until := h.WrittenAt.Add(period); h.isFight(now, period) && now.Before(until) {
		return until
	}
	return time.Time{}
}

// isFight reports whether two overrides came a short time ago.
func (h *Overrides) isFight(now time.Time, period time.Duration) bool {
	return !h.Noticed[1].IsZero() && now.Sub(h.Noticed[1]) <= heldPeriods*period
}

// IsContested reports whether another writer sets the count too.
func (h *Overrides) IsContested(now time.Time, period time.Duration) bool {
	first := h.Noticed[maxOverrides-1]
	return h.isFight(now, period) || !first.IsZero() && now.Sub(first) <= contestedTime
}
