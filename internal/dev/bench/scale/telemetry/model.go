// Package telemetry replaces the kubelets and the metrics-server of a population. It computes what every pod has
// used at every moment, answers like they do, and records when the metrics of each HPA were requested and how old
// the newest sample in the answer was. It costs so little that autoscalers can be measured on the same machine.
package telemetry

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
)

// metrics-server's defaults: its manifests' resolution, and the spread of its scrapes over the beginning of each round
// (8 ms for each node, at most 4 s).
const (
	DefaultResolution = 15 * time.Second
	delayPerNode      = 8 * time.Millisecond
	maxDelay          = 4 * time.Second
)

// DefaultNoise is the amplitude of pods' CPU around their use at rest. It stays within every autoscaler's tolerance of
// 0.1, so that nothing is scaled, and changes the numbers in status.
const DefaultNoise = 0.05

// MemoryBytes is the memory of each pod.
const MemoryBytes = 96 << 20

// Config configures a Server.
type Config struct {
	Size population.Size
	// Began is the start time of the containers.
	Began time.Time
	// Resolution is the period of metrics-server's scrapes; 0 means DefaultResolution.
	Resolution time.Duration
	// Noise is the amplitude of each pod's CPU around its mean, as a share of it; 0 means DefaultNoise.
	Noise float64
}

func (c Config) completed() (Config, error) {
	var err error
	if c.Size, err = c.Size.Completed(); err != nil {
		return c, fmt.Errorf("telemetry: %w", err)
	}
	if c.Resolution == 0 {
		c.Resolution = DefaultResolution
	}
	if c.Noise == 0 {
		c.Noise = DefaultNoise
	}
	if c.Began.IsZero() {
		return c, errors.New("telemetry: the containers have not begun")
	}
	if c.Resolution < 0 || c.Noise < 0 || c.Noise >= 1 {
		return c, fmt.Errorf("telemetry: resolution %s and noise %v must be positive, noise less than 1",
			c.Resolution, c.Noise)
	}
	return c, nil
}

// model is the pods' usage. It is a function of time alone and keeps no state.
type model struct {
	Config
	nodes  int
	spread time.Duration
}

func newModel(config Config) model {
	m := model{Config: config, nodes: config.Size.Nodes()}
	m.spread = min(time.Duration(m.nodes)*delayPerNode, maxDelay)
	return m
}

// usedSeconds is the CPU that a pod has used until t, counted from its start. Its rate is
//
//	rest × (1 + noise × cos(ωτ + φ)),  τ = t - began
//
// with a period between 20 and 80 s and a phase of its own; so it is the integral of that,
//
//	rest × (τ + noise/ω × (sin(ωτ + φ) - sin φ)).
//
// A rate over any window is then the difference of two such sums, as it is with real counters.
func (m *model) usedSeconds(place population.Place, t time.Time) float64 {
	const rest = population.RequestCPUMilli * population.TargetUtilizationPercent / 100 / 1000.0
	hash := mix(uint64(place.Object)<<32 | uint64(place.Pod))
	phase := 2 * math.Pi * fraction(hash)
	omega := 2 * math.Pi / (20 + 60*fraction(mix(hash)))
	tau := t.Sub(m.Began).Seconds()
	return rest * (tau + m.Noise/omega*(math.Sin(omega*tau+phase)-math.Sin(phase)))
}

// round is the last round of scrapes that is complete at t: metrics-server shows a round when all of its nodes have
// answered.
func (m *model) round(t time.Time) int64 {
	return int64(math.Floor(float64(t.Sub(m.Began)-m.spread) / float64(m.Resolution)))
}

// sampledAt returns the time of a node's scrape in a round.
func (m *model) sampledAt(node int, round int64) time.Time {
	offset := time.Duration(fraction(mix(uint64(node)<<40^uint64(round))) * float64(m.spread))
	return m.Began.Add(time.Duration(round)*m.Resolution + offset)
}

// usage is a pod's CPU in nanocores between two scrapes.
func (m *model) usage(place population.Place, round int64) (nanoCores int64, at time.Time, window time.Duration) {
	node := m.Size.NodeOf(place.Object, place.Pod)
	at = m.sampledAt(node, round)
	before := m.sampledAt(node, round-1)
	window = at.Sub(before)
	used := m.usedSeconds(place, at) - m.usedSeconds(place, before)
	return int64(math.Round(used / window.Seconds() * 1e9)), at, window
}

// mix is the finalizer of splitmix64: neighbouring numbers come out unrelated.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// fraction is in [0, 1).
func fraction(hash uint64) float64 { return float64(hash>>11) / (1 << 53) }
