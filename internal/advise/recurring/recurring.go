package recurring

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// History is the load of each minute.
type History struct {
	// Start is when the first minute begins.
	Start time.Time
	// Pods is how many pods carry the load at the target of the metric; NaN where that is not known.
	Pods []float64
}

// Config is about the autoscaler and its pods.
type Config struct {
	MinReplicas, MaxReplicas int32
	// StartUp is from asking for a pod until it is ready.
	StartUp time.Duration
	// Utilization is the part of what a pod can serve that it serves at the target: 0.7 if the target is 70 % of what it
	// requests. Pods lack where the load is more than all of the ready pods can serve.
	Utilization float64
	// Location is the time zone of the proposals.
	Location *time.Location
	// Floor is the least replica count that the autoscaler's schedules ask for at a time; nil without schedules.
	Floor func(time.Time) int32
}

// The bounds of what is played back.
const (
	// MaxMinutes is the longest history: thirteen weeks and a day.
	MaxMinutes = 92 * 24 * 60
	// MaxStartUp is the longest start-up time.
	MaxStartUp = time.Hour
	// mostProposals is how many schedules are proposed, and mostTries how many are fitted.
	mostProposals, mostTries = 8, 24
	// maxPods keeps sums finite.
	maxPods = 1e9
)

// Proposal is a schedule.
type Proposal struct {
	// Days are the weekdays on which it starts, at Hour and Minute, and again every so many hours; 0 is once a day.
	Days         Weekdays
	EveryHours   int
	Hour, Minute int
	Duration     time.Duration
	MinReplicas  int32
	// FittedDays and HeldOutDays are how many days it was fitted to, and played back on.
	FittedDays, HeldOutDays int
	// On the held-out days it started Starts times, and helped Helped times.
	Starts, Helped int
	// PerDay is what it did on the held-out days, as a mean of all of them.
	PerDay Gain
}

// Gain is what a schedule does, in pod-minutes.
type Gain struct {
	// Lacking is what lacked without the schedule, Avoided how much of that it avoided.
	Lacking, Avoided float64
	// Added is for how many minutes more pods were asked for: what it costs.
	Added float64
}

func (c *Config) validate(h *History) error {
	var found []error
	check := func(fine bool, format string, args ...any) {
		if !fine {
			found = append(found, fmt.Errorf(format, args...))
		}
	}
	check(len(h.Pods) <= MaxMinutes, "%d minutes of history, want %d at most", len(h.Pods), MaxMinutes)
	check(c.StartUp >= 0 && c.StartUp <= MaxStartUp, "a start-up time of %s, want 0 to %s", c.StartUp, MaxStartUp)
	check(c.Utilization > 0 && c.Utilization <= 1, "a utilization of %v at the target, want above 0 and 1 at most",
		c.Utilization)
	check(c.MinReplicas >= 0 && c.MaxReplicas >= max(1, c.MinReplicas),
		"minReplicas %d and maxReplicas %d exclude each other", c.MinReplicas, c.MaxReplicas)
	check(c.Location != nil, "no time zone")
	for i, pods := range h.Pods {
		if !math.IsNaN(pods) && !(pods >= 0 && pods <= maxPods) {
			return errors.Join(append(found, fmt.Errorf("the load of minute %d is %v pods", i, pods))...)
		}
	}
	return errors.Join(found...)
}

// LeastDays is the shortest history from which anything is proposed: three starts to fit a schedule to, two to check
// it.
const LeastDays = leastFitted + leastHeldOut

// Propose finds schedules, the most helpful first. There are none where no jump recurs.
func Propose(h History, c Config) ([]Proposal, error) {
	if err := c.validate(&h); err != nil {
		return nil, err
	}
	days := calendar(&h, c.Location)
	heldOut := (len(days) + 1) / 3
	if len(days)-heldOut < leastFitted || heldOut < leastHeldOut {
		return nil, nil
	}
	s := search{
		playback: newPlayback(&h, &c), config: &c, start: h.Start,
		fit: days[:len(days)-heldOut], heldOut: days[len(days)-heldOut:], all: days,
		isTried: make([]bool, minutesOfDay),
	}
	var found []Proposal
	for range mostTries {
		candidate, ok := s.best()
		if !ok {
			break
		}
		candidate.skip(s.isTried)
		proposal, helps := s.judge(&candidate)
		if !helps {
			continue
		}
		s.apply(&candidate)
		if found = append(found, proposal); len(found) == mostProposals {
			break
		}
	}
	return found, nil
}
