package noise

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

// Config says what is measured.
type Config struct {
	// Seeds is how many times each scenario is played, with other random numbers each
	// time.
	Seeds int
	// WorkSeeds is the same of the cases of work in each pod, which last longer and differ
	// less.
	WorkSeeds int
	// Window is the surge window that is measured.
	Window surge.Settings
	// Agents is how often agents of the nodes read what pods use; 0 means that there are none, and that
	// the kubelets have new samples each second.
	Agents time.Duration
	// Say is called with the progress; it may be nil.
	Say func(format string, args ...any)
}

// Results are what was measured.
type Results struct {
	Machine   report.Machine `json:"machine"`
	Seeds     int            `json:"seeds"`
	WorkSeeds int            `json:"workSeeds"`
	// AgentsSeconds is how often agents of the nodes read; 0 if there are none.
	AgentsSeconds float64 `json:"nodeAgentIntervalSeconds,omitempty"`
	Window        Window  `json:"surgeWindow"`
	Noises        []Noise `json:"noise"`
	Surges        []Surge `json:"surges"`
	Works         []Work  `json:"workInEachPod"`
}

// Window are the settings of the surge window, as flags.
type Window struct {
	WindowSeconds   float64 `json:"windowSeconds"`
	SteepFactor     float64 `json:"steepFactor"`
	Margin          float64 `json:"margin"`
	LeastCPUMilli   int64   `json:"leastCPUMilli"`
	ReadyForSeconds float64 `json:"readyForSeconds"`
}

// Noise is a scenario in which the load does not increase for good.
type Noise struct {
	Name string `json:"name"`
	// ActionsAlone and PodHoursAlone are the stable window's, of each seed;
	// ActionsWith and PodHoursWith those with the surge window beside it.
	ActionsAlone  report.Spread `json:"actionsAlone"`
	ActionsWith   report.Spread `json:"actionsWith"`
	PodHoursAlone report.Spread `json:"podHoursAlone"`
	PodHoursWith  report.Spread `json:"podHoursWith"`
	// Asked is in how many decisions of all seeds the surge window asked for more.
	Asked int `json:"decisionsThatAsked"`
	// MoreActions are the scale actions more with the surge window, over the seeds that had more, and FewerActions
	// those fewer, over the seeds that had fewer. An object that the surge window suspects is decided at other
	// moments, so both may happen where it never asked for more.
	MoreActions  int `json:"moreActions"`
	FewerActions int `json:"fewerActions"`
	// ExcessPodHoursPercent is over all seeds together.
	ExcessPodHoursPercent float64 `json:"excessPodHoursPercent"`
}

// ExcessActions are the scale actions more with the surge window, over all seeds together; below zero if there were
// fewer.
func (n *Noise) ExcessActions() int { return n.MoreActions - n.FewerActions }

// Surge is a load that increases for good. Seconds are from that time.
type Surge struct {
	Name       string        `json:"name"`
	FirstAlone report.Spread `json:"secondsToFirstAlone"`
	FirstWith  report.Spread `json:"secondsToFirstWith"`
	NearAlone  report.Spread `json:"secondsToNearAlone"`
	NearWith   report.Spread `json:"secondsToNearWith"`
	// MostAlone and MostWith are the largest count that was wanted, in parts of what
	// the load takes.
	MostAlone report.Spread `json:"mostOfNeedAlone"`
	MostWith  report.Spread `json:"mostOfNeedWith"`
}

// leastAgents keeps samples so far apart that each is new.
const leastAgents = 100 * time.Millisecond

// pair is one seed played both ways.
type pair struct{ alone, with outcome }

// Measure plays every scenario.
func Measure(ctx context.Context, c Config) (Results, error) {
	switch {
	case c.Seeds < 1 || c.WorkSeeds < 1:
		return Results{}, fmt.Errorf("seeds: %d, of work in each pod %d, want at least 1", c.Seeds, c.WorkSeeds)
	case c.Agents < 0 || c.Agents > 0 && c.Agents < leastAgents:
		return Results{}, fmt.Errorf("agents that read every %v, want at least %v, or 0 for none", c.Agents, leastAgents)
	}
	say := c.Say
	if say == nil {
		say = func(string, ...any) {}
	}
	results := Results{Seeds: c.Seeds, WorkSeeds: c.WorkSeeds, AgentsSeconds: c.Agents.Seconds(), Window: Window{
		WindowSeconds: c.Window.Window.Seconds(), SteepFactor: c.Window.SteepFactor, Margin: c.Window.Margin,
		LeastCPUMilli: c.Window.LeastCPUMilli, ReadyForSeconds: c.Window.ReadyFor.Seconds(),
	}}
	for i := range noises {
		say("%s: %d seeds of %s", noises[i].name, c.Seeds, noises[i].lasts)
		pairs, err := play(ctx, &noises[i], c)
		if err != nil {
			return results, err
		}
		results.Noises = append(results.Noises, noiseOfPairs(&noises[i], pairs))
	}
	for i := range surges {
		say("surge of %s: %d seeds", surges[i].name, c.Seeds)
		pairs, err := play(ctx, &surges[i], c)
		if err != nil {
			return results, err
		}
		results.Surges = append(results.Surges, surgeOfPairs(&surges[i], pairs))
	}
	for i := range works {
		say("%s: %d seeds of %s", works[i].name, c.WorkSeeds, works[i].lasts)
		work, err := measureWork(ctx, &works[i], c)
		if err != nil {
			return results, err
		}
		results.Works = append(results.Works, work)
	}
	return results, nil
}

// play plays all seeds of a scenario both ways.
func play(ctx context.Context, s *scenario, c Config) ([]pair, error) {
	return playSeeds(ctx, c.Seeds, func(seed uint64) (pair, error) { return playSeed(s, seed, c) })
}

// playSeeds plays so many seeds, on all cores.
func playSeeds[T any](ctx context.Context, n int, playSeed func(seed uint64) (T, error)) ([]T, error) {
	outcomes, errs := make([]T, n), make([]error, n)
	seeds := make(chan int)
	var running sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for i := range seeds {
				outcomes[i], errs[i] = playSeed(uint64(i) + 1)
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		seeds <- i
	}
	close(seeds)
	running.Wait()
	return outcomes, errors.Join(ctx.Err(), errors.Join(errs...))
}

func playSeed(s *scenario, seed uint64, c Config) (pair, error) {
	alone, err := newRunWithAgents(s, seed, surge.Settings{}, c.Agents)
	if err != nil {
		return pair{}, err
	}
	with, err := newRunWithAgents(s, seed, c.Window, c.Agents)
	if err != nil {
		return pair{}, err
	}
	return pair{alone: alone.play(), with: with.play()}, nil
}

func noiseOfPairs(s *scenario, pairs []pair) Noise {
	n := Noise{Name: s.name}
	var alone, with float64
	for _, p := range pairs {
		n.Asked += p.with.asked
		n.MoreActions += max(0, p.with.actions-p.alone.actions)
		n.FewerActions += max(0, p.alone.actions-p.with.actions)
		alone, with = alone+p.alone.podHours, with+p.with.podHours
	}
	n.ExcessPodHoursPercent = (with/alone - 1) * 100
	n.ActionsAlone, n.ActionsWith = both(pairs, func(o *outcome) float64 { return float64(o.actions) })
	n.PodHoursAlone, n.PodHoursWith = both(pairs, func(o *outcome) float64 { return o.podHours })
	return n
}

func surgeOfPairs(s *scenario, pairs []pair) Surge {
	r := Surge{Name: s.name}
	r.FirstAlone, r.FirstWith = both(pairs, func(o *outcome) float64 { return o.firstUp })
	r.NearAlone, r.NearWith = both(pairs, func(o *outcome) float64 { return o.nearUp })
	r.MostAlone, r.MostWith = both(pairs, func(o *outcome) float64 { return float64(o.most) / (podsAtFirst * s.surge) })
	return r
}

// both is one number of all seeds, without and with the surge window.
func both(pairs []pair, of func(*outcome) float64) (alone, with report.Spread) {
	var a, b []float64
	for i := range pairs {
		a, b = append(a, of(&pairs[i].alone)), append(b, of(&pairs[i].with))
	}
	return report.Of(a...), report.Of(b...)
}
