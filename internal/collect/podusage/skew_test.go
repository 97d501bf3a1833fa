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
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// slowKubelet renews the sample of each container after 10 to 20 s, as kubelets at their defaults do, and that of a
// container that is younger than freshFor at each scrape.
type slowKubelet struct {
	store  *rate.Store
	random *rand.Rand
	pods   []*slowPod
	// use is what a pod uses at a time, in thousandths of a core.
	use func(pod int, at time.Time) float64
	// share is that of who looks; 0 means the default.
	share averaging.Share
}

type slowPod struct {
	started time.Time
	// burnt is exact, up to at; the sample is what is told.
	burnt float64
	at    time.Time

	sample  kubelettest.Container
	renewal time.Time
}

func (k *slowKubelet) shareOf() averaging.Share {
	if k.share == 0 {
		return averaging.DefaultShare
	}
	return k.share
}

const freshFor = 18 * time.Second

func (k *slowKubelet) Scrape(_ context.Context, target kubelet.Target) (rate.Round, error) {
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

// life is when a pod starts, is ready, and is deleted, after the beginning; a pod that is never deleted has no end.
type life struct{ start, ready, gone time.Duration }

// at is the pod as it is then; nil if it is not there.
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

// look looks each second from one time after the start to another, and tells what is known of the pods.
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
		if err := s.Look(time.Now(), observed, k.shareOf(), &v); err != nil {
			t.Fatalf("%s: %v", at, err)
		}
		see(at, observed, &v)
		pass(time.Second)
	}
}

// watch has pods that are ready at those times, a second after their start, and tells what those use together that count.
func (k *slowKubelet) watch(t *testing.T, ready []time.Duration, from, to time.Duration, see func(at time.Duration, milli int64)) {
	t.Helper()
	var lives []life
	for _, after := range ready {
		lives = append(lives, life{start: after - time.Second, ready: after})
	}
	k.look(t, lives, from, to, func(at time.Duration, pods []*observe.Pod, v *View) {
		total := int64(0)
		for i, p := range pods {
			got := v.Sample(i, cpuOfPod, arithmetic.Saturate)
			// As the decision has it: a pod that had just become ready when it was sampled does not count.
			counts := p.ReadyTransition.Add(max(got.Window, averaging.ShortestWindow))
			if p.IsReady() && got.Present && !got.At.Before(counts) {
				total += got.Milli
			}
		}
		see(at, total)
	})
}

// TestMovedLoadCountsOnce: a load that moves to another pod every half a minute is in the samples of about one pod.
func TestMovedLoadCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		k := &slowKubelet{random: rand.New(rand.NewPCG(1, 2)), use: func(pod int, at time.Time) float64 {
			if int(at.Sub(began)/(30*time.Second))%3 == pod {
				return 300
			}
			return 10
		}}
		long := -time.Hour
		least, most := int64(1<<30), int64(0)
		k.watch(t, []time.Duration{long, long, long}, 2*time.Minute, 20*time.Minute, func(_ time.Duration, milli int64) {
			least, most = min(least, milli), max(most, milli)
		})
		if least < 210 || most > 430 {
			t.Errorf("the pods use 320m together; seen were %dm to %dm", least, most)
		}
	})
}

// TestNewPodTakesLoadOver: of a new pod there is a sample each second, of the old one after 20 s at the latest. What the
// new one takes over does not count twice meanwhile.
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
			least, most := int64(1<<30), int64(0)
			k.watch(t, []time.Duration{-time.Hour, comes}, comes, comes+2*time.Minute, func(_ time.Duration, milli int64) {
				least, most = min(least, milli), max(most, milli)
			})
			// A pod does not count in its first five seconds.
			if least < 180 || most > 390 {
				t.Errorf("seed %d: the pods use 301m together; seen were %dm to %dm", seed, least, most)
			}
		})
	}
}

// TestNarrowTolerance: where an eleventh pod takes over its part, no more than a tolerance of 2 % counts twice of the load
// for an HPA that has it. For one with the default, a tenth may.
func TestNarrowTolerance(t *testing.T) {
	const comes, total = 100 * time.Second, 1260
	most := map[averaging.Share]int64{}
	for seed := range uint64(10) {
		for _, share := range []averaging.Share{averaging.ShareOf(0.02, 0.3), averaging.DefaultShare} {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				k := &slowKubelet{share: share, random: rand.New(rand.NewPCG(seed, 5)), use: func(pod int, at time.Time) float64 {
					switch hasCome := at.Sub(began) >= comes; {
					case hasCome:
						return total / 11.0
					case pod == 10:
						return 0
					}
					return total / 10.0
				}}
				ready := append(slices.Repeat([]time.Duration{-time.Hour}, 10), comes)
				k.watch(t, ready, comes, comes+time.Minute, func(_ time.Duration, milli int64) {
					most[share] = max(most[share], milli)
				})
			})
		}
	}
	narrow, byDefault := most[averaging.ShareOf(0.02, 0.3)], most[averaging.DefaultShare]
	if narrow > total*102/100 || byDefault > total*110/100 {
		t.Errorf("of %dm, at most %dm are seen, and %dm by default", total, narrow, byDefault)
	}
	if byDefault <= total*102/100 {
		t.Errorf("at most %dm by default: nothing shows that the tolerance matters", byDefault)
	}
}

// TestSurgeIsSeenAtOnce: load that is new is in the first sample that has it.
func TestSurgeIsSeenAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		const comes = 5 * time.Minute
		k := &slowKubelet{random: rand.New(rand.NewPCG(4, 5)), use: func(_ int, at time.Time) float64 {
			if at.Sub(began) >= comes {
				return 2000
			}
			return 100
		}}
		long := -time.Hour
		seen := time.Duration(0)
		k.watch(t, []time.Duration{long, long, long, long}, comes, comes+time.Minute, func(at time.Duration, milli int64) {
			if seen == 0 && milli > 1200 {
				seen = at - comes
			}
		})
		// Four samples are renewed in each 10 to 20 s, and the average of one has all of the load after some seconds more.
		if seen == 0 || seen > 12*time.Second {
			t.Errorf("the load is seen after %s", seen)
		}
	})
}

// TestLaterUseIsNotZero: of a pod whose samples do not reach back to the common end, the sample is of that end and counts
// as that of a pod that starts; what the pod used since then stays.
func TestLaterUseIsNotZero(t *testing.T) {
	end := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	p := pod("web-0", "a")
	p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(end.Add(-8 * time.Second))
	var v View
	v.containers = []rate.ContainerUsage{{
		Name: "app", HasCPU: true, HasMemory: true,
		CPU: rate.Interval{End: end.Add(5 * time.Second), Span: 3 * time.Second, NanoCores: 250_000_000},
	}}
	v.count(0, observe.PodsOf([]*corev1.Pod{p})[0], end)
	got := &v.containers[0].CPU
	if got.NanoCores != 250_000_000 || !got.End.Equal(end) || got.Span != averaging.StableWindow || v.milli != 0 {
		t.Errorf("%+v, %dm together", got, v.milli)
	}
}
