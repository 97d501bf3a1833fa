package baseline

// ring has the last minutes of a load.
type ring struct {
	values []float64
	// minutes counts the added minutes.
	minutes int
}

func newRing(minutes int) ring { return ring{values: make([]float64, minutes)} }

func (r *ring) add(load float64) {
	r.values[r.minutes%len(r.values)] = load
	r.minutes++
}

// known is the number of minutes in it.
func (r *ring) known() int { return min(r.minutes, len(r.values)) }

// ago returns the load of an earlier minute; 0 is the one that ended last. It must be in the ring.
func (r *ring) ago(minutes int) float64 { return r.values[(r.minutes-1-minutes)%len(r.values)] }

// last appends the last minutes, oldest first. They must be in the ring.
func (r *ring) last(minutes int, to []float64) []float64 {
	for i := minutes - 1; i >= 0; i-- {
		to = append(to, r.ago(i))
	}
	return to
}
