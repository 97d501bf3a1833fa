package scrape

// States appends the state of each target of the set to dst, in any order.
func (r *Rounds[T]) States(dst []State[T]) []State[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.plan.targets {
		if !e.isGone {
			dst = append(dst, e.state)
		}
	}
	return dst
}
