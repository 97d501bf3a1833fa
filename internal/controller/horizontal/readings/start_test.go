package readings_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	kubeletrate "github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// podCounters has the CPU counters of pods, as a kubelet's cAdvisor samples them at an interval, and as metrics-server
// scrapes them every 15 s.
type podCounters struct {
	w     *world
	every time.Duration
	use   func(p *corev1.Pod, replicas int64) int64 // milli
	// guarded by the world's lock
	total   map[string]int64
	born    map[string]int64
	uids    map[string]types.UID
	sampled map[string]counterSample
	scraped map[string][2]counterSample
}

type counterSample struct {
	at    time.Time
	nanos int64
}

func (w *world) podCounters(every time.Duration, use func(*corev1.Pod, int64) int64) *podCounters {
	f := &podCounters{w: w, every: every, use: use, total: map[string]int64{}, born: map[string]int64{},
		uids: map[string]types.UID{}, sampled: map[string]counterSample{}, scraped: map[string][2]counterSample{}}
	go func() {
		last, scrape := time.Now(), time.Now()
		for {
			select {
			case <-w.T.Context().Done():
				return
			case <-time.After(200 * time.Millisecond):
			}
			now := time.Now()
			items := w.Pods("shop")
			w.Mu.Lock()
			for i := range items {
				p := &items[i]
				if f.uids[p.Name] != p.UID {
					f.uids[p.Name], f.total[p.Name] = p.UID, 1e6
					f.born[p.Name] = 1e6
					delete(f.sampled, p.Name)
					continue
				}
				f.total[p.Name] += now.Sub(last).Nanoseconds() / 1000 * f.use(p, int64(len(items)))
				if s := f.sampled[p.Name]; s.at.IsZero() || now.Sub(s.at) >= f.every {
					f.sampled[p.Name] = counterSample{now, f.total[p.Name]}
				}
			}
			if now.Sub(scrape) >= 15*time.Second {
				scrape = now
				for name, s := range f.sampled {
					f.scraped[name] = [2]counterSample{f.scraped[name][1], s}
				}
			}
			w.Mu.Unlock()
			last = now
		}
	}()
	return f
}

// countedScraper scrapes a kubelet.
type countedScraper struct {
	*podCounters
	store *kubeletrate.Store
}

func (s *countedScraper) Scrape(
	_ context.Context, target kubelet.Target, _ *selection.Prepared,
) (kubeletrate.Round, error) {
	pods := s.w.Pods("shop")
	s.w.Mu.Lock()
	node := &kubelettest.Node{}
	var at time.Time
	for i := range pods {
		p := &pods[i]
		if known := s.sampled[p.Name]; !known.at.IsZero() {
			at = known.at
			node.Pods = append(node.Pods,
				kubelettest.Pod{Namespace: "shop", Name: p.Name, Containers: []kubelettest.Container{
					{Name: "web", Start: p.Status.StartTime.Time, CPUNanos: known.nanos, MemoryBytes: 1 << 20},
				}})
		}
	}
	s.w.Mu.Unlock()
	if at.IsZero() {
		return kubeletrate.Round{}, errors.New("not yet")
	}
	return s.store.Ingest(target.Node, time.Now(), node.Text(at))
}

func (f *podCounters) direct(c *controllerhorizontal.Config) {
	options := kubelet.DefaultOptions()
	nodes, err := podusage.New(podusage.Config{
		Scraper: func(store *kubeletrate.Store) (podusage.Scraper, error) { return &countedScraper{f, store}, nil },
		Target:  options.Target, Registerer: f.w.Registry, Log: c.Log,
		Nodes: func() cache.SharedIndexInformer {
			return informers.NewSharedInformerFactoryWithOptions(f.w.Client, 0,
				informers.WithTransform(slim.Transform)).Core().V1().Nodes().Informer()
		},
	})
	if err != nil {
		f.w.T.Fatal(err)
	}
	c.Direct, c.Triggers, c.SyncPeriod = nodes.Subscribe(podusage.Cadence{}), true, horizontaltest.Period
}

// scrapedMetrics is a metrics-server.
type scrapedMetrics struct {
	*world
	f *podCounters
}

func (s scrapedMetrics) Resource(
	_ context.Context, namespace, selector string,
) (*metricsv1beta1.PodMetricsList, error) {
	list := &metricsv1beta1.PodMetricsList{}
	pods := s.w().Pods(namespace)
	s.world.Mu.Lock()
	defer s.world.Mu.Unlock()
	for i := range pods {
		p := &pods[i]
		two := s.f.scraped[p.Name]
		// metrics-server's rule for young containers: their start counts as the earlier sample.
		if age := two[1].at.Sub(p.Status.StartTime.Time); two[0].at.Before(p.Status.StartTime.Time) &&
			age >= 10*time.Second && age < 15*time.Second {
			two[0] = counterSample{p.Status.StartTime.Time, s.f.born[p.Name]}
		}
		if two[0].at.Before(p.Status.StartTime.Time) || !two[1].at.After(two[0].at) {
			continue
		}
		span := two[1].at.Sub(two[0].at)
		list.Items = append(list.Items, metricsv1beta1.PodMetrics{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.Name}, Timestamp: metav1.NewTime(two[1].at),
			Window: metav1.Duration{Duration: span},
			Containers: []metricsv1beta1.ContainerMetrics{{Name: "web", Usage: corev1.ResourceList{
				corev1.ResourceCPU: *resource.NewMilliQuantity((two[1].nanos-two[0].nanos)*1000/span.Nanoseconds(),
					resource.DecimalSI),
			}}},
		})
	}
	return list, nil
}

func (s scrapedMetrics) w() *world { return s.world }

// loadStep doubles the load of a target of eight pods, for which 16 are right then. New pods become ready ten seconds
// after they start, and use additional CPU until some time after that. It returns the highest count, and the time until
// there were 16.
func loadStep(
	t *testing.T, every time.Duration, warmMilli int64, warmFor time.Duration,
	change func(*world, *podCounters) func(*controllerhorizontal.Config),
) (peak int32, took time.Duration) {
	const startup = 10 * time.Second
	inWorld(t, func(t *testing.T, w *world) {
		hpa := w.Web("web", 8)
		hpa.Spec.MaxReplicas = 100
		w.Kubelets("a")
		w.Onto("web", 8, "a")
		w.AddHPA(hpa)
		load, ready := int64(800), int64(8)
		counters := w.podCounters(every, func(p *corev1.Pod, _ int64) int64 {
			switch age := time.Since(p.Status.StartTime.Time); {
			case age < startup:
				return warmMilli
			case age < startup+warmFor:
				return max(load/ready, warmMilli)
			default:
				return load / ready
			}
		})
		w.Start(change(w, counters))
		run := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); w.Pass(time.Second) {
				n := w.startPods("web", startup)
				w.Set(func() { ready = n })
				peak = max(peak, w.Replicas("web"))
			}
		}
		run(2 * time.Minute)
		if got := w.Replicas("web"); got != 8 {
			t.Errorf("%d replicas before", got)
		}
		w.Set(func() { load *= 2 })
		began := time.Now()
		for w.Replicas("web") < 16 && time.Since(began) < 3*time.Minute {
			run(time.Second)
		}
		took = time.Since(began)
		run(150 * time.Second)
	})
	return peak, took
}

// startPods adds the pods that a Deployment wants on node a, makes those ready that
// started so long ago, and returns how many are.
func (w *world) startPods(name string, startup time.Duration) (ready int64) {
	w.T.Helper()
	pods := w.Pods("shop")
	have := map[string]bool{}
	for i := range pods {
		p := &pods[i]
		have[p.Name] = true
		switch {
		case p.Status.Conditions[0].Status == corev1.ConditionTrue:
			ready++
		case time.Since(p.Status.StartTime.Time) >= startup:
			ready++
			w.ChangePod(p.Name, func(p *corev1.Pod) {
				p.Status.Conditions[0].Status, p.Status.Conditions[0].LastTransitionTime = corev1.ConditionTrue,
					metav1.NewTime(time.Now())
			})
		}
	}
	for i := range int(w.Replicas(name)) {
		if n := fmt.Sprintf("%s-%d", name, i); !have[n] {
			p, now := horizontaltest.Pod(n, map[string]string{"app": name}), metav1.NewTime(time.Now())
			p.Status.StartTime, p.CreationTimestamp = &now, now
			p.Status.Conditions[0].Status, p.Status.Conditions[0].LastTransitionTime = corev1.ConditionFalse, now
			p.Spec.NodeName = "a"
			w.Add(horizontaltest.PodResource, p)
		}
	}
	return ready
}

// TestStartsOfPodsAreNoLoad: the use of new pods while they warm up leads to no more pods than with upstream's rules in
// the same world, however often Plimsoll decides; and Plimsoll follows a doubled load as fast as without it.
func TestStartsOfPodsAreNoLoad(t *testing.T) {
	asUpstream := func(w *world, f *podCounters) func(*controllerhorizontal.Config) {
		return func(c *controllerhorizontal.Config) {
			c.Metrics, c.Options.Divergences, c.Options.Surge.Window = scrapedMetrics{w, f}, divergence.None, 0
		}
	}
	with := func(set divergence.Set) func(*world, *podCounters) func(*controllerhorizontal.Config) {
		return func(w *world, f *podCounters) func(*controllerhorizontal.Config) {
			return func(c *controllerhorizontal.Config) {
				c.Metrics, c.Options.Divergences = scrapedMetrics{w, f}, set
				f.direct(c)
			}
		}
	}
	for name, warm := range map[string]struct {
		milli int64
		until time.Duration
	}{
		"nothing extra": {0, 0}, "300m for 10 s": {300, 10 * time.Second}, "400m for 8 s": {400, 8 * time.Second},
		"250m for 12 s": {250, 12 * time.Second},
	} {
		upstream, _ := loadStep(t, 10*time.Second, warm.milli, warm.until, asUpstream)
		for _, every := range []time.Duration{10 * time.Second, time.Second} {
			without, tookWithout := loadStep(t, every, warm.milli, warm.until,
				with(divergence.Default&^divergence.RecentlyReady))
			peak, took := loadStep(t, every, warm.milli, warm.until, with(divergence.Default))
			t.Logf("%s, kubelet each %s: at most %d, 16 after %s; without the rule %d, %s; upstream %d", name, every,
				peak, took, without, tookWithout, upstream)
			if peak > upstream || took > tookWithout || warm.milli == 0 && peak != 16 {
				t.Errorf("%s, kubelet each %s: at most %d replicas, upstream %d; 16 after %s, without the rule %s",
					name, every, peak, upstream, took, tookWithout)
			}
		}
	}
}
