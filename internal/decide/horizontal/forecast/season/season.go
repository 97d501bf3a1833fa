// Package season is a model of a load that recurs each day.
//
// It is exponential smoothing with a level and an additive season of a day, without a trend (P. R. Winters,
// "Forecasting Sales by Exponentially Weighted Moving Averages", Management Science 6, 1960), and with the
// autocorrelation of its errors (E. S. Gardner, "Exponential smoothing: The state of the art", Journal of Forecasting,
// 1985). Beside the season it has the mean absolute error of each minute of the day: at the minutes of a jump it is
// larger.
package season

import "math"

// Minutes is the number of places of a season.
const Minutes = 24 * 60

const (
	// levelWeight and placeWeight are the parts of an error by which the level and the place in the season are corrected.
	levelWeight, placeWeight = 0.1, 0.2
	// farOff is the deviation of a load below its expectation, as a fraction, that is no random fluctuation. After mostFar
	// such errors in a row a place is corrected by the whole error: a jump that has ended is dropped, but one of working
	// days survives a weekend. Upwards a place is corrected at the usual pace: random fluctuations often raise the load on
	// two days in a row.
	farOff, mostFar = 0.2, 3
	// errorDecay is the factor by which an error decays in a minute.
	errorDecay = 0.9
	// unknown marks a place without a value. Others are from -most to most.
	unknown, most = math.MinInt16, math.MaxInt16
	// mostLoad bounds the loads in a checkpoint.
	mostLoad = 1e12
	// mostError is the largest stored error, in units of errors.
	mostError = math.MaxUint8
	// Units start as these fractions of the load's unit, and double when a value does not fit.
	firstUnit, firstErrorUnit = 1.0 / 1024, 1.0 / 128
)

// Model is the model of one load, a value of fixed size. The zero value knows nothing.
type Model struct {
	// Level is added to each place. Error is the deviation of the last minute from its expectation.
	Level, Error float64
	// Unit is the value of 1 in a place, ErrorUnit the value of 1 in an error. They are 0 before the first minute.
	Unit, ErrorUnit float64
	// Places are the season's values from midnight UTC on, and Errors the mean absolute errors there.
	Places [Minutes]int16
	Errors [Minutes]uint8
	// Runs are the far errors in a row at each place, two bits of each. They are from Usual, the mean of the level in
	// about a day: the level itself follows a jump that does not come within minutes.
	Runs  [Minutes / 4]uint8
	Usual float64
}

// Learn records the mean load of a minute. If isAtLeast, the load may have been larger: then it corrects the model
// upwards only.
func (m *Model) Learn(minute int64, load float64, isAtLeast bool) {
	if m.Unit == 0 {
		m.begin()
	}
	i := place(minute)
	if m.Places[i] == unknown {
		m.set(i, load-m.Level)
		m.Skip(1)
		return
	}
	m.Error = load - m.Level - m.season(i)
	if isAtLeast && m.Error < 0 {
		m.Error = 0
		return
	}
	m.Usual += (m.Level - m.Usual) / Minutes
	m.setError(i, m.err(i)+placeWeight*(math.Abs(m.Error)-m.err(i)))
	if m.hasStopped(i, load) {
		m.set(i, load-m.Level)
		return
	}
	m.Level += levelWeight * m.Error
	m.set(i, m.season(i)+placeWeight*m.unexplained(i, load))
}

// unexplained returns the deviation of a load from its place, by the level or the usual level, whichever explains more:
// after a jump that did not come, the level is too low for a while.
func (m *Model) unexplained(i int, load float64) float64 {
	byLevel, byUsual := load-m.Level-m.season(i), load-m.Usual-m.season(i)
	if math.Abs(byUsual) < math.Abs(byLevel) {
		return byUsual
	}
	return byLevel
}

// hasStopped reports whether the load is far below what was expected for the last of mostFar times in a row.
func (m *Model) hasStopped(i int, load float64) bool {
	runs, shift := &m.Runs[i/4], 2*(i%4)
	before, run := *runs>>shift&3, uint8(0)
	if expected := m.Usual + m.season(i); expected-load > farOff*expected {
		run = before + 1
	}
	*runs += (run%mostFar - before) << shift
	return run == mostFar
}

// Expected returns the season's expectation of a minute, without the error of the last one; 0 if that minute was never
// observed.
func (m *Model) Expected(minute int64) float64 {
	if i := place(minute); m.Unit > 0 && m.Places[i] != unknown {
		return m.Level + m.season(i)
	}
	return 0
}

// Raise corrects an earlier minute whose load turns out to have been larger than learnt: as another observation would,
// or by the whole difference if there was no other.
func (m *Model) Raise(minute int64, load float64, isFirst bool) {
	i := place(minute)
	if m.Unit == 0 || m.Places[i] == unknown {
		return
	}
	missing := load - m.Level - m.season(i)
	if missing <= 0 {
		return
	}
	if !isFirst {
		missing *= placeWeight
	}
	m.set(i, m.season(i)+missing)
}

// Skip passes minutes with an unknown load.
func (m *Model) Skip(minutes int64) { m.Error *= math.Pow(errorDecay, float64(minutes)) }

// Peaks returns the most that the model expects in the minutes after a minute: the expectation itself, and with the
// mean error of its minute on top. It is not known if one of these minutes was never seen.
func (m *Model) Peaks(minute int64, ahead int) (mean, upper float64, ok bool) {
	left := m.Error
	for k := 1; k <= ahead; k++ {
		left *= errorDecay
		expected, mostExpected, ok := m.at(minute+int64(k), left)
		if !ok {
			return 0, 0, false
		}
		mean, upper = max(mean, expected), max(upper, mostExpected)
	}
	return mean, upper, true
}

// Curve calls yield with the expectation of each of the minutes after a minute, and, as upper, with the mean error of
// its minute added. It omits minutes that were never observed.
func (m *Model) Curve(minute int64, ahead int, yield func(minute int64, mean, upper float64)) {
	left := m.Error
	for k := 1; k <= ahead; k++ {
		left *= errorDecay
		if mean, upper, ok := m.at(minute+int64(k), left); ok {
			yield(minute+int64(k), max(0, mean), max(0, upper))
		}
	}
}

// at returns what is expected in a minute, with and without its mean error, if so much is left of the last error.
func (m *Model) at(minute int64, left float64) (mean, upper float64, ok bool) {
	i := place(minute)
	if m.Unit == 0 || m.Places[i] == unknown {
		return 0, 0, false
	}
	mean = m.Level + m.season(i) + left
	return mean, mean + m.err(i), true
}

// Scale multiplies all that was learnt.
func (m *Model) Scale(factor float64) {
	m.Level *= factor
	m.Usual *= factor
	m.Error *= factor
	m.Unit *= factor
	m.ErrorUnit *= factor
}

// IsValid reports whether the numbers can be computed with.
func (m *Model) IsValid() bool {
	for _, v := range []float64{m.Level, m.Usual, m.Error, m.Unit, m.ErrorUnit} {
		if math.IsNaN(v) || math.Abs(v) > mostLoad {
			return false
		}
	}
	return m.Unit >= 0 && (m.Unit > 0) == (m.ErrorUnit > 0)
}

func (m *Model) begin() {
	*m = Model{Unit: firstUnit, ErrorUnit: firstErrorUnit}
	for i := range m.Places {
		m.Places[i] = unknown
	}
}

func (m *Model) season(i int) float64 { return float64(m.Places[i]) * m.Unit }

func (m *Model) err(i int) float64 { return float64(m.Errors[i]) * m.ErrorUnit }

func (m *Model) set(i int, value float64) {
	for math.Abs(value) > most*m.Unit {
		m.Unit *= 2
		for k, v := range m.Places {
			if v != unknown {
				m.Places[k] = v / 2
			}
		}
	}
	m.Places[i] = int16(math.RoundToEven(value / m.Unit))
}

func (m *Model) setError(i int, value float64) {
	for value > mostError*m.ErrorUnit {
		m.ErrorUnit *= 2
		for k := range m.Errors {
			m.Errors[k] /= 2
		}
	}
	m.Errors[i] = uint8(math.RoundToEven(value / m.ErrorUnit))
}

func place(minute int64) int { return int((minute%Minutes + Minutes) % Minutes) }
