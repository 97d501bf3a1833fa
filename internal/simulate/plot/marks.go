package plot

import (
	"fmt"
	"math"
	"time"

	"gonum.org/v1/plot"
)

// clock marks times in whole steps that people count in.
type clock struct{}

var _ plot.Ticker = clock{}

// steps has the possible distances of marks.
var steps = []time.Duration{
	time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
	10 * time.Minute,
	30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour,
	7 * 24 * time.Hour, 14 * 24 * time.Hour,
}

// mostMarks are how many marks fit.
const mostMarks = 12

// Ticks implements plot.Ticker.
func (clock) Ticks(low, high float64) []plot.Tick {
	step := steps[len(steps)-1]
	for _, s := range steps {
		if (high-low)/s.Seconds() <= mostMarks {
			step = s
			break
		}
	}
	var ticks []plot.Tick
	for at := math.Ceil(low/step.Seconds()) * step.Seconds(); at <= high; at += step.Seconds() {
		ticks = append(ticks, plot.Tick{Value: at, Label: clockText(time.Duration(at)*time.Second, step)})
	}
	return ticks
}

// clockText is a time in the unit of the step.
func clockText(at, step time.Duration) string {
	switch {
	case step >= 24*time.Hour:
		return fmt.Sprintf("%dd", at/(24*time.Hour))
	case step >= time.Hour:
		return fmt.Sprintf("%dh", at/time.Hour)
	case step >= time.Minute && at >= time.Hour:
		return fmt.Sprintf("%dh%02d", at/time.Hour, at%time.Hour/time.Minute)
	case step >= time.Minute:
		return fmt.Sprintf("%dm", at/time.Minute)
	}
	return fmt.Sprintf("%d:%02d", at/time.Minute, at%time.Minute/time.Second)
}

// decades marks powers of ten.
type decades struct{}

var _ plot.Ticker = decades{}

// Ticks implements plot.Ticker.
func (decades) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		v := math.Pow(10, e)
		ticks = append(ticks, plot.Tick{Value: v, Label: fmt.Sprintf("%g", v)})
	}
	return ticks
}

// short marks what plot would, with no more digits than it takes.
type short struct{}

var _ plot.Ticker = short{}

// Ticks implements plot.Ticker.
func (short) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i := range ticks {
		if !ticks[i].IsMinor() {
			ticks[i].Label = fmt.Sprintf("%.4g", ticks[i].Value)
		}
	}
	return ticks
}
