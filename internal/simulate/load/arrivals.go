package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// kept is how many seconds an answer may reach back.
const kept = 8

// ArrivalsConfig says how a load becomes requests.
type ArrivalsConfig struct {
	Load *Load
	// PerUnit is how many requests per second one unit of the load is.
	PerUnit float64
	// Burstiness is the variance of the requests of a second in parts of their mean.
	Burstiness float64
	// Before is how long the load stays as it begins before it begins.
	Before time.Duration
	Seed   uint64
}

// Arrivals are the requests of a load, drawn anew every second. As a [sim.Shape] they
// are read forward only: not further back than a few seconds before the latest time
// that was asked for.
type Arrivals struct {
	config ArrivalsConfig
	random *rand.Rand
	// total[k%kept] are the requests before second k, for the last few; upTo is the last
	// k that is known.
	total [kept]float64
	upTo  int64
}

// NewArrivals are the requests of a load.
func NewArrivals(c ArrivalsConfig) (*Arrivals, error) {
	if !(c.PerUnit >= 0) || math.IsInf(c.PerUnit, 0) {
		return nil, fmt.Errorf("requests for one unit of the load: %v, want a number of at least 0", c.PerUnit)
	}
	if !(c.Burstiness >= 0) || math.IsInf(c.Burstiness, 0) {
		return nil, fmt.Errorf("burstiness: %v, want a number of at least 0", c.Burstiness)
	}
	return &Arrivals{config: c, random: rand.New(rand.NewPCG(c.Seed, 0x6c6f6164))}, nil
}

// Rate is the mean number of requests per second at a time, without the noise.
func (a *Arrivals) Rate(elapsed time.Duration) float64 {
	return a.config.Load.Rate(max(0, elapsed-a.config.Before)) * a.config.PerUnit
}

// Requests is how many arrived before a time. Within a second they come evenly.
func (a *Arrivals) Requests(elapsed time.Duration) float64 {
	second := int64(elapsed / time.Second)
	for a.upTo <= second {
		a.draw()
	}
	before := a.total[second%kept]
	part := (elapsed - time.Duration(second)*time.Second).Seconds()
	return before + part*(a.total[(second+1)%kept]-before)
}

// draw adds a second.
func (a *Arrivals) draw() {
	from := time.Duration(a.upTo)*time.Second - a.config.Before
	mean := a.config.Load.Mean(max(0, from), max(0, from+time.Second)) * a.config.PerUnit
	requests := mean
	if b := a.config.Burstiness; b > 0 {
		requests = b * poisson(a.random, mean/b)
	}
	a.total[(a.upTo+1)%kept] = a.total[a.upTo%kept] + requests
	a.upTo++
}

// poisson draws a Poisson number. Small means are searched for from 0 up, with one
// random number (Devroye, Non-Uniform Random Variate Generation, X.3.2); large ones
// are near enough to the normal distribution, whose skew of 1/sqrt(mean) is too
// small to change a decision.
func poisson(random *rand.Rand, mean float64) float64 {
	if mean > 100 {
		return max(0, math.Round(mean+math.Sqrt(mean)*random.NormFloat64()))
	}
	u := random.Float64()
	p := math.Exp(-mean)
	n := 0.0
	for u > p && n < 1000 {
		u -= p
		n++
		p *= mean / n
	}
	return n
}
