package campaign

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

// loadFamilies differ in the load alone.
var loadFamilies = []family{
	{name: "step", cases: 30, build: stepCase},
	{name: "ramp", cases: 20, build: rampCase},
	{name: "saw", cases: 16, build: sawCase},
	{name: "spike", cases: 28, build: spikeCase},
	{name: "burst", cases: 40, build: burstCase},
	{name: "poisson", cases: 16, build: poissonCase},
	{name: "ar", cases: 20, build: arCase},
	{name: "edge", cases: 20, build: edgeCase},
	{name: "dip", cases: 20, build: dipCase},
	{name: "sine", cases: 12, build: sineCase},
	{name: "one", cases: 24, build: oneCase},
	{name: "big", cases: 2, build: bigCase},
	{name: "start", cases: 24, build: startCase},
	{name: "flash", cases: 16, build: flashCase},
}

func stepCase(c *Case, r random, _ int) {
	base, factor := r.of(0.7, 1, 1.6, 2.5, 3, 5, 8, 12), r.of(1.25, 1.4, 1.7, 2, 2.5, 3, 4, 6)
	const most = 55
	if base*factor > most {
		factor = most / base
	}
	c.step(base, factor, 400)
	c.note("%.1f pods, times %.2f at once", base, factor)
}

func rampCase(c *Case, r random, _ int) {
	base, factor, seconds := r.scaled(0.6, 8), r.between(1.5, 6), int(r.scaled(20, 700))
	top := base * factor
	c.Load = join(flat(120, base), ramp(seconds, base, top), flat(200, top), ramp(seconds, top, base), flat(500, base))
	c.note("%.1f pods, times %.2f within %d s, and back", base, factor, seconds)
}

func sawCase(c *Case, r random, _ int) {
	base, factor, seconds := r.scaled(0.8, 8), r.between(1.4, 5), int(r.scaled(40, 600))
	for len(c.Load) < 1500 {
		c.Load = append(c.Load, ramp(seconds, base, base*factor)...)
	}
	c.Load = c.Load[:1500]
	c.note("%.1f pods, times %.2f within %d s, then at once back", base, factor, seconds)
}

func spikeCase(c *Case, r random, _ int) {
	base, factor := r.scaled(0.8, 6), r.between(1.6, 8)
	seconds, gap := int(r.of(5, 8, 10, 15, 20, 30, 45, 60)), int(r.between(150, 500))
	c.Load = flat(100, base)
	for len(c.Load) < 1400 {
		c.Load = join(c.Load, flat(seconds, base*factor), flat(gap, base))
	}
	c.StepAt = 100 * time.Second
	c.note("%.1f pods, times %.2f for %d s in every %d s", base, factor, seconds, seconds+gap)
}

func burstCase(c *Case, r random, i int) {
	period := []float64{20, 30, 45, 60, 90}[i%5]
	base, factor, part := r.scaled(0.8, 8), r.between(1.4, 5), r.of(0.1, 0.2, 0.33, 0.5)
	c.Load = periodic(1500, base, factor, period, part)
	c.note("%.1f pods, times %.2f for %.0f %% of every %.0f s", base, factor, part*100, period)
}

func poissonCase(c *Case, r random, _ int) {
	c.Burstiness = r.of(1, 3, 5, 10, 20, 50)
	base := r.scaled(0.8, 12)
	c.Load = flat(1500, base)
	c.note("%.1f pods, burstiness %.0f", base, c.Burstiness)
}

func arCase(c *Case, r random, _ int) {
	base, kept, deviation := r.scaled(0.8, 15), r.of(0, 0.5, 0.9, 0.97, 0.99), r.of(0.05, 0.1, 0.2, 0.35)
	c.Load = noise{base, kept, deviation * math.Sqrt(1-kept*kept), 0.05}.load(r, 1800)
	c.note("%.1f pods with a standard deviation of %.0f %%, of which a second keeps %.0f %%", base, deviation*100,
		kept*100)
}

func edgeCase(c *Case, r random, _ int) {
	pods, ratio := math.Trunc(r.scaled(1, 20)), r.of(0.92, 1.0, 1.06, 1.08, 1.09, 1.1, 1.11, 1.13)
	c.Burstiness = r.of(0.1, 1, 3)
	c.Load = flat(1500, pods*ratio)
	c.note("%.0f pods at %.2f of the target", pods, ratio)
}

func dipCase(c *Case, r random, _ int) {
	base, part, seconds := r.scaled(2, 12), r.of(0, 0.2, 0.5, 0.7), int(r.of(10, 20, 40, 90, 200, 330, 500))
	c.Load = flat(150, base)
	for len(c.Load) < 1700 {
		c.Load = join(c.Load, flat(seconds, base*part+0.05), flat(400, base))
	}
	c.note("%.1f pods fall to %.1f of that for %d s", base, part, seconds)
}

func sineCase(c *Case, r random, _ int) {
	base, amplitude, period := r.scaled(1, 15), r.between(0.2, 0.8), r.scaled(80, 1500)
	c.Load = sine(1800, base, amplitude, period)
	c.note("%.1f pods ± %.0f %% in %.0f s", base, amplitude*100, period)
}

func oneCase(c *Case, r random, _ int) {
	low, high := r.between(0.4, 0.95), r.between(1.05, 1.95)
	c.Max = int32(r.of(2, 3, 10))
	c.Load = join(flat(beforeStep, low), flat(400, high), flat(700, low))
	c.StepAt = beforeStep * time.Second
	c.note("%.2f pods, then %.2f, of at most %d", low, high, c.Max)
}

func bigCase(c *Case, r random, _ int) {
	c.Max = 1000
	base := r.of(2, 20)
	c.Load, c.StepAt = join(flat(60, base), flat(300, 700), flat(60, base)), time.Minute
	c.note("%.0f pods, then 700", base)
}

// startCase is steady from before the controllers start: they change the count within their first seconds only for lack
// of history.
func startCase(c *Case, r random, i int) {
	c.Burstiness = []float64{0.2, 1, 3, 10}[i%4]
	base := r.scaled(0.8, 40)
	c.Load = flat(300, base)
	c.note("%.1f pods, burstiness %.1f", base, c.Burstiness)
}

// flashCase has what is over before new pods could help: seconds of several times the load, noise in each second, noise
// in each pod, and a pod that is hot for some seconds now and then.
func flashCase(c *Case, r random, i int) {
	base := r.scaled(2, 12)
	c.Load, c.Noise = flat(1500, base), 0.2
	switch i % 4 {
	case 0:
		for at := 100 + r.IntN(40); at < len(c.Load); at += 20 + r.IntN(40) {
			c.Load[at] *= 5
		}
		c.note("%.1f pods, times 5 for single seconds", base)
	case 1:
		part := r.of(0.2, 0.5)
		for at := 100; at < len(c.Load); at++ {
			c.Load[at] *= 1 + r.between(-part, part)
		}
		c.note("%.1f pods ± %.0f %% in each second", base, part*100)
	case 2:
		c.Imbalance = r.of(0, 0.3)
		c.note("%.1f pods, noise of 20 %% in each, imbalance %.1f", base, c.Imbalance)
	default:
		w := world.Work{Pods: world.FirstPod, Every: r.seconds(45, 70, 110), Lasts: r.seconds(5, 10, 15)}
		w.CPUMilli = r.of(2, 6) * c.RequestMilli
		c.Work = []world.Work{w}
		c.note("%.1f pods, of which one uses %.0fm more for %v in every %v", base, w.CPUMilli, w.Lasts, w.Every)
	}
}
