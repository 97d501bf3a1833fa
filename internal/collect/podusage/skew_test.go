package podusage

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// slowKubelet renews the sample of each container after 10 to 20 s, as kubelets at their defaults do, and that of a
// container that is younger than freshFor at each scrape.
type slowKubelet struct {
	store  *rate.Store
	random *rand.Rand
	pods   []*slowPod
	// use is the use of a pod at a time, in thousandths of a core.
	use func(pod int, at time.Time) float64
}

type slowPod struct {
	started time.Time
	// burnt is exact, up to at; sample is the counter in the response.
	burnt float64
	at    time.Time

	sample  kubelettest.Container
	renewal time.Time
}

const freshFor = 18 * time.Second

func (k *slowKubelet) Scrape(_ context.Context, target kubelet.Target, _ *selection.Prepared) (rate.Round, error) {
	now := time.Now()
	node := kubelettest.Node{}
	for i, p := range k.pods {
		if now.Before(p.started) {
			continue
		}
		for ; p.at.Before(now); p.at = p.at.Add(100 * time.Millisecond) {
			p.burnt += k.use(i, p.at) * 1e5
		}
		isFresh := now.Sub(p.started) < freshFor
		if isFresh || !now.Before(p.renewal) {
			p.sample = kubelettest.Container{
				Name: "app", Start: p.started, CPUNanos: int64(p.burnt) + 1, MemoryBytes: 1 << 20, At: now,
			}
		}
		if !isFresh && !now.Before(p.renewal) {
			p.renewal = now.Add(10*time.Second + time.Duration(k.random.Float64()*float64(10*time.Second)))
		}
		node.Pods = append(node.Pods, kubelettest.Pod{
			Namespace: "shop", Name: fmt.Sprint("web-", i), Containers: []kubelettest.Container{p.sample},
		})
	}
	return k.store.Ingest(target.Node, now, node.Text(now))
}

// life has the times, after the beginning, at which a pod starts, is ready, and is deleted. A pod that is never deleted
// has no end.
type life struct{ start, ready, gone time.Duration }

// at returns the pod in its state at that time; nil if it does not exist.
func (l *life) at(at time.Duration, p *corev1.Pod) *corev1.Pod {
	if at < l.start || l.gone > 0 && at >= l.gone {
		return nil
	}
	if at >= l.ready {
		return p
	}
	p = p.DeepCopy()
	p.Status.Conditions[0].Status, p.Status.Conditions[0].LastTransitionTime = corev1.ConditionFalse, *p.Status.StartTime
	return p
}

// look reads the usage of the pods each second from one time after the start to another, and calls see with it.
func (k *slowKubelet) look(t *testing.T, lives []life, from, to time.Duration, see func(time.Duration, []*observe.Pod, *View)) {
	t.Helper()
	w := newWorld(t)
	w.node("a", 0)
	began := time.Now()
	var pods []*corev1.Pod
	for i, l := range lives {
		p := pod(fmt.Sprint("web-", i), "a")
		started := metav1.NewTime(began.Add(l.start))
		p.Status.StartTime, p.Status.Conditions[0].LastTransitionTime = &started, metav1.NewTime(began.Add(l.ready))
		k.pods = append(k.pods, &slowPod{started: started.Time, at: started.Time})
		pods = append(pods, p)
	}
	s := w.start(func(c *Config) {
		c.Scraper = func(store *rate.Store) (Scraper, error) {
			k.store = store
			return k, nil
		}
	})
	w.want("a")
	pass(from)
	for at := from; at < to; at += time.Second {
		var there []*corev1.Pod
		for i := range lives {
			if p := lives[i].at(at, pods[i]); p != nil {
				there = append(there, p)
			}
		}
		var v View
		observed := observe.PodsOf(there)
		if err := s.look(time.Now(), observed, &v); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		see(at, observed, &v)
		pass(time.Second)
	}
}

// TestMovedLoadCountsOnce: a load that moves to another pod every half a minute is at times in the newest samples of
// two pods. It counts once.
func TestMovedLoadCountsOnce(t *testing.T) {
	for _, on := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			k := &slowKubelet{random: rand.New(rand.NewPCG(1, 2)), use: func(pod int, at time.Time) float64 {
				if int(at.Sub(began)/(30*time.Second))%3 == pod {
					return 300
				}
				return 10
			}}
			most := int32(0)
			all := &target{
				lives: livesOf(-time.Hour, -time.Hour, -time.Hour), targetMilli: 107, replicas: 3, from: 2 * time.Minute,
				to: 20 * time.Minute, isOff: !on,
			}
			k.proposals(t, all, func(_ time.Duration, r *metric.Result) { most = max(most, r.Replicas) })
			if on && most > 4 || !on && most <= 4 {
				t.Errorf("load-once %t: the pods use 320m together, what three are for; %d replicas are asked for", on, most)
			}
		})
	}
}

// TestNewPodTakesLoadOver: a new pod has a sample each second, the old one after 20 s at the latest. The load that the
// new one takes over counts once in between.
func TestNewPodTakesLoadOver(t *testing.T) {
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			const comes = 100 * time.Second
			k := &slowKubelet{random: rand.New(rand.NewPCG(seed, 3)), use: func(pod int, at time.Time) float64 {
				if isNewcomer := at.Sub(began) >= comes; isNewcomer == (pod == 1) {
					return 300
				}
				return 1
			}}
			all := &target{
				lives: livesOf(-time.Hour, comes), targetMilli: 150, replicas: 2, from: comes - 10*time.Second,
				to: comes + 2*time.Minute,
			}
			k.proposals(t, all, func(at time.Duration, r *metric.Result) {
				if r.Replicas > 3 {
					t.Errorf("seed %d: the pods use 301m together; %d replicas are asked for after %s", seed, r.Replicas, at-comes)
				}
			})
		})
	}
}

// TestNarrowTolerance: where an eleventh pod takes over its part of the load of ten, no more than a tolerance of 2 %
// counts twice.
func TestNarrowTolerance(t *testing.T) {
	const comes, total = 100 * time.Second, 1260
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			k := &slowKubelet{random: rand.New(rand.NewPCG(seed, 5)), use: func(pod int, at time.Time) float64 {
				switch hasCome := at.Sub(began) >= comes; {
				case hasCome:
					return total / 11.0
				case pod == 10:
					return 0
				}
				return total / 10.0
			}}
			ready := append(slices.Repeat([]time.Duration{-time.Hour}, 10), comes)
			all := &target{
				lives: livesOf(ready...), targetMilli: 115, replicas: 11, from: comes - 10*time.Second, to: comes + time.Minute,
				tolerance: 0.02,
			}
			k.proposals(t, all, func(at time.Duration, r *metric.Result) {
				if r.Replicas > 11 {
					t.Errorf("seed %d, %s: %d replicas for %dm each, %+v", seed, at-comes, r.Replicas, r.Milli, r.Counts)
				}
			})
		})
	}
}

// TestSurgeCountsAtOnce: new load counts from the first sample that has it.
func TestSurgeCountsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		const comes = 5 * time.Minute
		k := &slowKubelet{random: rand.New(rand.NewPCG(4, 5)), use: func(_ int, at time.Time) float64 {
			if at.Sub(began) >= comes {
				return 2000
			}
			return 100
		}}
		const long = -time.Hour
		seen := time.Duration(0)
		all := &target{
			lives: livesOf(long, long, long, long), targetMilli: 100, replicas: 4, from: comes, to: comes + time.Minute,
		}
		k.proposals(t, all, func(at time.Duration, r *metric.Result) {
			if seen == 0 && r.Replicas > 12 {
				seen = at - comes
			}
		})
		// Four samples are renewed in each 10 to 20 s, and the average of one has all of the load after some seconds more.
		if seen == 0 || seen > 12*time.Second {
			t.Errorf("the load is seen after %s", seen)
		}
	})
}

// livesOf returns pods that are ready at those times, a second after their start.
func livesOf(ready ...time.Duration) (lives []life) {
	for _, after := range ready {
		lives = append(lives, life{start: after - time.Second, ready: after})
	}
	return lives
}
