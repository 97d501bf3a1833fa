package recurring

import (
	"math"
	"time"

	forecastplayback "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/playback"
)

// The autoscaler that is played back. Its window and its tolerance are the defaults of an HPA; it has the load of some
// seconds ago, as scrapes and averages are that old.
const (
	step           = 10 * time.Second
	stepsPerMinute = int(time.Minute / step)
	askedAfter     = 2
	stabilization  = int(5 * time.Minute / step)
	tolerance      = 0.1
	minutesPerStep = 1 / float64(stepsPerMinute)
)

// playback is the history with an autoscaler that follows the load.
type playback struct {
	history     *History
	maxReplicas int32
	utilization float64
	// startUp is in steps.
	startUp int
	// counts is how many pods are asked for in each step, lacking how many lack.
	counts  []int32
	lacking []float32
}

func newPlayback(h *History, c *Config) *playback {
	p := &playback{
		history: h, maxReplicas: c.MaxReplicas, utilization: c.Utilization, startUp: int((c.StartUp + step - 1) / step),
		counts:  make([]int32, len(h.Pods)*stepsPerMinute),
		lacking: make([]float32, len(h.Pods)*stepsPerMinute),
	}
	p.follow(c)
	p.compare()
	return p
}

func (p *playback) follow(c *Config) {
	in := forecastplayback.Minute{Tolerance: tolerance, MinReplicas: max(1, c.MinReplicas), MaxReplicas: c.MaxReplicas}
	count := in.MinReplicas
	for _, pods := range p.history.Pods {
		if !math.IsNaN(pods) {
			count = in.Wanted(pods, count)
			break
		}
	}
	// Of the counts that were wanted within the window the highest holds.
	highest := newExtreme(stabilization, func(a, b int32) bool { return a >= b })
	floor := int32(0)
	for i := range p.counts {
		if c.Floor != nil && i%stepsPerMinute == 0 {
			floor = min(c.MaxReplicas, c.Floor(p.history.Start.Add(time.Duration(i)*step)))
		}
		want := count
		if pods := p.load(i - askedAfter); !math.IsNaN(pods) {
			want = in.Wanted(pods, count)
		}
		count = max(want, min(count, highest.add(i, want)))
		p.counts[i] = max(count, floor)
	}
}

// load is that of a step; NaN outside of the history.
func (p *playback) load(i int) float64 {
	if i < 0 || i >= len(p.counts) {
		return math.NaN()
	}
	return p.history.Pods[i/stepsPerMinute]
}

// lack is how many pods are missing beside so many that are ready. No schedule helps against what is above maxReplicas.
func (p *playback) lack(i int, ready int32) float64 {
	pods := p.load(i)
	if math.IsNaN(pods) {
		return 0
	}
	return max(0, min(pods*p.utilization, float64(p.maxReplicas))-float64(ready))
}

func (p *playback) compare() {
	ready := p.ready()
	for i, count := range p.counts {
		p.lacking[i] = float32(p.lack(i, ready.add(i, count)))
	}
}

// ready has the pods that are ready: the fewest that were asked for since the start-up time.
func (p *playback) ready() *extreme {
	return newExtreme(p.startUp, func(a, b int32) bool { return a <= b })
}

// span is one time of a schedule: the steps from start until before end.
type span struct{ start, end int }

func (p *playback) gain(s span, replicas int32) Gain {
	var g Gain
	ready := p.ready()
	for i := max(0, s.start-p.startUp); i < min(s.end+p.startUp+1, len(p.counts)); i++ {
		count := p.counts[i]
		if i >= s.start && i < s.end && count < replicas {
			g.Added += float64(replicas-count) * minutesPerStep
			count = replicas
		}
		fewest := ready.add(i, count)
		if i < s.start {
			continue
		}
		without := float64(p.lacking[i])
		if without > 0 {
			g.Avoided += max(0, without-p.lack(i, fewest)) * minutesPerStep
		}
	}
	return g
}

// isKnown reports whether a time lies within the history, and the load of most of it is known.
func (p *playback) isKnown(s span) bool {
	if s.start < 0 || s.end > len(p.counts) || s.end <= s.start {
		return false
	}
	known := 0
	for i := s.start; i < s.end; i++ {
		if !math.IsNaN(p.load(i)) {
			known++
		}
	}
	return 2*known > s.end-s.start
}

// raise asks for at least so many pods at a time.
func (p *playback) raise(s span, replicas int32) {
	for i := max(0, s.start); i < min(s.end, len(p.counts)); i++ {
		p.counts[i] = max(p.counts[i], replicas)
	}
}

// extreme is the lowest or highest of the counts of the last steps. Counts that a later one makes irrelevant are
// dropped, so that the first that is left is the answer.
type extreme struct {
	// window is how many steps back counts.
	window int
	// hides reports whether a later count makes an earlier one irrelevant.
	hides  func(later, earlier int32) bool
	steps  []int
	counts []int32
}

func newExtreme(window int, hides func(later, earlier int32) bool) *extreme {
	return &extreme{window: window, hides: hides}
}

// add adds the count of a step, and answers for the window until it.
func (e *extreme) add(i int, count int32) int32 {
	n := len(e.counts)
	for n > 0 && e.hides(count, e.counts[n-1]) {
		n--
	}
	e.steps, e.counts = append(e.steps[:n], i), append(e.counts[:n], count)
	for e.steps[0] < i-e.window {
		e.steps, e.counts = e.steps[1:], e.counts[1:]
	}
	return e.counts[0]
}
