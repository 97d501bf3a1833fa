package podusage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// world has kubelets in virtual time whose pods burn CPU.
type world struct {
	t      *testing.T
	client *fake.Clientset
	moved  chan struct{}
	// stop ends the source that was started.
	stop func()

	// mu guards the following.
	mu       sync.Mutex
	kubelets map[string]*kubelettest.Node
	// milli is the use of each container on a node.
	milli  map[string]int64
	burnt  map[string]time.Time
	broken map[string]error
	wanted []string
	asked  map[string]string
	// scrapes counts the scrapes of each node.
	scrapes map[string]int
	sampled []Sampled
	missing string
	logs    []string
	// cost is the CPU time of a scrape.
	cost time.Duration
}

func newWorld(t *testing.T) *world {
	return &world{
		t: t, client: fake.NewSimpleClientset(), moved: make(chan struct{}, 1), kubelets: map[string]*kubelettest.Node{},
		milli: map[string]int64{},
		burnt: map[string]time.Time{}, broken: map[string]error{}, asked: map[string]string{}, scrapes: map[string]int{},
	}
}

func (w *world) service(change ...func(*Config)) *Service {
	w.t.Helper()
	options := kubelet.DefaultOptions()
	config := Config{
		Scraper: func(store *rate.Store) (Scraper, error) { return &scraper{w, store}, nil },
		Target:  options.Target, Registerer: prometheus.NewRegistry(),
		Nodes: func() cache.SharedIndexInformer {
			return informers.NewSharedInformerFactory(w.client, 0).Core().V1().Nodes().Informer()
		},
		Log: funcr.New(func(_, args string) { w.set(func() { w.logs = append(w.logs, args) }) }, funcr.Options{}),
	}
	for _, f := range change {
		f(&config)
	}
	nodes, err := New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	return nodes
}

// start runs a subscription until the test ends.
func (w *world) start(change ...func(*Config)) *Subscription {
	w.t.Helper()
	s := w.service(change...).Subscribe(Cadence{})
	w.stop = w.run(s, Watch{
		Nodes: func(dst []string) []string {
			w.mu.Lock()
			defer w.mu.Unlock()
			return append(dst, w.wanted...)
		},
		Moved:   w.moved,
		Sampled: func(of Sampled) { w.set(func() { w.sampled = append(w.sampled, of) }) },
	})
	return s
}

// run runs a subscription until stop is called, or the test ends.
func (w *world) run(s *Subscription, watch Watch) (stop func()) {
	stop = begin(w.t.Context(), func(ctx context.Context) { s.Run(ctx, watch) })
	w.t.Cleanup(stop)
	return stop
}

// web is the object whose pods are read.
var web = observe.HPA("shop", "web")

// look reads the usage of the object's pods, as a loop does.
func (s *Subscription) look(now time.Time, pods []*observe.Pod, v *View) error {
	s.Set(web, pods)
	err := s.Latest(now, pods, v)
	s.ReportMissing(now, pods, v)
	return err
}

// scraper scrapes the world's kubelets.
type scraper struct {
	*world
	store *rate.Store
}

// Scrape implements Scraper.
func (w *scraper) Scrape(_ context.Context, target kubelet.Target, _ *selection.Prepared) (rate.Round, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[target.Node] = target.Address
	w.scrapes[target.Node]++
	if err := w.broken[target.Node]; err != nil {
		if errors.Is(err, errMad) {
			panic(err)
		}
		return rate.Round{}, err
	}
	now, node := time.Now(), w.kubelets[target.Node]
	if began := w.burnt[target.Node]; !began.IsZero() {
		node.Burn(int64(now.Sub(began).Seconds() * float64(w.milli[target.Node]) * 1e6))
	}
	w.burnt[target.Node] = now
	round, err := w.store.Ingest(target.Node, now, node.Text(now))
	round.CPU = w.cost
	return round, err
}

// errMad makes a kubelet return a response that the parser panics over.
var errMad = errors.New("a mad answer")

// node adds a node with pods of the containers app and proxy.
func (w *world) node(name string, milli int64, pods ...string) {
	w.t.Helper()
	_, err := w.client.CoreV1().Nodes().Create(w.t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	node := &kubelettest.Node{}
	for _, pod := range pods {
		start := time.Now().Add(-time.Hour)
		node.Pods = append(node.Pods, kubelettest.Pod{Namespace: "shop", Name: pod, Containers: []kubelettest.Container{
			{Name: "app", Start: start, CPUNanos: 1e9, MemoryBytes: 3 << 20},
			{Name: "proxy", Start: start, CPUNanos: 1e9, MemoryBytes: 1 << 20},
		}})
	}
	w.set(func() { w.kubelets[name], w.milli[name] = node, milli })
}

func (w *world) want(nodes ...string) {
	w.set(func() { w.wanted = nodes })
	w.moved <- struct{}{}
}

func (w *world) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *world) logged(part string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, line := range w.logs {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// pod has been ready for long.
func pod(name, node string) *corev1.Pod {
	long := metav1.NewTime(time.Now().Add(-time.Hour))
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:       corev1.PodSpec{NodeName: node},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, StartTime: &long,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

var (
	cpuOfPod   = &source.Spec{Type: source.Resource, Name: "cpu"}
	cpuOfProxy = &source.Spec{Type: source.ContainerResource, Name: "cpu", Container: "proxy"}
	memOfPod   = &source.Spec{Type: source.Resource, Name: "memory"}
)

func TestSamplesAreLikeMetricsServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.node("a", 100, "web-0")
		s := w.start()
		w.want("a")
		pass(40 * time.Second)
		var v View
		pods := []*corev1.Pod{pod("web-0", "a"), pod("web-1", "a")}
		if err := s.look(time.Now(), observe.PodsOf(pods), &v); err != nil {
			t.Fatal(err)
		}
		got := v.Sample(0, cpuOfPod, arithmetic.Saturate)
		if !got.Present || got.Milli != 200 || got.Window != 15*time.Second || time.Since(got.At) > time.Second {
			t.Errorf("CPU %+v, want 200m over 15 s", got)
		}
		if got := v.Sample(0, cpuOfProxy, arithmetic.Saturate); got.Milli != 100 {
			t.Errorf("CPU of one container %+v, want 100m", got)
		}
		if got := v.Sample(0, memOfPod, arithmetic.Saturate); got.Milli != 4<<20*1000 || got.At.IsZero() {
			t.Errorf("memory %+v, want 4 MiB", got)
		}
		if got := v.Sample(0, &source.Spec{Name: "fish"}, arithmetic.Saturate); got.Present {
			t.Errorf("%+v of a resource that kubelets know nothing of", got)
		}
		if got := v.Sample(1, cpuOfPod, arithmetic.Saturate); got.Present {
			t.Errorf("%+v of a pod that the kubelet does not know", got)
		}
		v.wantSeconds(t, got.At)
	})
}

// wantSeconds expects the pod's last intervals of a second each, the newest first.
func (v *View) wantSeconds(t *testing.T, newest time.Time) {
	t.Helper()
	for k, r := range v.Recent(0, cpuOfPod, arithmetic.Saturate) {
		if !r.Present || r.Milli != 200 || r.Window != time.Second || !r.At.Equal(newest.Add(-time.Duration(k)*time.Second)) {
			t.Errorf("interval %d: %+v", k, r)
		}
	}
}

// TestWindowBeginsWithReadiness: the usage of a pod before its readiness is left out as soon as the samples since then
// are enough.
func TestWindowBeginsWithReadiness(t *testing.T) {
	for name, tt := range map[string]struct{ ready, want time.Duration }{
		"for long":              {time.Hour, 15 * time.Second},
		"for just long enough":  {16 * time.Second, 15 * time.Second},
		"for ten seconds":       {10 * time.Second, 9 * time.Second},
		"for six seconds":       {6 * time.Second, 5 * time.Second},
		"too short to be known": {5 * time.Second, 15 * time.Second},
		"not":                   {0, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.node("a", 100, "web-0")
				s := w.start()
				w.want("a")
				pass(30 * time.Second)
				p := pod("web-0", "a")
				p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(w.burnt["a"].Add(-tt.ready - time.Millisecond))
				if tt.ready == 0 {
					unready(p)
				}
				var v View
				if err := s.look(time.Now(), observe.PodsOf([]*corev1.Pod{p}), &v); err != nil {
					t.Fatal(err)
				}
				if got := v.Sample(0, cpuOfPod, arithmetic.Saturate); got.Window != tt.want || got.Milli != 200 {
					t.Errorf("%+v, want a window of %s", got, tt.want)
				}
			})
		})
	}
}

// TestWindowOfANewPodIsItsOwn: the average of a pod that has just become ready begins at its readiness, and those of
// the others keep their length.
func TestWindowOfANewPodIsItsOwn(t *testing.T) {
	const stable = 15 * time.Second
	readyFor := func(d time.Duration) func(*corev1.Pod, time.Time) {
		return func(p *corev1.Pod, newest time.Time) {
			p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(newest.Add(-d - time.Millisecond))
		}
	}
	for name, tt := range map[string]struct {
		old     int
		change  func(p *corev1.Pod, newest time.Time)
		period  time.Duration
		wantOld time.Duration
		wantNew time.Duration
	}{
		"both for long": {old: 1, change: readyFor(time.Hour), wantOld: stable, wantNew: stable},
		"one for seven seconds": {old: 1, change: readyFor(7 * time.Second), wantOld: stable,
			wantNew: 6 * time.Second},
		"one too short to count": {old: 1, change: readyFor(3 * time.Second), wantOld: stable, wantNew: stable},
		"one not ready": {old: 1, change: func(p *corev1.Pod, _ time.Time) { unready(p) }, wantOld: stable,
			wantNew: stable},
		"one deleted": {old: 1,
			change: func(p *corev1.Pod, at time.Time) { p.DeletionTimestamp = &metav1.Time{Time: at} }, wantOld: stable},
		"one of ten": {old: 9, change: readyFor(7 * time.Second), wantOld: stable, wantNew: 6 * time.Second},
		"no interval is that short": {old: 1, change: readyFor(7 * time.Second), period: 8 * time.Second,
			wantOld: 8 * time.Second, wantNew: 8 * time.Second},
		"its samples are 4 s apart": {old: 1, change: readyFor(10 * time.Second), period: 4 * time.Second,
			wantOld: 12 * time.Second, wantNew: 8 * time.Second},
		"one of another pod's age": {old: 1,
			change:  func(p *corev1.Pod, at time.Time) { p.Status.StartTime = &metav1.Time{Time: at.Add(time.Second)} },
			wantOld: stable},
		"one on a node that is amiss": {old: 1,
			change: func(p *corev1.Pod, at time.Time) { p.Spec.NodeName = "z"; aged(time.Second)(p) }, wantOld: stable},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				var names []string
				for i := range tt.old + 1 {
					names = append(names, fmt.Sprint("web-", i))
				}
				w.node("a", 100, names...)
				s := w.start(func(c *Config) { c.Rounds.Period = tt.period })
				w.want("a")
				pass(41 * time.Second)
				pods := make([]*corev1.Pod, len(names))
				for i := range names {
					pods[i] = pod(names[i], "a")
				}
				tt.change(pods[tt.old], w.burnt["a"])
				var v View
				if err := s.look(time.Now(), observe.PodsOf(pods), &v); err != nil {
					t.Fatal(err)
				}
				for i := range tt.old {
					if got := v.Sample(i, cpuOfPod, arithmetic.Saturate); got.Window != tt.wantOld || got.Milli != 200 {
						t.Errorf("one for long: %+v, want a window of %s", got, tt.wantOld)
					}
				}
				if got := v.Sample(tt.old, cpuOfPod, arithmetic.Saturate); got.Window != tt.wantNew ||
					got.Present != (tt.wantNew > 0) {
					t.Errorf("%+v, want a window of %s", got, tt.wantNew)
				}
				if list := v.PodMetrics(observe.PodsOf(pods),
					[]source.Spec{*cpuOfPod}); list.Items[0].Window.Duration != tt.wantOld {
					t.Errorf("it has %+v, want a window of %s", list.Items[0], tt.wantOld)
				}
			})
		})
	}
}

func TestTooFewSamples(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*corev1.Pod)
		node   func(*kubelettest.Node)
		after  time.Duration
		want   error // nil: no error
		sample bool
	}{
		"not yet scraped":             {after: 50 * time.Millisecond, want: ErrStarting},
		"scraped once":                {after: 1100 * time.Millisecond, want: ErrStarting},
		"scraped twice":               {after: 2200 * time.Millisecond, want: ErrStarting},
		"scraped for five seconds":    {after: 6 * time.Second, sample: true},
		"scraped once, but not ready": {after: 1100 * time.Millisecond, change: unready},
		"scraped once, but pending": {after: 1100 * time.Millisecond,
			change: func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }},
		"scraped once, but deleted": {after: 1100 * time.Millisecond,
			change: func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} }},
		"scraped once, but it began since then": {after: 1100 * time.Millisecond,
			change: func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: time.Now()} }},
		"not yet scraped, and new": {after: 50 * time.Millisecond, change: aged(14 * time.Second)},
		"not yet scraped, and no longer new": {after: 50 * time.Millisecond, change: aged(15 * time.Second),
			want: ErrStarting},
		"scraped once, and new": {after: 1100 * time.Millisecond, change: aged(3 * time.Second)},
		"scraped once, and no longer new": {after: 1100 * time.Millisecond, change: aged(16 * time.Second),
			want: ErrStarting},
		"scraped twice, and new": {after: 2200 * time.Millisecond, change: aged(3 * time.Second), sample: true},
		"a pod of this name from before": {after: 5 * time.Second,
			change: func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: time.Now().Add(time.Second)} }},
		"a container without memory": {after: 5 * time.Second,
			node: func(n *kubelettest.Node) { n.Pods[0].Containers[1].MemoryBytes = 0 }, want: ErrStarting},
		"a container without memory, for long": {after: 40 * time.Second,
			node: func(n *kubelettest.Node) { n.Pods[0].Containers[1].MemoryBytes = 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.node("a", 100, "web-0")
				if tt.node != nil {
					tt.node(w.kubelets["a"])
				}
				s := w.start()
				w.want("a")
				pass(tt.after)
				p := pod("web-0", "a")
				if tt.change != nil {
					tt.change(p)
				}
				var v View
				err := s.look(time.Now(), observe.PodsOf([]*corev1.Pod{p}), &v)
				if !errors.Is(err, tt.want) || (err != nil) != (tt.want != nil) {
					t.Fatalf("got %v, want %v", err, tt.want)
				}
				if err == nil && v.Sample(0, cpuOfPod, arithmetic.Saturate).Present != tt.sample {
					t.Errorf("a sample: %v, want %v", !tt.sample, tt.sample)
				}
			})
		})
	}
}

// aged sets the age of a pod.
func aged(age time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.StartTime = &metav1.Time{Time: time.Now().Add(-age)} }
}

// A scale-up brings pods to nodes that were not scraped before. The other pods keep their usage.
func TestNewcomersDoNotHideTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.node("a", 100, "web-0")
		w.node("b", 100, "web-1")
		s := w.start()
		w.want("a")
		pass(20 * time.Second)
		fresh := pod("web-1", "b")
		aged(time.Second)(fresh)
		pods := []*corev1.Pod{pod("web-0", "a"), fresh}
		var v View
		look := func() (known, knownToo bool) {
			t.Helper()
			if err := s.look(time.Now(), observe.PodsOf(pods), &v); err != nil {
				t.Fatal(err)
			}
			return v.Sample(0, cpuOfPod, arithmetic.Saturate).Present, v.Sample(1, cpuOfPod, arithmetic.Saturate).Present
		}
		if known, knownToo := look(); !known || knownToo {
			t.Errorf("on a node that is not scraped: %v, %v", known, knownToo)
		}
		w.want("a", "b")
		pass(1200 * time.Millisecond)
		if known, knownToo := look(); !known || knownToo {
			t.Errorf("on a node that is scraped once: %v, %v", known, knownToo)
		}
		pass(2 * time.Second)
		if known, knownToo := look(); !known || !knownToo {
			t.Errorf("on a node that is scraped: %v, %v", known, knownToo)
		}
	})
}

func unready(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse }

func TestNodesThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.node("a", 100, "web-0")
		w.node("b", 100, "web-1")
		s := w.start()
		w.want("a", "b", "ghost")
		pass(20 * time.Second)
		var v View
		look := func(pods ...*corev1.Pod) error {
			return s.look(time.Now(), observe.PodsOf(pods), &v)
		}
		if err := look(pod("web-0", "a"), pod("web-1", "b")); err != nil {
			t.Fatal(err)
		}
		if err := look(pod("web-0", "a"), pod("web-2", "ghost")); err == nil ||
			!strings.Contains(err.Error(), "no node ghost") {
			t.Errorf("a node that does not exist: %v", err)
		}
		if n := w.logged("ghost"); n != 1 {
			t.Errorf("%d log lines about it", n)
		}
		refused := errors.New("connection refused")
		w.set(func() { w.broken["b"] = refused })
		pass(2 * time.Second)
		if err := look(pod("web-1", "b")); err != nil {
			t.Errorf("a failure or two: %v", err)
		}
		pass(3 * time.Second)
		if err := look(pod("web-0", "a"), pod("web-1", "b")); !errors.Is(err, refused) {
			t.Errorf("it has failed for long: %v", err)
		}
		if err := look(pod("web-0", "a")); err != nil {
			t.Errorf("pods elsewhere do not suffer: %v", err)
		}
		gone := pod("web-1", "b")
		unready(gone)
		if err := look(pod("web-0", "a"), gone); err != nil {
			t.Errorf("a pod that is not ready is no reason to give up: %v", err)
		}
		if v.Sample(1, cpuOfPod, arithmetic.Saturate).Present {
			t.Error("there is a sample of a pod on a node that cannot be read")
		}
		if n := testutil.ToFloat64(s.service.metrics.failing); n != 1 {
			t.Errorf("%v nodes fail", n)
		}
		w.set(func() { w.broken = map[string]error{} })
		pass(35 * time.Second)
		if err := look(pod("web-1", "b")); err != nil {
			t.Errorf("healed: %v", err)
		}
		if n := w.logged("cannot be read") + w.logged("can be read again"); n != 2 {
			t.Errorf("%d log lines about the failure and its end", n)
		}
		if n := testutil.ToFloat64(s.service.metrics.failing); n != 0 {
			t.Errorf("%v nodes fail", n)
		}
	})
}

// TestNodesFollowTheTargets: only nodes that are wanted are scraped, at their current address.
func TestNodesFollowTheTargets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.node("a", 100, "web-0")
		w.node("b", 100, "web-1")
		s := w.start()
		pass(5 * time.Second)
		if len(w.asked) > 0 {
			t.Errorf("asked %v, but nobody wanted that", w.asked)
		}
		w.want("a")
		pass(2 * time.Second)
		if len(w.asked) != 1 || w.asked["a"] != "10.0.0.1:10250" {
			t.Errorf("asked %v, want a", w.asked)
		}
		node, err := w.client.CoreV1().Nodes().Get(t.Context(), "a", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		node.Status.Addresses[0].Address = "10.0.0.2"
		if _, err := w.client.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		if w.asked["a"] != "10.0.0.2:10250" {
			t.Errorf("asked %v, want the new address", w.asked)
		}
		w.want("b")
		pass(2 * time.Second)
		w.set(func() { clear(w.asked) })
		pass(2 * time.Second)
		if len(w.asked) != 1 || w.asked["b"] == "" {
			t.Errorf("asked %v, want b", w.asked)
		}
		var v View
		if err := s.look(time.Now(), observe.PodsOf([]*corev1.Pod{pod("web-0", "a")}), &v); !errors.Is(err, ErrStarting) {
			t.Errorf("of a node that is not scraped any more: %v", err)
		}
	})
}

func TestSampledIsCalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.node("a", 100, "web-0")
		w.start()
		w.want("a")
		pass(4500 * time.Millisecond)
		if len(w.sampled) != 4 && len(w.sampled) != 5 {
			t.Fatalf("calls %v", w.sampled)
		}
		if first := w.sampled[0]; first.Node != "a" || !first.Before.IsZero() {
			t.Errorf("first %+v", first)
		}
		for i, sampled := range w.sampled[1:] {
			if !sampled.Before.Equal(w.sampled[i].At) || sampled.At.Sub(sampled.Before) != time.Second {
				t.Errorf("%+v after %+v", sampled, w.sampled[i])
			}
		}
	})
}

func TestAccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.node("a", 100, "web-0")
		w.missing = "get nodes/metrics"
		failing := true
		s := w.start(func(c *Config) {
			c.Access = func(context.Context) (string, error) {
				w.mu.Lock()
				defer w.mu.Unlock()
				if failing {
					return "", errors.New("no answer")
				}
				return w.missing, nil
			}
		})
		w.want("a")
		var v View
		look := func() error {
			return s.look(time.Now(), observe.PodsOf([]*corev1.Pod{pod("web-0", "a")}), &v)
		}
		source := func() string {
			return fmt.Sprintf("kubelet %v, api %v", testutil.ToFloat64(s.service.metrics.source.WithLabelValues("kubelet")),
				testutil.ToFloat64(s.service.metrics.source.WithLabelValues("api")))
		}
		pass(time.Second)
		if err := look(); !errors.Is(err, ErrStarting) {
			t.Errorf("while the rights are not known: %v", err)
		}
		w.set(func() { failing = false })
		pass(5 * time.Minute)
		if err := look(); !errors.Is(err, ErrNotGranted) || len(w.asked) > 0 {
			t.Errorf("without the right: %v, asked %v", err, w.asked)
		}
		if n := w.logged("no permission to read kubelets"); n != 1 || source() != "kubelet 0, api 1" {
			t.Errorf("%d log lines, %s", n, source())
		}
		w.set(func() { w.missing = "" })
		pass(2 * time.Minute)
		if err := look(); err != nil || source() != "kubelet 1, api 0" || w.logged("come from the kubelets") != 1 {
			t.Errorf("granted: %v, %s, %q", err, source(), w.logs)
		}
		w.set(func() { w.missing = "list nodes" })
		pass(2 * time.Minute)
		w.set(func() { clear(w.asked) })
		pass(10 * time.Second)
		if err := look(); !errors.Is(err, ErrNotGranted) || len(w.asked) > 0 || source() != "kubelet 0, api 1" {
			t.Errorf("taken away: %v, asked %v, %s", err, w.asked, source())
		}
		// And once more, from the start.
		w.set(func() { w.missing = "" })
		pass(2 * time.Minute)
		if err := look(); err != nil {
			t.Errorf("granted again: %v", err)
		}
	})
}

// TestBudgetMetrics: the metrics have the cost of reading kubelets, and the bound that delays scrapes. Preferred nodes
// go first within the bound on CPU, too.
func TestBudgetMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.cost = 10 * time.Millisecond
		var nodes []string
		for i := range 20 {
			nodes = append(nodes, fmt.Sprint("node-", i))
			w.node(nodes[i], 100, "web-"+fmt.Sprint(i))
		}
		s := w.start(func(c *Config) { c.Rounds.MaxCPU = 0.05 })
		w.want(nodes...)
		pass(20 * time.Second)
		series := s.service.metrics
		spent, scrapes := testutil.ToFloat64(series.cpu), testutil.ToFloat64(series.scrapes.WithLabelValues("success"))
		if spent < 0.9 || spent > 1.1 || math.Abs(spent-scrapes*0.01) > 1e-6 {
			t.Errorf("%v s of CPU for %v scrapes in 20 s, want 1 s", spent, scrapes)
		}
		if held := testutil.ToFloat64(s.service.metrics.held.WithLabelValues("cpu")); held < 50 || held > scrapes {
			t.Errorf("%v of %v scrapes held back", held, scrapes)
		}
		if held := testutil.ToFloat64(s.service.metrics.held.WithLabelValues("scrapes")); held > 0 {
			t.Errorf("%v scrapes held back by their number", held)
		}
		w.set(func() { w.sampled = nil })
		for range 10 {
			s.Prefer(false, "node-7")
			pass(2 * time.Second)
		}
		preferred, other := 0, 0
		w.set(func() {
			for _, sampled := range w.sampled {
				switch sampled.Node {
				case "node-7":
					preferred++
				case "node-8":
					other++
				}
			}
		})
		if preferred < 12 || other > 6 {
			t.Errorf("in 20 s %d scrapes of a preferred node, %d of another", preferred, other)
		}
	})
}

// TestPreferredNodes: where the budget is too short for all nodes, the preferred ones are still scraped each period.
func TestPreferredNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var nodes []string
		for i := range 20 {
			nodes = append(nodes, fmt.Sprint("node-", i))
			w.node(nodes[i], 100, "web-"+fmt.Sprint(i))
		}
		s := w.start(func(c *Config) { c.Rounds.MaxPerSecond = 2 })
		w.want(nodes...)
		pass(30 * time.Second)
		times := func(node string) (n int) {
			w.set(func() {
				for _, sampled := range w.sampled {
					if sampled.Node == node {
						n++
					}
				}
			})
			return n
		}
		w.set(func() { w.sampled = nil })
		for range 10 {
			s.Prefer(false, "node-7")
			pass(2 * time.Second)
		}
		if n := times("node-7"); n < 12 {
			t.Errorf("%d scrapes of a preferred node in 20 s", n)
		}
		if n := times("node-8"); n > 3 {
			t.Errorf("%d scrapes of another", n)
		}
		pass(10 * time.Second)
		w.set(func() { w.sampled = nil })
		pass(20 * time.Second)
		if n := times("node-7"); n > 3 {
			t.Errorf("%d scrapes in 20 s of one that is not preferred any more", n)
		}
		w.set(func() { w.sampled = nil })
		s.Prefer(true, "node-9")
		pass(600 * time.Millisecond)
		if n := times("node-9"); n != 1 {
			t.Errorf("%d scrapes at once", n)
		}
	})
}
