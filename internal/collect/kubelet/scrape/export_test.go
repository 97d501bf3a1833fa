package scrape

// States appends the state of each node of the set to dst, in no order.
func (r *Rounds) States(dst []State) []State {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.plan.nodes {
		if !e.isGone {
			dst = append(dst, e.state)
		}
	}
	return dst
}
