package history

import "time"

// Count is the replica count of a target and its last change, by any writer.
type Count struct {
	// Replicas is the count after the last decision; meaningless unless IsKnown.
	Replicas int32 `json:"replicas,omitempty"`
	IsKnown  bool  `json:"known,omitempty"`
	// ChangedAt is when the count changed, and EffectiveAt when the pods followed; zero if unknown.
	ChangedAt   time.Time `json:"changedAt,omitzero"`
	EffectiveAt time.Time `json:"effectiveAt,omitzero"`
	// IsLowered is set if the count fell, and IsAwaited while more pods than the count were last observed.
	IsLowered bool `json:"lowered,omitempty"`
	IsAwaited bool `json:"awaited,omitempty"`
	// IsForeign is set if another writer changed it.
	IsForeign bool `json:"foreign,omitempty"`
}

// Observe records the count and how many pods there are. A count that differs from the last one is another writer's
// change.
func (c *Count) Observe(now time.Time, replicas, pods int32) {
	if c.IsKnown && replicas != c.Replicas {
		c.Change(now, replicas)
		c.IsForeign = true
	}
	c.Replicas, c.IsKnown = replicas, true
	if c.IsAwaited = c.IsAwaited && pods > replicas; c.IsAwaited {
		c.EffectiveAt = now
	}
}

// Change records that the count was set. A lower one takes effect when the excess pods are being deleted; a higher one
// takes effect at once: the use of the earlier pods is the whole load until others are ready.
func (c *Count) Change(now time.Time, replicas int32) {
	isLowered := replicas < c.Replicas
	*c = Count{
		Replicas: replicas, IsKnown: true, ChangedAt: now, EffectiveAt: now, IsLowered: isLowered, IsAwaited: isLowered,
	}
}

// RaisedAt returns when the count was last raised; zero if it was lowered since then, or that is not known.
func (c *Count) RaisedAt() time.Time {
	if c.IsLowered {
		return time.Time{}
	}
	return c.ChangedAt
}
