package baseline

import (
	"slices"
)

const (
	minutesOfDay  = 24 * 60
	minutesOfWeek = 7 * minutesOfDay
)

// A Forecast is of one load. It has a state and is not for concurrent use.
type Forecast interface {
	// Next adds the mean load of the minute that has ended, and returns the largest load that is expected within the
	// minutes ahead that the forecast was made for; 0 while it has too little history.
	Next(load float64) float64
}

// Kind is a forecast by its name.
type Kind struct {
	Name string
	// Source describes it, and names its origin.
	Source string
	// make returns a new forecast for the next minutes.
	make func(ahead int) Forecast
}

// New returns a new forecast for this number of minutes ahead, at least 1.
func (k *Kind) New(ahead int) Forecast { return k.make(max(1, ahead)) }

// kinds are all there are, in the order of tables.
var kinds = []Kind{
	{
		Name: "persistence", Source: "the largest load of the last ten minutes",
		make: func(int) Forecast { return newPersistence() },
	},
	{
		Name: "trend",
		Source: "the straight line of least squares through the last ten minutes, continued " +
			"(the linear model of the Predictive Horizontal Pod Autoscaler)",
		make: func(ahead int) Forecast { return newTrend(ahead) },
	},
	{
		Name: "yesterday", Source: "yesterday's load at the same minutes",
		make: func(ahead int) Forecast { return newSeason(minutesOfDay, ahead, 1) },
	},
	{
		Name: "yesterday-0.8", Source: "0.8 times yesterday's load at the same minutes",
		make: func(ahead int) Forecast { return newSeason(minutesOfDay, ahead, 0.8) },
	},
	{
		Name: "last-week", Source: "last week's load at the same minutes",
		make: func(ahead int) Forecast { return newSeason(minutesOfWeek, ahead, 1) },
	},
	{
		Name:   "quantile",
		Source: "the 80 % quantile of the same minutes of the last seven days, as AHPA's prediction.quantile asks for one",
		make:   func(ahead int) Forecast { return newQuantile(ahead) },
	},
	{
		Name: "crane-maxvalue",
		Source: "Crane's DSP estimator maxValue: the largest load of the same minute of the last three days, plus the " +
			"margin of 10 % of its documentation's example",
		make: func(ahead int) Forecast { return newPeriodic(craneDays, ahead, maxValue) },
	},
	{
		Name: "crane-fft",
		Source: "Crane's DSP estimator fft: the last day of the last three, of which the strongest 100 frequencies and all " +
			"below one an hour are kept, plus 1 %",
		make: func(ahead int) Forecast { return newPeriodic(craneDays, ahead, newSpectrum()) },
	},
	{
		Name: "crane-percentile",
		Source: "Crane's percentile algorithm with its documented defaults for recommendations: the 99th percentile of " +
			"the last seven days, whose weights halve each day, plus 15 %",
		make: func(int) Forecast { return newPercentile() },
	},
}

// Kinds are all forecasts, in the order of tables.
func Kinds() []Kind { return slices.Clone(kinds) }
