package madeup

import (
	"math"
	"math/rand/v2"
)

// drawn are kinds of loads in which the seed decides more than the noise: when jumps come, how high and how long they
// are, and the day of a change. So a forecast can be judged by loads on which it was not tuned.
var drawn = []kind{
	{"drawn-daily", drawnDaily},
	{"drawn-weekdays", drawnWeekdays},
	{"drawn-hourly", everyHours(1)},
	{"drawn-two-hourly", everyHours(2)},
	{"drawn-batch", drawnBatch},
	{"drawn-stops", drawnStops},
	{"drawn-moves", drawnMoves},
	{"drawn-level", drawnLevel},
	{"drawn-now-and-then", drawnNowAndThen},
	{"drawn-ramps", drawnRamps},
	{"drawn-smooth", drawnSmooth},
	{"drawn-nothing", drawnNothing},
}

// pulse is a jump at a minute of the day.
type pulse struct{ at, lasts, height float64 }

// pulses draws jumps of a day, some minutes apart from each other.
func pulses(random *rand.Rand, n int) []pulse {
	all := make([]pulse, n)
	for i := range all {
		all[i] = pulse{
			at:    math.Floor((float64(i) + 0.8*random.Float64()) * minutesOfDay / float64(n)),
			lasts: 4 + math.Floor(40*random.Float64()*random.Float64()), height: 0.25 + 0.5*random.Float64(),
		}
	}
	return all
}

// due is the sum of the jumps in a minute, all of them later by this many minutes.
func due(all []pulse, minute, later float64) (sum float64) {
	for i := range all {
		sum = max(sum, all[i].height*within(minute, all[i].at+later, all[i].lasts))
	}
	return sum
}

// diurnal draws the wave of a day below the jumps.
func diurnal(random *rand.Rand) func(minute float64) float64 {
	base, height := 0.08+0.15*random.Float64(), 0.05+0.25*random.Float64()
	middle, width := minutesOfDay*(0.4+0.3*random.Float64()), 150+250*random.Float64()
	return func(minute float64) float64 { return base + height*hump(minute, middle, width) }
}

// daily draws a load from what is due on a day. Noise, days that are higher or lower than others and up to four bursts
// a day at any time disturb it. Begin is called as each day begins.
func daily(
	random *rand.Rand, begin func(day int), due func(day int, minute float64) float64,
) func(minute int) float64 {
	noise, vary := 0.01+0.05*random.Float64(), 0.2*random.Float64()
	often := 4 * random.Float64() * random.Float64() / minutesOfDay
	today, burst, left := 1.0, 0.0, 0
	return func(minute int) float64 {
		day := minute / minutesOfDay
		if minute%minutesOfDay == 0 {
			begin(day)
			today = 1 + vary*(2*random.Float64()-1)
		}
		if left--; random.Float64() < often {
			burst, left = 0.1+0.4*random.Float64(), 2+random.IntN(20)
		}
		value := today * due(day, float64(minute%minutesOfDay))
		if left > 0 {
			value += burst
		}
		return value * (1 + noise*random.NormFloat64())
	}
}

func always(int) {}

// drawnDaily jumps one to four times a day, up to three minutes early or late.
func drawnDaily(random *rand.Rand) func(int) float64 {
	wave, jumps := diurnal(random), pulses(random, 1+random.IntN(4))
	jitter, later := random.IntN(4), 0.0
	return daily(random, func(int) { later = float64(random.IntN(2*jitter+1) - jitter) },
		func(_ int, m float64) float64 { return wave(m) + due(jumps, m, later) })
}

// drawnWeekdays jumps on working days; at the weekend there is less of all else too.
func drawnWeekdays(random *rand.Rand) func(int) float64 {
	wave, jumps, first, rest := diurnal(random), pulses(random, 1+random.IntN(3)), random.IntN(7), 0.3+0.6*random.Float64()
	return daily(random, always, func(day int, m float64) float64 {
		if (day+first)%7 >= 5 {
			return rest * wave(m)
		}
		return wave(m) + due(jumps, m, 0)
	})
}

// everyHours jumps at the same minute every few hours, for some loads only between two hours of the day.
func everyHours(hours float64) func(random *rand.Rand) func(int) float64 {
	return func(random *rand.Rand) func(int) float64 {
		wave, at, lasts := diurnal(random), float64(random.IntN(60)), float64(1+random.IntN(8))
		height, first, last := 0.3+0.4*random.Float64(), 0.0, float64(minutesOfDay)
		if random.IntN(2) == 0 {
			first, last = 60*float64(5+random.IntN(5)), 60*float64(17+random.IntN(6))
		}
		return daily(random, always, func(_ int, m float64) float64 {
			if m < first || m >= last {
				return wave(m)
			}
			return wave(m) + height*within(math.Mod(m+60*hours-at, 60*hours), 0, lasts)
		})
	}
}

// drawnBatch runs jobs at the full hour, each on two to twelve hours of the day.
func drawnBatch(random *rand.Rand) func(int) float64 {
	wave := diurnal(random)
	var jobs []pulse
	for _, hour := range random.Perm(24)[:2+random.IntN(11)] {
		jobs = append(jobs, pulse{
			at: float64(60 * hour), lasts: float64(3 + random.IntN(12)), height: 0.2 + 0.5*random.Float64(),
		})
	}
	return daily(random, always, func(_ int, m float64) float64 { return wave(m) + due(jobs, m, 0) })
}

// changes draws the day from which on something is different.
func changes(random *rand.Rand) int { return 7 + random.IntN(6) }

// drawnStops jumps until some day.
func drawnStops(random *rand.Rand) func(int) float64 {
	wave, jumps, last := diurnal(random), pulses(random, 1+random.IntN(3)), changes(random)
	return daily(random, always, func(day int, m float64) float64 {
		if day >= last {
			return wave(m)
		}
		return wave(m) + due(jumps, m, 0)
	})
}

// drawnMoves jumps 20 minutes to three hours later from some day on.
func drawnMoves(random *rand.Rand) func(int) float64 {
	wave, jumps, last := diurnal(random), pulses(random, 1+random.IntN(3)), changes(random)
	by := float64(20 + random.IntN(160))
	return daily(random, always, func(day int, m float64) float64 {
		if day >= last {
			return wave(m) + due(jumps, m, by)
		}
		return wave(m) + due(jumps, m, 0)
	})
}

// drawnLevel is 0.4 to 2 times as much from some day on.
func drawnLevel(random *rand.Rand) func(int) float64 {
	wave, jumps, last := diurnal(random), pulses(random, 1+random.IntN(3)), changes(random)
	before := 1.0
	after := 0.4 + 1.6*random.Float64()
	if after > 1 {
		before, after = 1/after, 1
	}
	return daily(random, always, func(day int, m float64) float64 {
		if day >= last {
			return after * (wave(m) + due(jumps, m, 0))
		}
		return before * (wave(m) + due(jumps, m, 0))
	})
}

// drawnNowAndThen has each jump on some of the days only.
func drawnNowAndThen(random *rand.Rand) func(int) float64 {
	wave, jumps, chance := diurnal(random), pulses(random, 1+random.IntN(3)), 0.2+0.6*random.Float64()
	var today []pulse
	return daily(random, func(int) {
		today = today[:0]
		for i := range jumps {
			if random.Float64() < chance {
				today = append(today, jumps[i])
			}
		}
	}, func(_ int, m float64) float64 { return wave(m) + due(today, m, 0) })
}

// drawnRamps rise within two to fifteen minutes, up to five minutes early or late, and fall slowly.
func drawnRamps(random *rand.Rand) func(int) float64 {
	wave, jumps, later := diurnal(random), pulses(random, 1+random.IntN(3)), 0.0
	rise, fall := float64(2+random.IntN(14)), float64(10+random.IntN(60))
	return daily(random, func(int) { later = float64(random.IntN(11) - 5) }, func(_ int, m float64) float64 {
		sum := wave(m)
		for i := range jumps {
			since := m - jumps[i].at - later
			sum += jumps[i].height * max(0, min(1, since/rise, 1-(since-rise-jumps[i].lasts)/fall))
		}
		return sum
	})
}

// drawnSmooth is a wave alone.
func drawnSmooth(random *rand.Rand) func(int) float64 {
	wave := diurnal(random)
	return daily(random, always, func(_ int, m float64) float64 { return 2 * wave(m) })
}

// drawnNothing are more bursts at any time.
func drawnNothing(random *rand.Rand) func(int) float64 {
	wave, burst, left := diurnal(random), pulse{}, 0.0
	often := (1 + 11*random.Float64()) / minutesOfDay
	return daily(random, always, func(_ int, m float64) float64 {
		if left--; random.Float64() < often {
			burst = pulses(random, 1)[0]
			left = burst.lasts
		}
		if left > 0 {
			return wave(m) + burst.height
		}
		return wave(m)
	})
}
