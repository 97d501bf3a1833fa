package scoreboard

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scoreboard/baseline"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
)

// The names of sides, and those that stand for several forecasts.
const (
	// Upstream is the side that times short of capacity are compared with, Base the one that pod-hours are.
	Upstream = "upstream"
	Base     = "plimsoll"

	AllForecasts = "all"
	NoForecasts  = "none"
)

// side is a controller.
type side struct {
	name string
	of   simulate.Side
	// targetPart is the part of the target that it aims at: less of it is headroom at all times.
	targetPart float64
	// isForecast is true if Plimsoll's own forecast is in use.
	isForecast bool
	// floor is a new minReplicas that moves; nil if the side has none.
	floor func(p *play) func(at time.Duration) int32
}

// own is Plimsoll with its forecast, as --horizontal-pod-autoscaler-forecast=Active has it.
var own = side{name: "forecast", of: simulate.Plimsoll, targetPart: 1, isForecast: true}

// headrooms are the sides whose target is lower at all times.
var headrooms = []side{
	{name: "headroom-10", of: simulate.Plimsoll, targetPart: 0.9},
	{name: "headroom-20", of: simulate.Plimsoll, targetPart: 0.8},
}

// candidates are all sides but the first two.
func candidates() []side {
	all := append([]side{own}, headrooms...)
	for _, kind := range baseline.Kinds() {
		all = append(all, side{name: kind.Name, of: simulate.Plimsoll, targetPart: 1, floor: floorOf(kind)})
	}
	return all
}

// ForecastNames are the names that Config.Forecasts takes.
func ForecastNames() []string {
	var names []string
	for _, s := range candidates() {
		names = append(names, s.name)
	}
	return names
}

// sides returns those to play: upstream, Plimsoll and the configured forecasts.
func (c *Config) sides() ([]side, error) {
	sides := []side{
		{name: Upstream, of: simulate.Upstream, targetPart: 1},
		{name: Base, of: simulate.Plimsoll, targetPart: 1},
	}
	all := candidates()
	switch {
	case len(c.Forecasts) == 0 || slices.Equal(c.Forecasts, []string{NoForecasts}):
		return sides, nil
	case slices.Equal(c.Forecasts, []string{AllForecasts}):
		return append(sides, all...), nil
	}
	for _, name := range c.Forecasts {
		i := slices.IndexFunc(all, func(s side) bool { return s.name == name })
		if i < 0 || slices.ContainsFunc(sides, func(s side) bool { return s.name == name }) {
			return nil, fmt.Errorf("forecast %q: want %s, %s, or each once some of %s",
				name, AllForecasts, NoForecasts, strings.Join(ForecastNames(), ", "))
		}
		sides = append(sides, all[i])
	}
	return sides, nil
}

// floorOf makes a forecast raise minReplicas. At the end of each minute it gets the load's mean. A product would only
// have the pods' usage, which is less while capacity is short: this is in the forecast's favour.
func floorOf(kind baseline.Kind) func(p *play) func(at time.Duration) int32 {
	return func(p *play) func(at time.Duration) int32 {
		forecast, perPod := kind.New(minutesAhead(p.board.ready)), p.scene.PodCapacity*p.scene.Target
		return func(at time.Duration) int32 {
			if at < time.Minute {
				return 0
			}
			return podsFor(forecast.Next(meanOf(p.scene.Load, at) / perPod))
		}
	}
}

// meanOf is the load's mean in the minute that ends.
func meanOf(l *load.Load, end time.Duration) float64 { return l.Mean(end-time.Minute, end) }

// podsFor is the number of pods that serve a load.
func podsFor(load float64) int32 { return int32(min(math.Ceil(load-1e-9), math.MaxInt32)) }

// minutesAhead are the minutes that a forecast is for, the one that begins included: all of which something lies in the
// time to ready and another minute. In the last minute before a jump, it is too late for a pod that takes a minute.
func minutesAhead(ready time.Duration) int { return int((ready+time.Minute)/time.Minute) + 1 }
