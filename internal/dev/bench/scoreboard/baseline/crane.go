package baseline

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
)

// Crane's forecast is described in its documentation (gocrane/crane, docs/tutorials/timeseriees-forecasting-by-dsp.md
// and resource-recommendation.md) and in its defaults (pkg/prediction/dsp/estimators.go,
// pkg/prediction/percentile/config.go). The differences here are in its favour: there is no search for a period, which
// is always a day; the estimate is made each hour instead of each 12 hours; and it forecasts as far ahead as the others
// instead of an hour.
const (
	craneDays       = 3
	maxValueMargin  = 0.10
	spectrumMargin  = 0.01
	spectrumItems   = 100
	outlierPart     = 0.001
	estimateMinutes = 60

	percentileDays   = 7
	percentileOf     = 0.99
	percentileMargin = 0.15
)

// periodic expects a day that is estimated each hour from whole days.
type periodic struct {
	ring
	days, ahead int
	estimate    func(days []float64) []float64
	// day begins when it was estimated, age minutes ago.
	day           []float64
	age           int
	whole, sorted []float64
}

func newPeriodic(days, ahead int, estimate func(days []float64) []float64) *periodic {
	return &periodic{
		ring: newRing(days * minutesOfDay), days: days, ahead: min(ahead, minutesOfDay-estimateMinutes), estimate: estimate,
	}
}

var _ Forecast = (*periodic)(nil)

// Next implements Forecast.
func (p *periodic) Next(load float64) float64 {
	p.add(load)
	p.age++
	if p.known() < p.days*minutesOfDay {
		return 0
	}
	if p.day == nil || p.age == estimateMinutes {
		p.whole = p.last(p.days*minutesOfDay, p.whole[:0])
		p.withoutOutliers()
		p.day, p.age = p.estimate(p.whole), 0
	}
	return slices.Max(p.day[p.age : p.age+p.ahead])
}

// withoutOutliers gives what is beyond the 0.1st or the 99.9th percentile the value before it.
func (p *periodic) withoutOutliers() {
	p.sorted = append(p.sorted[:0], p.whole...)
	high := quantileIn(p.sorted, 1-outlierPart)
	low := quantileIn(p.sorted, outlierPart)
	for i := 1; i < len(p.whole); i++ {
		if v := p.whole[i]; v > high || v < low {
			p.whole[i] = p.whole[i-1]
		}
	}
}

// maxValue is the largest value of each minute of the day.
func maxValue(days []float64) []float64 {
	day := make([]float64, minutesOfDay)
	for i, v := range days {
		day[i%minutesOfDay] = max(day[i%minutesOfDay], (1+maxValueMargin)*v)
	}
	return day
}

// newSpectrum returns the last of the days without its weak high frequencies:
//
//	y = IFFT(X), X[k] = FFT(x)[k] if k is at most one an hour or among the strongest, else 0
func newSpectrum() func(days []float64) []float64 {
	var fft *fourier.FFT
	var strengths []float64
	return func(days []float64) []float64 {
		if fft == nil {
			fft = fourier.NewFFT(len(days))
		}
		x := fft.Coefficients(nil, days)
		strengths = strengths[:0]
		for _, c := range x[1:] {
			strengths = append(strengths, strength(c))
		}
		slices.SortFunc(strengths, func(a, b float64) int { return cmp.Compare(b, a) })
		least := strengths[min(spectrumItems, len(strengths))-1]
		hourly := len(days) / 60
		for k := range x {
			if k > hourly && strength(x[k]) < least {
				x[k] = 0
			}
		}
		kept := fft.Sequence(nil, x)
		day := kept[len(kept)-minutesOfDay:]
		for i := range day {
			// The library's transforms are not scaled: there and back is times the length.
			day[i] = max(0, day[i]/float64(len(days))*(1+spectrumMargin))
		}
		return day
	}
}

// strength is the square of the absolute value.
func strength(c complex128) float64 { return real(c)*real(c) + imag(c)*imag(c) }

// percentile expects the same at all times.
type percentile struct {
	ring
	level  float64
	minute []weighted
}

// weighted is a minute of an age, in minutes.
type weighted struct {
	load float64
	age  int
}

func newPercentile() *percentile { return &percentile{ring: newRing(percentileDays * minutesOfDay)} }

var _ Forecast = (*percentile)(nil)

// Next implements Forecast. It begins after a day.
func (p *percentile) Next(load float64) float64 {
	p.add(load)
	if p.known() >= minutesOfDay && p.minutes%estimateMinutes == 0 {
		p.level = (1 + percentileMargin) * p.weigh()
	}
	return p.level
}

// weigh is the least load that the minutes do not exceed which have percentileOf of the weight. A minute's weight is
// 2^-(its age in days).
func (p *percentile) weigh() float64 {
	p.minute = p.minute[:0]
	for i := range p.known() {
		p.minute = append(p.minute, weighted{p.ago(i), i})
	}
	slices.SortFunc(p.minute, func(a, b weighted) int { return cmp.Or(cmp.Compare(a.load, b.load), a.age-b.age) })
	total := 0.0
	for _, m := range p.minute {
		total += weight(m.age)
	}
	left := percentileOf * total
	for _, m := range p.minute {
		if left -= weight(m.age); left <= 0 {
			return m.load
		}
	}
	return p.minute[len(p.minute)-1].load
}

func weight(minutes int) float64 { return math.Exp2(-float64(minutes) / minutesOfDay) }
