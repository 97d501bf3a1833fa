package baseline

// recentMinutes is the length of the history of persistence and trend.
const recentMinutes = 10

// persistence expects what has just been.
type persistence struct{ ring }

func newPersistence() *persistence { return &persistence{newRing(recentMinutes)} }

var _ Forecast = (*persistence)(nil)

// Next implements Forecast.
func (p *persistence) Next(load float64) float64 {
	p.add(load)
	largest := 0.0
	for i := range p.known() {
		largest = max(largest, p.ago(i))
	}
	return largest
}

// trend extrapolates the latest change of the load.
type trend struct {
	ring
	ahead int
}

func newTrend(ahead int) *trend { return &trend{ring: newRing(recentMinutes), ahead: ahead} }

var _ Forecast = (*trend)(nil)

// Next implements Forecast. The line of least squares through (x, y) has the slope
//
//	sum((x - mean(x)) * (y - mean(y))) / sum((x - mean(x))^2)
//
// and goes through (mean(x), mean(y)). The minute that ended last is x = 0, the next one is 1.
func (t *trend) Next(load float64) float64 {
	t.add(load)
	if t.known() < recentMinutes {
		return 0
	}
	const middle = -float64(recentMinutes-1) / 2
	mean := 0.0
	for i := range recentMinutes {
		mean += t.ago(i) / recentMinutes
	}
	with, square := 0.0, 0.0
	for i := range recentMinutes {
		x := -float64(i) - middle
		with += x * (t.ago(i) - mean)
		square += x * x
	}
	slope := with / square
	return max(0, mean+slope*(1-middle), mean+slope*(float64(t.ahead)-middle))
}
