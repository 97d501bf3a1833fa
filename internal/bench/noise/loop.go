package noise

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// scrape reads the counters of a node's pods. The moments are the same in both runs
// of a seed, but for early ones.
func (w *world) scrape(i int) {
	n := &w.nodes[i]
	for _, p := range w.pods {
		if p.node == i && p.model != nil {
			p.meter.read(w.now, p.model.Stats().CPUSeconds)
		}
	}
	// Whoever was early takes its own place in the period again.
	n.last = w.now
	for w.regular(i)-w.now < scrapePeriod/2 {
		n.round++
	}
	n.next = w.regular(i)
	if w.decideAt == 0 {
		w.decideAt = w.now + decideAfter
	}
}

// regular is when a node's next scrape is due that is not early, a little late each
// time.
func (w *world) regular(i int) time.Duration {
	n := &w.nodes[i]
	at := n.phase + time.Duration(n.round)*scrapePeriod
	if w.scenario.aligned() {
		return at
	}
	late := rand.NewPCG(w.seed, uint64(i)<<32|uint64(n.round)).Uint64() % uint64(scrapeJitter)
	return at + time.Duration(late)
}

// decide is one turn of the loop: observe, decide, act.
func (w *world) decide() {
	w.decideAt = 0
	if w.now < warmUp {
		return
	}
	w.observe()
	at := noon.Add(w.now)
	var d horizontal.Decision
	d, w.state = horizontal.Decide(at, &w.policy, w.state, &w.observation)
	if d.Surge.Asks() {
		w.seen.asked++
	}
	w.lookAgain(&d)
	w.note(&d)
	if d.Rescale {
		w.seen.actions++
		w.resize(d.Desired)
		w.state = horizontal.Settle(w.state, horizontal.Outcome{At: at})
	}
}

func (w *world) observe() {
	o := &w.observation
	if len(o.Readings) == 0 {
		o.Readings = make([]metric.Reading, 1)
	}
	r := &o.Readings[0]
	o.Pods, r.Samples, r.Recent, r.Requests = o.Pods[:0], r.Samples[:0], r.Recent[:0], r.Requests[:0]
	for _, p := range w.pods {
		seen := metric.Pod{Name: p.name, Phase: metric.PhasePending, Ready: metric.ReadyFalse, ReadyTransition: noon.Add(p.created)}
		if p.model != nil {
			seen.Phase, seen.StartTime = metric.PhaseRunning, noon.Add(p.created)
		}
		if p.ready {
			seen.Ready, seen.ReadyTransition = metric.ReadyTrue, noon.Add(p.created+toBeReady)
		}
		o.Pods = append(o.Pods, seen)
		r.Samples = append(r.Samples, p.meter.average())
		r.Recent = append(r.Recent, p.meter.recent())
		r.Requests = append(r.Requests, metric.Request{Milli: requestMilli})
	}
	o.Target.SpecReplicas, o.Target.StatusReplicas = int32(len(w.pods)), int32(len(w.pods))
}

// lookAgain scrapes early the nodes of pods that are suspicious.
func (w *world) lookAgain(d *horizontal.Decision) {
	w.suspects = d.Suspects(&w.observation, w.suspects[:0])
	for _, place := range w.suspects {
		n := &w.nodes[w.pods[place].node]
		n.next = min(n.next, max(w.now, n.last+urgentGap))
	}
}

// note keeps when more was wanted.
func (w *world) note(d *horizontal.Decision) {
	w.seen.most = max(w.seen.most, d.Desired)
	if w.scenario.surge == 0 || w.now < w.surgeAt {
		return
	}
	since := (w.now - w.surgeAt).Seconds()
	if math.IsNaN(w.seen.firstUp) && d.Desired > podsAtFirst {
		w.seen.firstUp = since
	}
	if math.IsNaN(w.seen.nearUp) && float64(d.Desired) >= nearly*podsAtFirst*w.scenario.surge {
		w.seen.nearUp = since
	}
}

// nearly is the part of what a surge takes that counts as reached.
const nearly = 0.9

// resize makes the pods as many as are wanted; the newest go first.
func (w *world) resize(replicas int32) {
	for len(w.pods) < int(replicas) {
		w.add(w.now)
	}
	for len(w.pods) > int(replicas) {
		last := w.pods[len(w.pods)-1]
		if last.model != nil {
			w.model.RemovePod(last.model)
		}
		w.pods = w.pods[:len(w.pods)-1]
	}
}
