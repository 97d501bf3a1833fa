package podusage

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// housekept is a kubelet whose cAdvisor samples each container at its own times, one to two intervals after the sample
// before.
type housekept struct {
	store      *rate.Store
	random     *rand.Rand
	containers []kubelettest.Container
	milli      []float64
	next       []time.Time

	// mu guards intervals. A container without an interval is no longer sampled.
	mu        sync.Mutex
	intervals []time.Duration
}

// newHousekept has run for long. Its pod has a busy container and an idle one.
func newHousekept(store *rate.Store, seed uint64) *housekept {
	start := time.Now().Add(-time.Hour)
	h := &housekept{
		store: store, random: rand.New(rand.NewPCG(seed, 1)), next: []time.Time{start, start},
		containers: []kubelettest.Container{
			{Name: "app", Start: start, MemoryBytes: 3 << 20}, {Name: "proxy", Start: start, MemoryBytes: 1 << 20},
		},
		milli: []float64{100, 0.01}, intervals: []time.Duration{10 * time.Second, 15 * time.Second},
	}
	return h
}

// Scrape implements Scraper.
func (h *housekept) Scrape(_ context.Context, target kubelet.Target, _ *selection.Prepared) (rate.Round, error) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.containers {
		c := &h.containers[i]
		for ; h.intervals[i] > 0 && !h.next[i].After(now); h.next[i] = h.next[i].Add(
			h.intervals[i] + time.Duration(h.random.Int64N(int64(h.intervals[i])+1))) {
			c.At = h.next[i]
			c.CPUNanos = int64(1e9 + h.milli[i]*1e6*c.At.Sub(c.Start).Seconds())
		}
	}
	node := kubelettest.Node{Pods: []kubelettest.Pod{{Namespace: "shop", Name: "web-0", Containers: h.containers}}}
	return h.store.Ingest(target.Node, now, node.Text(now))
}

// stop ends the samples of containers.
func (h *housekept) stop(containers []int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, i := range containers {
		h.intervals[i] = 0
	}
}

// TestIdleSidecar: an idle container is sampled every 15 to 30 s. Its pod has samples all the time, and never counts as
// missing before the second one.
func TestIdleSidecar(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.node("a", 0)
			s := w.start(func(c *Config) {
				c.Scraper = func(store *rate.Store) (Scraper, error) { return newHousekept(store, seed), nil }
			})
			w.want("a")
			var v View
			pods := observe.PodsOf([]*corev1.Pod{pod("web-0", "a")})
			for second := range 600 {
				pass(time.Second)
				err := s.look(time.Now(), pods, &v)
				if second < 32 && errors.Is(err, ErrStarting) {
					continue
				}
				if got := v.Sample(0, cpuOfPod, arithmetic.Saturate); err != nil || got.Milli < 100 || got.Milli > 102 {
					t.Fatalf("seed %d, after %d s: %+v, %v", seed, second, got, err)
				}
			}
		})
	}
}

// TestSamplesStop: a container without a new sample for longer than the interval of idle ones is missing, and so is its
// pod. A kubelet without any new sample is detected sooner.
func TestSamplesStop(t *testing.T) {
	for name, tt := range map[string]struct {
		stopped []int
		// isKnown is the time until which the pod must have samples, isMissing the time from which it must have none.
		isKnown, isMissing time.Duration
		want               error
	}{
		"of one container": {[]int{1}, 30 * time.Second, 34 * time.Second, nil},
		"of the node":      {[]int{0, 1}, 18 * time.Second, 22 * time.Second, errTooOld},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.node("a", 0)
				var h *housekept
				s := w.start(func(c *Config) {
					c.Scraper = func(store *rate.Store) (Scraper, error) {
						h = newHousekept(store, 1)
						h.intervals[0], h.intervals[1] = time.Second, time.Second
						return h, nil
					}
				})
				w.want("a")
				pass(time.Minute)
				h.stop(tt.stopped)
				var v View
				pods := observe.PodsOf([]*corev1.Pod{pod("web-0", "a")})
				look := func() (bool, error) {
					err := s.look(time.Now(), pods, &v)
					return err == nil && v.Sample(0, cpuOfPod, arithmetic.Saturate).Present, err
				}
				pass(tt.isKnown)
				if isKnown, err := look(); !isKnown {
					t.Errorf("after %v: missing, %v", tt.isKnown, err)
				}
				pass(tt.isMissing - tt.isKnown)
				if isKnown, err := look(); isKnown || !errors.Is(err, tt.want) {
					t.Errorf("after %v: known: %v, %v", tt.isMissing, isKnown, err)
				}
			})
		})
	}
}
