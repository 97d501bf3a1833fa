package world

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/simulate/meter"
)

const (
	// never is after the end of every simulation.
	never = time.Duration(math.MaxInt64)
	// firstSample is from the start of a container until it is sampled for the first time: cAdvisor has
	// to notice it. metrics-server uses only samples that are later than the start.
	firstSample = 100 * time.Millisecond
)

// housekeeping is what the kubelets' cAdvisors do. They sample every container by itself: soon after
// it starts, and then between one and two intervals after the sample before (cadvisor v0.60.5,
// manager/container.go: the timer is reset to jitter(interval, 1.0)).
//
// Containers whose statistics do not change at all are sampled less often. That is not modelled: a
// container that serves, or that probes call, is none of them.
type housekeeping struct {
	// interval is --housekeeping-interval; with 0 there is none.
	interval time.Duration
	seed     uint64
	// next is when a pod is sampled next.
	next time.Duration
}

// sampling is what a cAdvisor has of a pod.
type sampling struct {
	random *rand.Rand
	next   time.Duration
	newest meter.Reading
	isAny  bool
}

// begin has a pod that has begun to run sampled, one that has run for long included.
func (h *housekeeping) begin(p *Pod, now time.Duration) {
	if h.interval <= 0 {
		return
	}
	random := rand.New(rand.NewPCG(h.seed, uint64(p.Number)<<32|0x63416476))
	p.sampling = &sampling{random: random, next: p.Running + firstSample}
	for p.sampling.next < now {
		p.sampling.next += h.gap(random)
	}
	h.next = min(h.next, p.sampling.next)
}

// gap is from one sample of a pod to the next.
func (h *housekeeping) gap(random *rand.Rand) time.Duration {
	return h.interval + time.Duration(random.Int64N(int64(h.interval)))
}

// sample takes the samples that are due.
func (h *housekeeping) sample(pods []*Pod, now time.Duration) {
	if h.next > now {
		return
	}
	h.next = never
	for _, p := range pods {
		s := p.sampling
		if s == nil {
			continue
		}
		if s.next <= now {
			s.newest, s.isAny = p.Current(now)
			s.next += h.gap(s.random)
		}
		h.next = min(h.next, s.next)
	}
}

// Current is what the pod used and served until now; false before it runs.
func (p *Pod) Current(now time.Duration) (meter.Reading, bool) {
	s, runs := p.Stats()
	return meter.Reading{
		At: now, CPUSeconds: s.CPUSeconds, MemoryBytes: s.MemoryBytes, ServedTotal: s.ServedTotal,
		InPod: s.ServedPerSecond * s.LatencySeconds, // Little's law
	}, runs
}

// Scraped is what the kubelet answers now of the pod: its newest sample, with the time at which that
// was taken.
func (p *Pod) Scraped(now time.Duration) (meter.Reading, bool) {
	if p.sampling == nil {
		return p.Current(now)
	}
	return p.sampling.newest, p.sampling.isAny
}
