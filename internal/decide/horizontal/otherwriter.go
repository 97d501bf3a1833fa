package horizontal

import "time"

const (
	// heldPeriods is the number of sync periods for which two overrides limit writes to one in a sync period.
	heldPeriods = 2
	// contestedTime is the time within which maxOverrides overrides lead to a report of the other writer. Tools that set
	// the count back do so every few minutes.
	contestedTime = 30 * time.Minute
	maxOverrides  = 3
)

// Overrides records writes of a replica count, and other writers' changes of it. The other writer may set the count
// back after each write, so that each write would cause the next: after two such overrides, the count is written once
// in a sync period.
type Overrides struct {
	// Written is the last written count. IsWritten is set until another writer sets another. WrittenAt is the time of the
	// write.
	Written   int32     `json:"written,omitempty"`
	IsWritten bool      `json:"known,omitempty"`
	WrittenAt time.Time `json:"writtenAt,omitzero"`
	// Noticed has the times of overrides, the newest first.
	Noticed [maxOverrides]time.Time `json:"noticed,omitzero"`
}

// Overridden is the evidence of another writer in a replica count.
type Overridden struct {
	// IsNamed is set if another writer was just detected, often enough to be reported: the shell then reads its name.
	// IsNew is set if none was reported before.
	IsNamed, IsNew bool
}

// Next returns what Observe will find for this replica count, without recording it.
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

// Wrote records a write of the count, which began then.
func (h *Overrides) Wrote(at time.Time, replicas int32) {
	h.Written, h.IsWritten, h.WrittenAt = replicas, true, at
}

// Forget drops the last write: the count may not be the written one.
func (h *Overrides) Forget() { h.Written, h.IsWritten = 0, false }

// HeldUntil returns until when the count is not written again; zero if it may be now.
func (h *Overrides) HeldUntil(now time.Time, period time.Duration) time.Time {
	if until := h.WrittenAt.Add(period); h.isFight(now, period) && now.Before(until) {
		return until
	}
	return time.Time{}
}

// isFight reports whether two overrides were recent.
func (h *Overrides) isFight(now time.Time, period time.Duration) bool {
	return !h.Noticed[1].IsZero() && now.Sub(h.Noticed[1]) <= heldPeriods*period
}

// IsContested reports whether another writer sets the count too.
func (h *Overrides) IsContested(now time.Time, period time.Duration) bool {
	first := h.Noticed[maxOverrides-1]
	return h.isFight(now, period) || !first.IsZero() && now.Sub(first) <= contestedTime
}
