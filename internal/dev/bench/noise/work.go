package noise

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

// requestWithWorkMilli is what pods request that do work by themselves. Of a larger
// request the same work would be a smaller part.
const requestWithWorkMilli = 200

// work is CPU that each pod uses beside its part of the load, all pods at the same time.
// More pods do not make it less.
type work struct {
	milli float64
	// lasts is how long it takes every time, every how far apart its beginnings are.
	lasts, every time.Duration
	// afterReady is how long a new pod does it after it is ready, and from its start; then
	// there are no other times.
	afterReady time.Duration
}

// works all last an hour, so that the excess pod-hours are the mean of the excess pods.
var works = []scenario{
	{name: "cron: 4 s of 200m each 4 min", podNoise: noiseOf, lasts: time.Hour,
		work: work{milli: 200, lasts: 4 * time.Second, every: 4 * time.Minute}},
	{name: "garbage collection: 1 s of 1000m each 30 s", podNoise: noiseOf, lasts: time.Hour,
		work: work{milli: 1000, lasts: time.Second, every: 30 * time.Second}},
	{name: "cache renewal: 15 s of 200m each 10 min", podNoise: noiseOf, lasts: time.Hour,
		work: work{milli: 200, lasts: 15 * time.Second, every: 10 * time.Minute}},
	{name: "new pods compile: 30 s of 200m, load ×2 once", podNoise: noiseOf, lasts: time.Hour, surge: 2,
		work: work{milli: 200, afterReady: 30 * time.Second}},
}

// times are when the work begins and ends, in turns.
func (w *work) times(random *rand.Rand, end time.Duration) []time.Duration {
	if w.every == 0 {
		return nil
	}
	var times []time.Duration
	for at := warmUp + time.Duration(random.Int64N(int64(w.every))); at < end; at += w.every {
		times = append(times, at, at+w.lasts)
	}
	return times
}

// Work is a case in which each pod does work by itself.
type Work struct {
	Name string `json:"name"`
	// With is Plimsoll with the surge window, Alone without it, Upstream its controller
	// with its defaults.
	With     Cost `json:"with"`
	Alone    Cost `json:"alone"`
	Upstream Cost `json:"upstream"`
	// Asked is in how many decisions of all seeds the surge window asked for more.
	Asked int `json:"decisionsThatAsked"`
}

// Cost is what the work led to, of each seed.
type Cost struct {
	PeakReplicas   report.Spread `json:"peakReplicas"`
	ExcessPodHours report.Spread `json:"excessPodHours"`
}

// trio is one seed played in three ways.
type trio struct{ with, alone, upstream outcome }

// measureWork plays one case.
func measureWork(ctx context.Context, s *scenario, c Config) (Work, error) {
	trios, err := playSeeds(ctx, c.WorkSeeds, func(seed uint64) (trio, error) { return playTrio(s, seed, c) })
	if err != nil {
		return Work{}, err
	}
	asked := 0
	for i := range trios {
		asked += trios[i].with.asked
	}
	return Work{
		Name: s.name, Asked: asked,
		With:     costOf(trios, func(t *trio) *outcome { return &t.with }),
		Alone:    costOf(trios, func(t *trio) *outcome { return &t.alone }),
		Upstream: costOf(trios, func(t *trio) *outcome { return &t.upstream }),
	}, nil
}

func playTrio(s *scenario, seed uint64, c Config) (trio, error) {
	p, err := playSeed(s, seed, c)
	if err != nil {
		return trio{}, err
	}
	upstream, err := newUpstreamRun(s, seed)
	if err != nil {
		return trio{}, err
	}
	return trio{with: p.with, alone: p.alone, upstream: upstream.play()}, nil
}

func costOf(trios []trio, of func(*trio) *outcome) Cost {
	var peaks, excess []float64
	for i := range trios {
		o := of(&trios[i])
		peaks, excess = append(peaks, float64(o.most)), append(excess, o.excessPodHours)
	}
	return Cost{PeakReplicas: report.Of(peaks...), ExcessPodHours: report.Of(excess...)}
}
