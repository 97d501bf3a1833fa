package noise

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	simulateload "github.com/plimsoll-dev/plimsoll/internal/simulate/load"
	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// The world at its target: ten pods, of which each uses half of its request.
const (
	podsAtFirst       = 10
	requestMilli      = 500
	targetPercent     = 50
	requestCostMilliS = 10 // milli-core-seconds for one request of the load
)

// noiseOf is the ±20 %.
const noiseOf = 0.2

// warmUp is how long the load rests before anything happens.
const warmUp = 30 * time.Second

// scenario is one kind of trouble.
type scenario struct {
	name string
	// podNoise is how much each pod's use differs from second to second, loadNoise
	// how much the whole load does.
	podNoise, loadNoise float64
	// spike multiplies the load for one second now and then. It begins so long after a
	// scrape, anywhere in the second before the next if that is below 0.
	spike      float64
	spikeAfter time.Duration
	// hot multiplies the use of one pod: always, or for some seconds now and then.
	hot        float64
	hotAtTimes bool
	// surge multiplies the load for good.
	surge float64
	// ratePerPod makes the metric the requests per second that each pod counts itself, as of PodEndpoint, with this
	// target. The requests of each second are drawn at random, as those of independent users.
	ratePerPod float64
	// work is what each pod does by itself.
	work  work
	lasts time.Duration
}

const halfAnHour = 30 * time.Minute

var noises = []scenario{
	{name: "noise of ±20 % in each pod", podNoise: noiseOf, lasts: halfAnHour},
	{name: "noise of ±20 % in the load", loadNoise: noiseOf, lasts: halfAnHour},
	{name: "spikes of 5×, inside a sample", podNoise: noiseOf, spike: 5, lasts: halfAnHour},
	{name: "spikes of 5×, across two samples", podNoise: noiseOf, spike: 5, spikeAfter: -1, lasts: halfAnHour},
	{name: "spikes of 5×, in half by two samples", podNoise: noiseOf, spike: 5, spikeAfter: 500 * time.Millisecond,
		lasts: halfAnHour},
	{name: "one pod of ten hot, 4× the others", podNoise: noiseOf, hot: 4, lasts: halfAnHour},
	{name: "one pod of ten hot at times, 20×", podNoise: noiseOf, hot: 20, hotAtTimes: true, lasts: halfAnHour},
	{name: "noise of ±50 % in the load", loadNoise: 0.5, lasts: halfAnHour},
	{name: "0.2 requests/s in each pod, counted", ratePerPod: 0.2, lasts: halfAnHour},
	{name: "1 request/s in each pod, counted", ratePerPod: 1, lasts: halfAnHour},
	{name: "5 requests/s in each pod, counted", ratePerPod: 5, lasts: halfAnHour},
	{name: "30 requests/s in each pod, counted", ratePerPod: 30, lasts: halfAnHour},
}

var surges = []scenario{
	{name: "×10", podNoise: noiseOf, surge: 10, lasts: 2 * time.Minute},
	{name: "×3", podNoise: noiseOf, surge: 3, lasts: 2 * time.Minute},
	{name: "×1.5", podNoise: noiseOf, surge: 1.5, lasts: 2 * time.Minute},
	{name: "×10 of 5 requests/s, counted", ratePerPod: 5, surge: 10, lasts: 2 * time.Minute},
	{name: "×3 of 30 requests/s, counted", ratePerPod: 30, surge: 3, lasts: 2 * time.Minute},
}

// requestMilli is what each pod requests.
func (s *scenario) requestMilli() int64 {
	if s.work.milli > 0 {
		return requestWithWorkMilli
	}
	return requestMilli
}

// atTargetPerSecond is the load that the pods carry at their target at first.
func (s *scenario) atTargetPerSecond() float64 {
	if s.ratePerPod > 0 {
		return podsAtFirst * s.ratePerPod
	}
	return float64(podsAtFirst*s.requestMilli()*targetPercent) / 100 / requestCostMilliS
}

// needed is how many pods the load takes.
func (s *scenario) needed(hasRisen bool) int {
	if hasRisen && s.surge > 0 {
		return int(math.Ceil(podsAtFirst * s.surge))
	}
	return podsAtFirst
}

// aligned reports whether all nodes are to be scraped at whole seconds, so that
// spikes lie as the scenario says.
func (s *scenario) aligned() bool { return s.spike > 0 }

// spikeTimes are the seconds in which a spike begins.
func (s *scenario) spikeTimes(random *rand.Rand) []time.Duration {
	var times []time.Duration
	for at := warmUp; s.spike > 0; {
		at += time.Duration(20+random.IntN(40)) * time.Second
		if at >= warmUp+s.lasts-10*time.Second {
			break
		}
		after := s.spikeAfter
		if after < 0 {
			after = time.Duration(random.Int64N(int64(time.Second)))
		}
		times = append(times, at+after)
	}
	return times
}

// load is the scenario's load; surgeAt is when it increases for good, if it does.
func (s *scenario) load(random *rand.Rand, surgeAt time.Duration) (workloadmodel.Shape, error) {
	end := warmUp + s.lasts
	changes := map[time.Duration]struct{}{0: {}, surgeAt: {}}
	spikes := s.spikeTimes(random)
	for _, at := range spikes {
		changes[at], changes[at+time.Second] = struct{}{}, struct{}{}
	}
	perSecond := make([]float64, int(end/time.Second)+1)
	for i := range perSecond {
		perSecond[i] = 1
		if s.ratePerPod > 0 && time.Duration(i)*time.Second >= warmUp {
			changes[time.Duration(i)*time.Second] = struct{}{}
		}
		if s.loadNoise > 0 && time.Duration(i)*time.Second >= warmUp {
			perSecond[i] += s.loadNoise * (2*random.Float64() - 1)
			changes[time.Duration(i)*time.Second] = struct{}{}
		}
	}
	var points []workloadmodel.Point
	for _, at := range slices.Sorted(maps.Keys(changes)) {
		rate := s.atTargetPerSecond() * perSecond[min(int(at/time.Second), len(perSecond)-1)]
		if s.surge > 0 && at >= surgeAt {
			rate *= s.surge
		}
		if slices.ContainsFunc(spikes, func(begin time.Duration) bool { return at >= begin && at < begin+time.Second }) {
			rate *= s.spike
		}
		if s.ratePerPod > 0 && at >= warmUp {
			rate = simulateload.Poisson(random, rate)
		}
		points = append(points, workloadmodel.Point{At: at, RequestsPerSecond: rate})
	}
	return workloadmodel.NewSteps(points)
}

// heat is when the hot pod is hot: from each even entry to the next odd one.
func (s *scenario) heat(random *rand.Rand) []time.Duration {
	if s.hot == 0 {
		return nil
	}
	if !s.hotAtTimes {
		return []time.Duration{0, warmUp + s.lasts + time.Hour}
	}
	var times []time.Duration
	for at := warmUp; at < warmUp+s.lasts; {
		at += time.Duration(20+random.IntN(60)) * time.Second
		begin := at + time.Duration(random.Int64N(int64(time.Second)))
		at += time.Duration(5+random.IntN(15)) * time.Second
		times = append(times, begin, at)
	}
	return times
}
