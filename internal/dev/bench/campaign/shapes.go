package campaign

import (
	"math"
	"time"
)

// Shapes are loads of each second, in pods at the target.

// flat returns a constant load.
func flat(seconds int, load float64) []float64 {
	l := make([]float64, seconds)
	for i := range l {
		l[i] = load
	}
	return l
}

// ramp goes evenly from one load to another.
func ramp(seconds int, from, to float64) []float64 {
	l := make([]float64, seconds)
	for i := range l {
		l[i] = from + (to-from)*float64(i)/float64(seconds)
	}
	return l
}

// join joins loads one after another.
func join(parts ...[]float64) []float64 {
	var l []float64
	for _, p := range parts {
		l = append(l, p...)
	}
	return l
}

const (
	// beforeStep is how long the load is low before a step, and afterStep how long it is low again.
	beforeStep, afterStep = 120, 900
)

// step sets a load that rises at once by a factor, and falls back after some seconds.
func (c *Case) step(base, factor float64, seconds int) {
	c.Load = join(flat(beforeStep, base), flat(seconds, base*factor), flat(afterStep, base))
	if factor > 1 {
		c.StepAt = beforeStep * time.Second
	}
}

// periodic is higher for a part of each period.
func periodic(seconds int, base, factor, period, part float64) []float64 {
	l := flat(seconds, base)
	for i := range l {
		if math.Mod(float64(i), period) < period*part {
			l[i] = base * factor
		}
	}
	return l
}

// sine swings around a load by so much of it.
func sine(seconds int, mean, amplitude, period float64) []float64 {
	l := make([]float64, seconds)
	for i := range l {
		l[i] = mean * (1 + amplitude*math.Sin(2*math.Pi*float64(i)/period))
	}
	return l
}

// noise is around a load, at least so much of which is left. Each second keeps a part of the noise of the one before.
// Its standard deviation is step/sqrt(1-kept²) of the load.
type noise struct{ mean, kept, step, least float64 }

func (n noise) load(r random, seconds int) []float64 {
	l, x := make([]float64, seconds), 0.0
	for i := range l {
		x = n.kept*x + n.step*r.NormFloat64()
		l[i] = max(n.least, n.mean*(1+x))
	}
	return l
}

// anything is shapes of all kinds in a row, at most so high.
func anything(r random, seconds int, most float64) []float64 {
	var l []float64
	now := r.scaled(0.5, most/3)
	for len(l) < seconds {
		lasts := int(r.scaled(15, 400))
		kind := r.IntN(len(pieces) + 1)
		if kind < len(pieces) {
			var piece []float64
			piece, now = pieces[kind](r, lasts, now, most)
			l = append(l, piece...)
		} else {
			l = append(l, flat(lasts, now)...)
		}
		for i := range l {
			l[i] = min(l[i], most)
		}
	}
	return l[:seconds]
}

// pieces are the shapes of anything: each begins at a load, and returns the one at which the next begins.
var pieces = []func(r random, lasts int, now, most float64) (piece []float64, next float64){
	func(r random, lasts int, _, most float64) ([]float64, float64) {
		next := r.scaled(0.5, most)
		return flat(lasts, next), next
	},
	func(r random, lasts int, now, most float64) ([]float64, float64) {
		next := r.scaled(0.5, most)
		return ramp(lasts, now, next), next
	},
	func(r random, lasts int, now, _ float64) ([]float64, float64) {
		period, factor, part := r.of(20, 30, 45, 60, 90), r.between(1.2, 3), r.between(0.2, 0.6)
		return periodic(2*lasts, now, factor, period, part), now
	},
	func(r random, lasts int, now, _ float64) ([]float64, float64) {
		high, factor := int(r.between(5, 60)), r.between(1.5, 6)
		return join(flat(high, now*factor), flat(lasts, now)), now
	},
	func(r random, lasts int, now, _ float64) ([]float64, float64) {
		period, amplitude := r.scaled(60, 600), r.between(0.1, 0.6)
		return sine(2*lasts, now, amplitude, period), now
	},
	func(r random, lasts int, now, _ float64) ([]float64, float64) {
		return noise{now, 0.97, 0.08, 0.05}.load(r, lasts), now
	},
}
