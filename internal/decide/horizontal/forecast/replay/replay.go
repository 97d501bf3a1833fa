// Package replay feeds a past load to a forecast, and shows what the forecast would have done on each day. Each
// minute's proposal depends only on the minutes before it.
package replay

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/playback"
)

// Load is a load by the minute.
type Load struct {
	// Start is when the first minute begins.
	Start time.Time
	// Pods is the number of pods that carry the load at the target, NaN if unknown; PerPodMilli is a pod's target at that
	// time, in thousandths of the metric's unit. PerPodMilli may be shorter; missing values are unknown.
	Pods, PerPodMilli []float64
	// Full is the load that a pod can carry, as a multiple of its target; 0 if that is unknown.
	Full float64
}

// Config has the settings that hold for the whole load.
type Config struct {
	Settings                 forecast.Settings
	MinReplicas, MaxReplicas int32
	// StartUp is how long new pods take from their creation until they are ready; 0 if it is not known.
	StartUp time.Duration
	// Tolerance is the metrics' tolerance, as a part of the target.
	Tolerance float64
}

// Day is the effect that the forecast would have had on a day, in mode Active.
type Day struct {
	// Date is when the day begins, in UTC.
	Date time.Time
	// KnownMinutes counts the minutes with a known load. The other fields are about these.
	KnownMinutes int
	// Lacking counts the pod-minutes in which pods were lacking with the metrics alone, Avoided how many of these the
	// forecast avoids, Wasted those that it adds without need, and Paid all without it.
	Lacking, Avoided, Wasted, Paid float64
	// RaisedMinutes counts the minutes in which it asks for more than the load needs at the time, and MostReplicas is the
	// largest count that it asks for.
	RaisedMinutes int
	MostReplicas  int32
	// Reason is the forecast's at the end of the day.
	Reason forecast.Reason
}

// Result is the result of a replay.
type Result struct {
	Days []Day
	// State is the learnt state, and Last the forecast at the end.
	State *forecast.State
	Last  forecast.Result
}

// Play plays a load.
func Play(load *Load, c *Config) Result {
	r := Result{State: forecast.New()}
	var days Days
	for i := range load.Pods {
		at := load.Start.Add(time.Duration(i) * time.Minute)
		in := c.input(load, i)
		// Two observations make a whole minute: each holds since the one before.
		in.Now = at.Add(forecast.Lag)
		r.Last = r.State.Observe(&c.Settings, in)
		in.Now = in.Now.Add(time.Minute / 2)
		r.Last = r.State.Observe(&c.Settings, in)
		days.Add(&c.Settings, in, &r.Last)
	}
	r.Days = days.All
	return r
}

// Needed returns the length of a load that a forecast must observe before it proposes anything.
func Needed() time.Duration {
	nothing := Load{Start: time.Unix(0, 0), Pods: make([]float64, 3)}
	return Play(&nothing, &Config{Settings: forecast.Settings{Mode: forecast.Active}, MaxReplicas: 1}).Last.Needed
}

func (c *Config) input(load *Load, i int) *forecast.Input {
	pods := load.Pods[i]
	in := &forecast.Input{
		Load:        forecast.Load{Pods: pods, Full: load.Full, IsKnown: pods >= 0 && pods <= math.MaxInt32},
		MinReplicas: c.MinReplicas, MaxReplicas: c.MaxReplicas, StartUp: c.StartUp, Tolerance: c.Tolerance,
	}
	if i < len(load.PerPodMilli) && load.PerPodMilli[i] > 0 {
		in.Load.PerPodMilli = load.PerPodMilli[i]
	}
	return in
}

// Days counts the effects of a forecast by day.
type Days struct {
	All    []Day
	played playback.State
}

// Add counts a minute: its observation, and the forecast from it on. Minutes must be added in order, each once.
func (d *Days) Add(settings *forecast.Settings, in *forecast.Input, r *forecast.Result) {
	day := d.day(in.Now)
	day.Reason = r.Reason
	if !in.Load.IsKnown {
		return
	}
	d.played.SetFloor(0, r.Replicas)
	m := forecast.Minute(settings, in)
	m.Load = in.Load.Pods
	counted := d.played.Play(&m)
	day.Add(&counted[0], &counted[1])
	if day.MostReplicas = max(day.MostReplicas, r.Replicas); float64(r.Replicas) > math.Ceil(m.Load) {
		day.RaisedMinutes++
	}
}

func (d *Days) day(at time.Time) *Day {
	date := at.UTC().Truncate(24 * time.Hour)
	if n := len(d.All); n == 0 || !d.All[n-1].Date.Equal(date) {
		d.All = append(d.All, Day{Date: date})
	}
	return &d.All[len(d.All)-1]
}

// Add counts a minute, without the forecast and with it.
func (d *Day) Add(without, with *playback.Tally) {
	avoided, wasted := with.Against(without)
	d.KnownMinutes++
	d.Lacking += without.Lacking
	d.Avoided += avoided
	d.Wasted += wasted
	d.Paid += without.Paid
}
