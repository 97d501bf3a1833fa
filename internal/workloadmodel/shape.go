package workloadmodel

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"
)

// A Shape is a load over time, as two pure functions of the time since it began. (The idea is vegeta's pacer: a load
// is defined by its integral, so that the number of requests in an interval is exact, however it is cut up.)
type Shape interface {
	// Rate returns the load in requests per second at the time elapsed.
	Rate(elapsed time.Duration) float64
	// Requests returns the integral of Rate from 0 to elapsed; it never decreases.
	Requests(elapsed time.Duration) float64
}

// Constant is the same load at all times, in requests per second.
type Constant float64

// Rate returns the load.
func (c Constant) Rate(time.Duration) float64 { return float64(c) }

// Requests returns rate * t.
func (c Constant) Requests(elapsed time.Duration) float64 { return float64(c) * elapsed.Seconds() }

// Point is one sample of a load: its rate at a time since the beginning.
type Point struct {
	At                time.Duration
	RequestsPerSecond float64
}

// Steps holds each point's rate until the next point, and the last one for ever. Before the first point it is 0.
type Steps struct{ series }

// NewSteps returns a piecewise constant load. The points must be in order of time.
func NewSteps(points []Point) (Steps, error) {
	s, err := newSeries(points, func(a, _ Point) float64 { return a.RequestsPerSecond })
	return Steps{s}, err
}

// Rate returns that of the last point at or before elapsed.
func (s Steps) Rate(elapsed time.Duration) float64 {
	i := s.before(elapsed)
	if i < 0 {
		return 0
	}
	return s.points[i].RequestsPerSecond
}

// Requests returns the sum of the whole pieces before elapsed and the part of the present one.
func (s Steps) Requests(elapsed time.Duration) float64 {
	i := s.before(elapsed)
	if i < 0 {
		return 0
	}
	return s.requests[i] + s.points[i].RequestsPerSecond*(elapsed-s.points[i].At).Seconds()
}

// Trace goes in straight lines from point to point. Before the first point it has the first rate, after the last the
// last one. A ramp is a trace of two points.
type Trace struct{ series }

// NewTrace returns a piecewise linear load. The points must be in order of time.
func NewTrace(points []Point) (Trace, error) {
	s, err := newSeries(points, func(a, b Point) float64 { return (a.RequestsPerSecond + b.RequestsPerSecond) / 2 })
	return Trace{s}, err
}

// Rate interpolates between the two points around elapsed.
func (t Trace) Rate(elapsed time.Duration) float64 {
	i := t.before(elapsed)
	if i < 0 {
		return t.points[0].RequestsPerSecond
	}
	if i == len(t.points)-1 {
		return t.points[i].RequestsPerSecond
	}
	a, b := t.points[i], t.points[i+1]
	part := (elapsed - a.At).Seconds() / (b.At - a.At).Seconds()
	return a.RequestsPerSecond + part*(b.RequestsPerSecond-a.RequestsPerSecond)
}

// Requests returns the area under the lines: whole trapezoids, and the part of the present one.
func (t Trace) Requests(elapsed time.Duration) float64 {
	first := t.points[0]
	lead := first.RequestsPerSecond * min(elapsed, first.At).Seconds()
	i := t.before(elapsed)
	if i < 0 {
		return lead
	}
	a := t.points[i]
	mean := (a.RequestsPerSecond + t.Rate(elapsed)) / 2
	return lead + t.requests[i] + mean*(elapsed-a.At).Seconds()
}

// series is the common part of Steps and Trace: points in order, with the requests before each.
type series struct {
	points   []Point
	requests []float64 // requests[i]: from points[0].At to points[i].At
}

// newSeries checks the points and sums them up; mean gives the mean rate between two neighbours.
func newSeries(points []Point, mean func(a, b Point) float64) (series, error) {
	if len(points) == 0 {
		return series{}, errors.New("a load needs at least one point")
	}
	s := series{points: slices.Clone(points), requests: make([]float64, len(points))}
	for i, p := range points {
		if !isAmount(p.RequestsPerSecond) || p.At < 0 {
			return series{}, fmt.Errorf("point %d: %v requests/s at %v: both must be finite and at least 0",
				i, p.RequestsPerSecond, p.At)
		}
		if i == 0 {
			continue
		}
		if p.At <= points[i-1].At {
			return series{}, fmt.Errorf("point %d: %v is not after %v", i, p.At, points[i-1].At)
		}
		s.requests[i] = s.requests[i-1] + mean(points[i-1], p)*(p.At-points[i-1].At).Seconds()
	}
	return s, nil
}

// before returns the index of the last point at or before elapsed, below 0 if there is none.
func (s series) before(elapsed time.Duration) int {
	return sort.Search(len(s.points), func(i int) bool { return s.points[i].At > elapsed }) - 1
}

// Sine swings around a mean, beginning at the mean and rising.
type Sine struct {
	mean, amplitude float64
	period          time.Duration
}

// NewSine returns a wave; its amplitude may not be larger than its mean, because no load is negative.
func NewSine(mean, amplitude float64, period time.Duration) (Sine, error) {
	if !isAmount(mean) || !isAmount(amplitude) || amplitude > mean || period <= 0 {
		return Sine{},
			fmt.Errorf("sine of mean %v, amplitude %v, period %v: want 0 <= amplitude <= mean and a period above 0",
				mean, amplitude, period)
	}
	return Sine{mean: mean, amplitude: amplitude, period: period}, nil
}

// Rate returns M + A*sin(2*pi*t/P).
func (s Sine) Rate(elapsed time.Duration) float64 {
	return s.mean + s.amplitude*math.Sin(s.phase(elapsed))
}

// Requests returns M*t + A*P/(2*pi) * (1 - cos(2*pi*t/P)).
func (s Sine) Requests(elapsed time.Duration) float64 {
	wave := s.amplitude * s.period.Seconds() / (2 * math.Pi) * (1 - math.Cos(s.phase(elapsed)))
	return s.mean*elapsed.Seconds() + wave
}

func (s Sine) phase(elapsed time.Duration) float64 {
	return 2 * math.Pi * elapsed.Seconds() / s.period.Seconds()
}
