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
	// firstSample is from the start of a container until cAdvisor samples it for the first time: it has to notice it.
	firstSample = 100 * time.Millisecond
	// longestInterval is how far the interval of a container that does nothing doubles (k8s.io/kubernetes v1.37.1,
	// pkg/kubelet/cadvisor/cadvisor_linux.go, maxHousekeepingInterval).
	longestInterval = 15 * time.Second
	// known is how many samples of a container a kubelet must have to answer with them.
	known = 2
)

// class is the activity of a container between two samples.
type class int

const (
	// busy containers serve, or probes call them: something in their statistics changes.
	busy class = iota
	// idle ones do nothing, and none of their statistics changes.
	idle
)

// housekeeping is what the kubelets' cAdvisors do. They sample every container by itself: soon after it starts, and
// then between one and two intervals after the sample before (github.com/google/cadvisor/lib v0.60.5,
// manager/container.go, nextHousekeepingInterval: the timer is reset to jitter(interval, 1.0)).
// internal/dev/test/node measures it.
type housekeeping struct {
	// interval is --housekeeping-interval; with 0 there is none.
	interval time.Duration
	seed     uint64
	// next is when a container is sampled next.
	next time.Duration
}

// sampling has the samples that a cAdvisor keeps of a container.
type sampling struct {
	class  class
	random *rand.Rand
	// interval is the container's own.
	interval time.Duration
	next     time.Duration
	// taken is the number of samples, newest the last one that could be read when it was taken.
	taken  int
	newest meter.Reading
	isAny  bool
}

// begin has the containers of a pod that has begun to run sampled, also of one that has run for long.
func (h *housekeeping) begin(p *Pod, sidecars []Sidecar, now time.Duration) {
	if h.interval <= 0 {
		return
	}
	for k := range p.Containers {
		class := busy
		if k > 0 && sidecars[k-1].CPUMilli <= 0 {
			class = idle
		}
		s := h.container(class, uint64(p.Number)<<32+uint64(k), p.Running)
		for s.next < now {
			h.taken(s)
		}
		h.next = min(h.next, s.next)
		p.Containers[k].sampling = s
	}
}

// container is a container that has started. Its number is for its random moments.
func (h *housekeeping) container(class class, number uint64, started time.Duration) *sampling {
	return &sampling{
		class: class, random: rand.New(rand.NewPCG(h.seed, number+0x63416476)), interval: h.interval,
		next: started + firstSample,
	}
}

// taken notes that the sample was taken that was due. The interval of a container whose statistics do not change
// doubles until it is the longest one, and is the kubelet's again after that: cAdvisor takes it back where it cannot
// double it.
func (h *housekeeping) taken(s *sampling) {
	s.taken++
	if s.class == idle && s.taken >= known && s.interval < longestInterval {
		s.interval = min(2*s.interval, longestInterval)
	} else {
		s.interval = h.interval
	}
	s.next += s.interval + time.Duration(s.random.Int64N(int64(s.interval)))
}

func (h *housekeeping) sample(pods []*Pod, now time.Duration) {
	if h.next > now {
		return
	}
	h.next = never
	for _, p := range pods {
		for k := range p.Containers {
			c := &p.Containers[k]
			s := c.sampling
			if s.next <= now {
				s.newest, s.isAny = c.read(now), true
				h.taken(s)
			}
			h.next = min(h.next, s.next)
		}
	}
}
