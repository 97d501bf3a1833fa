package loop

import "time"

// floor is a minReplicas that changes with the minutes.
type floor struct {
	// least is the policy's own MinReplicas, next when the floor is asked for next.
	least int32
	next  time.Duration
}

func newFloor(c *Config) floor {
	f := floor{least: c.Policy.MinReplicas, next: never}
	if c.Floor != nil {
		f.next = 0
	}
	return f
}

// moveFloor asks for the floor if a minute begins, and reports whether it rises.
func (p *Plimsoll) moveFloor() bool {
	now := p.World.Now()
	if p.floor.next > now {
		return false
	}
	p.floor.next = now.Truncate(time.Minute) + time.Minute
	before := p.Policy.MinReplicas
	p.Policy.MinReplicas = max(p.floor.least, min(p.Policy.MaxReplicas, p.Floor(now)))
	return p.Policy.MinReplicas > before
}
