package madeup

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

const (
	minutesOfDay = 24 * 60
	// days is the length of each. Changes happen when changeDay begins: there are ten days to learn from, and eleven to
	// learn anew.
	days      = 21
	changeDay = 10
	// peak is about the largest value.
	peak = 100
)

// Length is that of each load.
const Length = days * 24 * time.Hour

// kind is a load by its name; minutes begins one of a seed, which gives each minute's part of the peak, in order.
type kind struct {
	name    string
	minutes func(random *rand.Rand) func(minute int) float64
}

// kinds are in the order of tables.
var kinds = []kind{
	{"random-walk", randomWalk},
	{"noise", noise},
	{"random-bursts", randomBursts},
	{"daily-jump", ofDay(func(_ int, m float64) float64 { return 0.25 + 0.65*within(m, 9*60, 30) })},
	{"hourly-jump", ofDay(func(_ int, m float64) float64 { return 0.15 + 0.7*within(math.Mod(m, 60), 0, 7) })},
	{"level-drop", ofDay(func(day int, m float64) float64 {
		if day >= changeDay {
			return 0.4 * service(m)
		}
		return service(m)
	})},
	{"shift-3h", ofDay(func(day int, m float64) float64 { return service(later(day, m, 3*60)) })},
	{"weekends", ofDay(func(day int, m float64) float64 {
		if day%7 >= 5 {
			return 0.1 + 0.1*hump(m, 15*60, 240)
		}
		return service(m)
	})},
	// The clocks go forward: users who come by the clock come an hour earlier by the sun.
	{"daylight-saving", ofDay(func(day int, m float64) float64 { return service(later(day, m, -60)) })},
}

// Names are those of the loads that differ only in noise, in the order of tables.
func Names() []string { return namesOf(kinds) }

// DrawnNames are those of the loads that differ from seed to seed.
func DrawnNames() []string { return namesOf(drawn) }

func namesOf(kinds []kind) []string {
	names := make([]string, len(kinds))
	for i := range kinds {
		names[i] = kinds[i].name
	}
	return names
}

// Make makes a load; the seed decides all that is random in it.
func Make(name string, seed uint64) (*load.Load, error) {
	all := slices.Concat(kinds, drawn)
	i := slices.IndexFunc(all, func(k kind) bool { return k.name == name })
	if i < 0 {
		return nil, fmt.Errorf("load %q is not made up, known are %s", name, strings.Join(namesOf(all), ", "))
	}
	hash := fnv.New64a()
	hash.Write([]byte(name)) // never fails
	next := all[i].minutes(rand.New(rand.NewPCG(seed, hash.Sum64())))
	points := make([]workloadmodel.Point, days*minutesOfDay)
	largest := 0.0
	for minute := range points {
		value := peak * max(0, next(minute))
		largest = max(largest, value)
		points[minute] = workloadmodel.Point{At: time.Duration(minute) * time.Minute, RequestsPerSecond: value}
	}
	shape, err := workloadmodel.NewSteps(points)
	if err != nil {
		return nil, err
	}
	l := load.FromShape(name, shape)
	l.Length, l.Peak = Length, largest
	return l, nil
}

// randomWalk goes up or down by about 2 % a minute, and turns round at its limits.
func randomWalk(random *rand.Rand) func(int) float64 {
	const least, most = math.Ln10, 0.0
	at := -least / 2
	return func(int) float64 {
		at += 0.02 * random.NormFloat64()
		switch {
		case at > most:
			at = most - (at - most)
		case at < -least:
			at = -least - (at + least)
		}
		return math.Exp(at)
	}
}

// noise is around a constant.
func noise(random *rand.Rand) func(int) float64 {
	return func(int) float64 { return 0.5 * (1 + 0.1*random.NormFloat64()) }
}

// randomBursts are four a day in the mean, at any time, of 5 to 30 minutes.
func randomBursts(random *rand.Rand) func(int) float64 {
	until, height := 0, 0.0
	return func(minute int) float64 {
		if minute >= until && random.Float64() < 4.0/minutesOfDay {
			until, height = minute+5+random.IntN(26), 0.3+0.5*random.Float64()
		}
		value := 0.2
		if minute < until {
			value += height
		}
		return value * jitter(random)
	}
}

// ofDay makes a load from a function of the minute of a day, with small variations.
func ofDay(due func(day int, minute float64) float64) func(random *rand.Rand) func(int) float64 {
	return func(random *rand.Rand) func(int) float64 {
		return func(minute int) float64 {
			return due(minute/minutesOfDay, float64(minute%minutesOfDay)) * jitter(random)
		}
	}
}

// service is a day with two humps, and with jumps at 8:00, 12:30 and 20:00.
func service(minute float64) float64 {
	return 0.12 + 0.25*hump(minute, 11*60, 150) + 0.2*hump(minute, 16*60, 180) +
		0.5*within(minute, 8*60, 20) + 0.3*within(minute, 12*60+30, 15) + 0.6*within(minute, 20*60, 30)
}

// later returns the minute whose load is due at a minute, after a delay of all loads.
func later(day int, minute, by float64) float64 {
	if day < changeDay {
		return minute
	}
	return math.Mod(minute-by+minutesOfDay, minutesOfDay)
}

// within is 1 for a time, else 0.
func within(minute, from, lasts float64) float64 {
	if minute >= from && minute < from+lasts {
		return 1
	}
	return 0
}

// hump is a bell around a minute of the day.
func hump(minute, middle, width float64) float64 {
	x := (minute - middle) / width
	return math.Exp(-x * x)
}

func jitter(random *rand.Rand) float64 { return 1 + 0.03*random.NormFloat64() }
