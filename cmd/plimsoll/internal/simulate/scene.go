package simulate

import (
	"fmt"
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
)

func (f *simulateFlags) scene(c *compared) (*simulate.Scene, error) {
	l, err := f.whole()
	if err != nil {
		return nil, err
	}
	if !(f.speedUp > 0 && f.speedUp <= 1e6) {
		return nil, cmderror.Usagef("--speed-up: %v, want more than 0", f.speedUp)
	}
	w, err := f.pod(c.unmodified, c.objects)
	if err != nil {
		return nil, err
	}
	part, date, err := f.begin(l)
	if err != nil {
		return nil, cmderror.Usagef("--start: %w", err)
	}
	s, err := f.fit(part.SpedUp(f.speedUp), w, c.unmodified)
	if err != nil {
		return nil, err
	}
	if !date.IsZero() {
		s.Start = date
	}
	if f.burstiness != 1 {
		s.Burstiness = f.burstiness
	}
	s.Seed, s.Replicas, s.Slow, s.CoreHourPrice = f.seed, f.replicas, f.slow, f.price
	s.Timing = f.timing
	if f.nodes > 0 {
		s.Supply.Nodes, s.Supply.CPUMilli, s.Supply.Delay = f.nodes, float64(f.nodeCPU), f.nodeDelay
	}
	return s, nil
}

// whole is the load from its beginning to its end.
func (f *simulateFlags) whole() (*load.Load, error) {
	switch {
	case f.recorded != nil:
		return f.recorded.Load, nil
	case f.load == "":
		return nil, cmderror.Usagef("--load: name a trace or a shape such as step:10@0s,100@10m")
	}
	l, err := load.Parse(f.load)
	if err != nil {
		return nil, cmderror.Usagef("--load: %w", err)
	}
	return l, nil
}

// begin is the part of the load that begins where --start says. A shape has no clock: there a date is when
// the whole of it begins.
func (f *simulateFlags) begin(l *load.Load) (part *load.Load, date time.Time, err error) {
	if f.start == "" {
		return l, time.Time{}, nil
	}
	if offset, err := time.ParseDuration(f.start); err == nil {
		part, err = l.From(offset)
		return part, time.Time{}, err
	}
	if date, err = time.Parse(time.RFC3339, f.start); err != nil {
		return nil, date, fmt.Errorf("%q, want a date as 2026-11-23T08:00:00Z, or a time after the beginning as 8h", f.start)
	}
	if l.Start.IsZero() {
		return l, date, nil
	}
	part, err = l.FromTime(date)
	return part, time.Time{}, err
}

// fit is a scene of what is played of the load.
func (f *simulateFlags) fit(
	l *load.Load, w simulate.Workload, unmodified observehorizontal.Autoscaler,
) (*simulate.Scene, error) {
	s, err := simulate.NewScene(l, w, unmodified)
	if err != nil {
		return nil, err
	}
	s.Rollouts, s.Outages, s.ClockOffsets = f.rollouts, f.outages, f.clockOffsets
	if f.lasts != 0 {
		s.For = f.lasts
	}
	known, err := f.known(&w)
	if err != nil {
		return nil, err
	}
	if err := s.Assume(unmodified, known); err != nil {
		return nil, err
	}
	if f.isPodMadeUp {
		s.Assumed += fmt.Sprintf("; without --workload a pod requests %.0fm of CPU", s.Workload.CPURequestMilli)
	}
	return s, nil
}

// known returns the capacity of a pod, from flags and the record.
func (f *simulateFlags) known(w *simulate.Workload) (simulate.Known, error) {
	known := simulate.Known{IsInPods: f.recorded != nil}
	switch {
	case f.podCapacity != 0 && f.perRequest != 0:
		return known, cmderror.Usagef("--cpu-per-request and --pod-capacity say the same: leave out one")
	case f.podCapacity < 0 || math.IsNaN(f.podCapacity) || math.IsInf(f.podCapacity, 0):
		return known, cmderror.Usagef("--pod-capacity: %v, want requests per second, more than 0", f.podCapacity)
	case f.podCapacity != 0:
		known.PerSecond, known.From = f.podCapacity, "--pod-capacity"
	case f.perRequest != 0:
		known.PerSecond, known.From = w.CPURequestMilli/float64(f.perRequest), "--cpu-per-request"
	}
	return known, nil
}
