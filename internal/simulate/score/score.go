package score

import (
	"math"
	"slices"
	"time"
)

// Config says what is compared with what.
type Config struct {
	// PodCapacity is the load, in its own units, that one pod serves at 100 % of its CPU
	// request; Target the part of that which it shall serve; Tolerance how far above the
	// target still counts as recovered.
	PodCapacity, Target, Tolerance float64
	// MinReplicas is the least that is ever needed.
	MinReplicas int32
	// Slow is when a request is.
	Slow time.Duration
	// RequestCores is a pod's CPU request, CoreHourPrice what one core costs an hour.
	// NodeCores is set where nodes are paid for instead.
	RequestCores, CoreHourPrice, NodeCores float64
}

// Score is the result. Shares and SPEC's measures are in percent.
type Score struct {
	Hours     float64 `json:"hours"`
	PodHours  float64 `json:"podHours"`
	NodeHours float64 `json:"nodeHours"`
	Cost      float64 `json:"cost"`

	ShortPercent        float64 `json:"shortPercent"`
	ShortDepthPercent   float64 `json:"shortDepthPercent"`
	LongestShortSeconds float64 `json:"longestShortSeconds"`
	// AboveTargetPercent is the part of the time in which the load was above the target by more than the tolerance, and
	// AboveAtMaxPercent the part in which it was although all pods of maxReplicas were ready.
	AboveTargetPercent float64 `json:"aboveTargetPercent"`
	AboveAtMaxPercent  float64 `json:"aboveAtMaxPercent"`
	// WorstMinutePercent is how much of the load was missing in the minute in which most was, and WorstMinuteSeconds when
	// that began.
	WorstMinutePercent float64 `json:"worstMinutePercent"`
	WorstMinuteSeconds float64 `json:"worstMinuteSeconds"`

	ThetaU      float64 `json:"thetaU"`
	ThetaO      float64 `json:"thetaO"`
	TauU        float64 `json:"tauU"`
	TauO        float64 `json:"tauO"`
	Instability float64 `json:"instability"`

	Requests    float64 `json:"requests"`
	LostPercent float64 `json:"lostPercent"`
	SlowPercent float64 `json:"slowPercent"`
	P50Seconds  float64 `json:"p50Seconds"`
	P99Seconds  float64 `json:"p99Seconds"`

	Actions  int `json:"actions"`
	Ups      int `json:"ups"`
	Downs    int `json:"downs"`
	Reverses int `json:"reverses"`

	Surges                int       `json:"surges"`
	RecoverySeconds       []float64 `json:"recoverySeconds"`
	MedianRecoverySeconds float64   `json:"medianRecoverySeconds"`
	WorstRecoverySeconds  float64   `json:"worstRecoverySeconds"`
	Unrecovered           int       `json:"unrecovered"`
}

// Second is what was the case in one second.
type Second struct {
	// Load is the load in its own units, without noise.
	Load float64
	// Ready pods serve, Paid ones have a place on a node. Nodes is 0 where they do not
	// matter.
	Ready, Paid, Nodes int
	// Most is maxReplicas, 0 where it is not known.
	Most int
	// Offered and Dropped are requests.
	Offered, Dropped float64
}

// Accumulator is fed one second at a time.
type Accumulator struct {
	config Config
	score  Score

	seconds                int
	offered, dropped       float64
	short, depth, shortNow float64
	above, aboveAtMax      float64
	minuteLack, minuteLoad float64
	over, under            float64
	overTime, underTime    float64
	unstable               float64
	needBefore, hadBefore  float64
	served, slow           float64
	latency                histogram
	surges                 surges
	lastChange             int32
}

// New begins a score.
func New(c Config) *Accumulator {
	a := &Accumulator{config: c}
	a.latency.init()
	return a
}

// Need is how many pods the target asks for under a load: SPEC's demand.
func (c *Config) Need(load float64) float64 {
	return max(1, float64(c.MinReplicas), math.Ceil(load/(c.PodCapacity*c.Target)-1e-9))
}

// IsAbove reports whether a load is above the target of so many pods by more than the tolerance.
func (c *Config) IsAbove(load float64, pods int) bool {
	return load > float64(pods)*c.PodCapacity*c.Target*(1+c.Tolerance)
}

// Add adds a second.
func (a *Accumulator) Add(s *Second) {
	const hour = 1.0 / 3600
	a.score.PodHours += hour * float64(s.Paid)
	a.score.NodeHours += hour * float64(s.Nodes)
	a.offered += s.Offered
	a.dropped += s.Dropped
	a.addShort(s)
	a.addElasticity(a.config.Need(s.Load), float64(s.Ready))
	isAbove := a.config.IsAbove(s.Load, s.Ready)
	if isAbove {
		a.above++
		if s.Most > 0 && s.Ready >= s.Most {
			a.aboveAtMax++
		}
	}
	a.surges.add(a.seconds, a.config.Need(s.Load), !isAbove)
	a.seconds++
	if a.seconds%minute == 0 {
		a.score.endMinute(a)
		a.minuteLack, a.minuteLoad = 0, 0
	}
}

// minute is in seconds.
const minute = 60

// endMinute keeps the minute that ends, or what there is of the last one, if it is the worst.
func (s *Score) endMinute(a *Accumulator) {
	if missing := 100 * a.minuteLack / a.minuteLoad; a.minuteLack > 0 && missing > s.WorstMinutePercent {
		s.WorstMinutePercent, s.WorstMinuteSeconds = missing, float64((a.seconds-1)/minute*minute)
	}
}

// addShort is about real lack: more load than ready pods serve with all that they
// requested.
func (a *Accumulator) addShort(s *Second) {
	lack := s.Load - float64(s.Ready)*a.config.PodCapacity
	a.minuteLoad += s.Load
	if lack <= 1e-9*s.Load {
		a.shortNow = 0
		return
	}
	a.short++
	a.shortNow++
	a.depth += lack / s.Load
	a.minuteLack += lack
	a.score.LongestShortSeconds = max(a.score.LongestShortSeconds, a.shortNow)
}

// addElasticity is SPEC's: how far, for how long, and in which direction supply was
// beside demand.
func (a *Accumulator) addElasticity(need, have float64) {
	switch {
	case have < need:
		a.under += (need - have) / need
		a.underTime++
	case have > need:
		a.over += (have - need) / need
		a.overTime++
	}
	if a.seconds > 0 && sign(have-a.hadBefore) != sign(need-a.needBefore) {
		a.unstable++
	}
	a.needBefore, a.hadBefore = need, have
}

func sign(v float64) int {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// AddLatency adds requests that were served in a second, and how long each took.
func (a *Accumulator) AddLatency(requests, seconds float64) {
	if requests <= 0 {
		return
	}
	a.served += requests
	if seconds > a.config.Slow.Seconds() {
		a.slow += requests
	}
	a.latency.add(requests, seconds)
}

// AddAction adds a change of the wanted count.
func (a *Accumulator) AddAction(change int32) {
	s := &a.score
	s.Actions++
	if change > 0 {
		s.Ups++
	} else {
		s.Downs++
	}
	if a.lastChange != 0 && (a.lastChange > 0) != (change > 0) {
		s.Reverses++
	}
	a.lastChange = change
}

// Score is the result.
func (a *Accumulator) Score() Score {
	s, n := a.score, float64(max(1, a.seconds))
	s.endMinute(a)
	s.Hours = float64(a.seconds) / 3600
	s.Cost = s.PodHours * a.config.RequestCores * a.config.CoreHourPrice
	if a.config.NodeCores > 0 {
		s.Cost = s.NodeHours * a.config.NodeCores * a.config.CoreHourPrice
	}
	s.ShortPercent = 100 * a.short / n
	s.AboveTargetPercent, s.AboveAtMaxPercent = 100*a.above/n, 100*a.aboveAtMax/n
	if a.short > 0 {
		s.ShortDepthPercent = 100 * a.depth / a.short
	}
	s.ThetaU, s.ThetaO, s.TauU, s.TauO = 100*a.under/n, 100*a.over/n, 100*a.underTime/n, 100*a.overTime/n
	s.Instability = 100 * a.unstable / max(1, n-1)
	s.Requests = a.offered
	if a.offered > 0 {
		s.LostPercent = 100 * a.dropped / a.offered
	}
	if a.served > 0 {
		s.SlowPercent = 100 * a.slow / a.served
		s.P50Seconds, s.P99Seconds = a.latency.quantile(0.5), a.latency.quantile(0.99)
	}
	s.Surges, s.Unrecovered, s.RecoverySeconds = a.surges.count, len(a.surges.open), slices.Clone(a.surges.recovered)
	if len(s.RecoverySeconds) > 0 {
		sorted := slices.Sorted(slices.Values(s.RecoverySeconds))
		s.MedianRecoverySeconds = Median(sorted)
		s.WorstRecoverySeconds = sorted[len(sorted)-1]
	}
	return s
}

// Median is the middle of sorted numbers, 0 if there are none.
func Median(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return 0
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
