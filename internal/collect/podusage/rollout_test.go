package podusage

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// target has pods with the target use of each. It is decided each second from one time to another.
type target struct {
	lives       []life
	targetMilli int64
	replicas    int32
	from, to    time.Duration
	// tolerance is 10 % if it is 0; isOff switches the divergence off, so that load may count twice.
	tolerance float64
	isOff     bool
}

// proposals calls see with the proposal of a metric at each second.
func (k *slowKubelet) proposals(t *testing.T, of *target, see func(at time.Duration, r *metric.Result)) {
	t.Helper()
	spec := *cpuOfPod
	spec.Target = source.Target{Type: source.AverageValue, Milli: of.targetMilli}
	tolerance, on := of.tolerance, divergence.Default
	if tolerance == 0 {
		tolerance = 0.1
	}
	if of.isOff {
		on &^= divergence.LoadOnce
	}
	var ready history.Ready
	k.look(t, of.lives, of.from, of.to, func(at time.Duration, pods []*observe.Pod, v *View) {
		c := metric.Context{
			Now: time.Now(), SpecReplicas: of.replicas, StatusReplicas: of.replicas,
			Tolerance:               metric.Tolerance{Up: tolerance, Down: tolerance},
			CPUInitializationPeriod: 5 * time.Minute, InitialReadinessDelay: 30 * time.Second, Divergences: on,
		}
		var reading metric.Reading
		for i, p := range pods {
			c.Pods = append(c.Pods, p.Pod)
			reading.Samples = append(reading.Samples, v.Sample(i, cpuOfPod, arithmetic.Saturate))
			reading.Recent = append(reading.Recent, v.Recent(i, cpuOfPod, arithmetic.Saturate))
			reading.Earlier = append(reading.Earlier, v.Earlier(i, cpuOfPod, arithmetic.Saturate))
		}
		n, since := metric.ReadyPods(c.Pods, c.Now.Add(-c.CPUInitializationPeriod))
		ready = ready.Observe(c.Now, n, since)
		c.Ready = ready
		var r metric.Result
		metric.Evaluate(&spec, &reading, &c, &r)
		see(at, &r)
	})
}

// TestRolloutIsNoLessLoad: each of ten pods uses its target all the time, and five are replaced at once. Until the new
// ones are ready, the load of the five that are gone is still counted, so that the count stays.
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

// TestStartHidesNoSurge: four pods get 20 times the load from one moment to the next. The CPU that two more pods used
// before they were ready is not part of the load that the surge is compared with.
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
