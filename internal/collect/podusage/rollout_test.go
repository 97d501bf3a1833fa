package podusage

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// life is when a pod starts, is ready, and is deleted, after the beginning; a pod that is never deleted has no end.
type life struct{ start, ready, gone time.Duration }

// target has pods, of which each is to use so much. It is looked at each second from one time to another.
type target struct {
	lives       []life
	targetMilli int64
	replicas    int32
	from, to    time.Duration
}

// proposals tells what a metric asks for.
func (k *slowKubelet) proposals(t *testing.T, of *target, see func(at time.Duration, r *metric.Result)) {
	t.Helper()
	lives, replicas := of.lives, of.replicas
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
	pass(of.from)
	spec := *cpuOfPod
	spec.Target = source.Target{Type: source.AverageValue, Milli: of.targetMilli}
	for at := of.from; at < of.to; at += time.Second {
		var there []*corev1.Pod
		for i, l := range lives {
			if at < l.start || l.gone > 0 && at >= l.gone {
				continue
			}
			p := pods[i].DeepCopy()
			if at < l.ready {
				p.Status.Conditions[0].Status = corev1.ConditionFalse
				p.Status.Conditions[0].LastTransitionTime = *p.Status.StartTime
			}
			there = append(there, p)
		}
		observed := observe.PodsOf(there)
		var v View
		if err := s.Look(time.Now(), observed, &v); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		c := metric.Context{
			Now: time.Now(), SpecReplicas: replicas, StatusReplicas: replicas, Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1},
			CPUInitializationPeriod: 5 * time.Minute, InitialReadinessDelay: 30 * time.Second, Divergences: divergence.Default,
		}
		var reading metric.Reading
		for i, p := range observed {
			c.Pods = append(c.Pods, p.Pod)
			reading.Samples = append(reading.Samples, v.Sample(i, cpuOfPod, arithmetic.Saturate))
			reading.Recent = append(reading.Recent, v.Recent(i, cpuOfPod, arithmetic.Saturate))
		}
		var r metric.Result
		metric.Evaluate(&spec, &reading, &c, &r)
		see(at, &r)
		pass(time.Second)
	}
}

// TestRolloutIsNoLessLoad: each of ten pods uses its target all the time, and five are replaced at once. The load of the
// five that are gone was theirs, and not that of the others, before the new ones were ready: the count stays.
func TestRolloutIsNoLessLoad(t *testing.T) {
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			const comes = 100 * time.Second
			k := &slowKubelet{random: rand.New(rand.NewPCG(seed, 7)), use: func(int, time.Time) float64 { return 300 }}
			var lives []life
			for i := range 15 {
				switch {
				case i < 5:
					lives = append(lives, life{start: -time.Hour, ready: -time.Hour})
				case i < 10:
					lives = append(lives, life{start: -time.Hour, ready: -time.Hour, gone: comes + time.Second})
				default:
					lives = append(lives, life{start: comes - 3*time.Second, ready: comes})
				}
			}
			all := &target{lives: lives, targetMilli: 300, replicas: 10, from: comes - 10*time.Second, to: comes + time.Minute}
			k.proposals(t, all, func(at time.Duration, r *metric.Result) {
				if r.Replicas != 10 {
					t.Errorf("seed %d, %s: %d replicas, %s, %dm, %+v", seed, at-comes, r.Replicas, r.Verdict, r.Milli, r.Counts)
				}
			})
		})
	}
}

// TestStartHidesNoSurge: four pods have 20 times the load from one moment to the next. The CPU with which two more
// started before they were ready is no load that the surge is compared with.
func TestStartHidesNoSurge(t *testing.T) {
	const comes, seeds = 100 * time.Second, 20
	long := life{start: -time.Hour, ready: -time.Hour}
	starting := life{start: comes - 20*time.Second, ready: comes}
	sum := time.Duration(0)
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			k := &slowKubelet{random: rand.New(rand.NewPCG(seed, 9)), use: func(pod int, at time.Time) float64 {
				isLater := at.Sub(began) >= comes
				switch {
				case pod >= 4 && isLater:
					return 10
				case pod >= 4:
					return 2000
				case isLater:
					return 4000
				default:
					return 200
				}
			}}
			seen := time.Duration(0)
			all := &target{
				lives: []life{long, long, long, long, starting, starting}, targetMilli: 300, replicas: 6,
				from: comes + time.Second, to: comes + time.Minute,
			}
			k.proposals(t, all, func(at time.Duration, r *metric.Result) {
				if seen == 0 && r.Replicas >= 8 {
					seen = at - comes
				}
			})
			if seen == 0 {
				t.Errorf("seed %d: not seen", seed)
			}
			sum += seen
		})
	}
	if sum > seeds*9*time.Second {
		t.Errorf("8 replicas after %s on average", sum/seeds)
	}
}
