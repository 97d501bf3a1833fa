package baseline

// ring has the last minutes of a load.
type ring struct {
	values []float64
	// minutes are how many have been added.
	minutes int
}

func newRing(minutes int) ring { return ring{values: make([]float64, minutes)} }

func (r *ring) add(load float64) {
	r.values[r.minutes%len(r.values)] = load
	r.minutes++
}

// known is how many minutes it has.
func (r *ring) known() int { return min(r.minutes, len(r.values)) }

// ago is the load of an earlier minute; 0 is the one that ended last. It must be known.
func (r *ring) ago(minutes int) float64 { return r.values[(r.minutes-1-minutes)%len(r.values)] }

// last appends the last minutes, oldest first. They must be known.
func (r *ring) last(minutes int, to []float64) []float64 {
	for i := minutes - 1; i >= 0; i-- {
		to = append(to, r.ago(i))
	}
	return to
}
