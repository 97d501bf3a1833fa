package horizontaltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr/funcr"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	kubeletrate "github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// Kubelets serves the samples of the pods on the world's nodes.
type Kubelets struct {
	W *World
	// The world's lock guards the following: the use of each pod, its counter and when that was read; nodes that do not
	// respond; the times of each node's scrapes.
	Milli   int64
	Counter map[string]int64
	read    map[string]time.Time
	Broken  map[string]bool
	Asked   map[string][]time.Time
	// Of returns the use of a pod; Milli applies if it is nil.
	Of func(pod string) int64
	// Frozen is the time of all samples, however often they are scraped; zero if they are new each time.
	Frozen  time.Time
	decided []time.Time

	// Rounds configures the scrapes and their budget.
	Rounds scrape.Config[kubelet.Target]
	// IsPatient is set if no node takes precedence, whatever the decisions need.
	IsPatient bool
}

// patient ignores Prefer.
type patient struct{ readings.Direct }

// Prefer implements readings.Direct.
func (patient) Prefer(bool, ...string) {}

// Kubelets adds nodes. A controller that starts with Direct reads them.
func (w *World) Kubelets(nodes ...string) *Kubelets {
	w.T.Helper()
	for _, name := range nodes {
		w.Add(corev1.SchemeGroupVersion.WithResource("nodes"), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP,
				Address: "10.0.0.1"}}},
		})
	}
	return &Kubelets{
		W: w, Milli: 100, Rounds: scrape.Config[kubelet.Target]{Period: time.Second}, Counter: map[string]int64{},
		read: map[string]time.Time{}, Broken: map[string]bool{}, Asked: map[string][]time.Time{},
	}
}

// scraper scrapes the kubelets.
type scraper struct {
	*Kubelets
	store *kubeletrate.Store
}

// Scrape implements resource.Scraper.
func (k *scraper) Scrape(_ context.Context, target kubelet.Target, _ *selection.Prepared) (kubeletrate.Round, error) {
	w, now := k.W, time.Now()
	pods := w.Pods("shop")
	w.Mu.Lock()
	k.Asked[target.Node] = append(k.Asked[target.Node], now)
	broken := k.Broken[target.Node]
	node := &kubelettest.Node{}
	for i := range pods {
		p := &pods[i]
		if p.Spec.NodeName != target.Node || p.Status.Phase != corev1.PodRunning {
			continue
		}
		if began, known := k.read[p.Name]; known && k.Frozen.IsZero() {
			milli := k.Milli
			if k.Of != nil {
				milli = k.Of(p.Name)
			}
			k.Counter[p.Name] += now.Sub(began).Nanoseconds() / 1000 * milli
		} else {
			k.Counter[p.Name] = 1e9
		}
		k.read[p.Name] = now
		node.Pods = append(node.Pods, kubelettest.Pod{Namespace: "shop", Name: p.Name,
			Containers: []kubelettest.Container{
				{Name: "web", Start: p.Status.StartTime.Time, CPUNanos: k.Counter[p.Name], MemoryBytes: 1 << 20},
			}})
	}
	w.Mu.Unlock()
	if broken {
		return kubeletrate.Round{}, errors.New("connection refused")
	}
	sampled := now
	if !k.Frozen.IsZero() {
		sampled = k.Frozen
	}
	return k.store.Ingest(target.Node, now, node.Text(sampled))
}

// Direct makes a controller read them and decide on events and samples, with a sync period of a minute.
func (k *Kubelets) Direct(c *controllerhorizontal.Config) {
	options := kubelet.DefaultOptions()
	nodes, err := podusage.New(podusage.Config{
		Scraper: func(store *kubeletrate.Store) (podusage.Scraper, error) { return &scraper{k, store}, nil },
		Target:  options.Target, Rounds: k.Rounds, Registerer: k.W.Registry, Log: c.Log,
		Nodes: func() cache.SharedIndexInformer {
			return informers.NewSharedInformerFactoryWithOptions(k.W.Client, 0,
				informers.WithTransform(slim.Transform)).Core().V1().Nodes().Informer()
		},
	})
	if err != nil {
		k.W.T.Fatal(err)
	}
	c.Direct = nodes.Subscribe(podusage.Cadence{})
	if k.IsPatient {
		c.Direct = patient{c.Direct}
	}
	k.Prompt(c)
}

// Prompt makes a controller decide on events and samples, and records the times of its decisions.
func (k *Kubelets) Prompt(c *controllerhorizontal.Config) {
	c.Triggers, c.SyncPeriod = true, time.Minute
	c.Log = funcr.New(func(_, args string) {
		k.W.Set(func() {
			k.W.Logs = append(k.W.Logs, args)
			if strings.Contains(args, `"msg"="decided"`) || strings.Contains(args, `"msg"="scaled"`) ||
				strings.Contains(args, `"msg"="decision deferred until newer samples arrive"`) {
				k.decided = append(k.decided, time.Now())
			}
		})
	}, funcr.Options{Verbosity: 1})
}

// Decisions returns those since the last call.
func (k *Kubelets) Decisions() []time.Time {
	k.W.Mu.Lock()
	defer k.W.Mu.Unlock()
	all := k.decided
	k.decided = nil
	return all
}

// Onto distributes a target's pods over nodes in turn.
func (w *World) Onto(name string, replicas int, nodes ...string) {
	w.T.Helper()
	for i := range replicas {
		w.ChangePod(fmt.Sprintf("%s-%d", name, i), func(p *corev1.Pod) { p.Spec.NodeName = nodes[i%len(nodes)] })
	}
}

// ChangePod changes a pod.
func (w *World) ChangePod(name string, change func(*corev1.Pod)) {
	w.T.Helper()
	object, err := w.Client.Tracker().Get(PodResource, "shop", name)
	if err != nil {
		w.T.Fatal(err)
	}
	p := object.(*corev1.Pod).DeepCopy()
	change(p)
	w.Store(PodResource, p)
}

// Logged counts the lines of the log that have a part.
func (w *World) Logged(part string) int {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	return strings.Count(strings.Join(w.Logs, "\n"), part)
}

// Multitude adds objects with a pod on each of two nodes, whose kubelets have not been read yet.
func (w *World) Multitude(objects int) {
	w.T.Helper()
	for i := range objects {
		name := fmt.Sprint("web", i)
		hpa := w.Web(name, 2)
		hpa.UID = uuid.NewUUID() // the phases depend on the UIDs
		w.AddHPA(hpa)
		w.Onto(name, 2, "a", "b")
	}
}

// DecidedOn counts the objects that were decided with metrics.
func (w *World) DecidedOn(objects int) (n int) {
	w.T.Helper()
	for i := range objects {
		if w.Condition(fmt.Sprint("web", i), autoscalingv2.ScalingActive) == "True ValidMetricFound" {
			n++
		}
	}
	return n
}

// Usual sets the programs' default sync period.
func Usual(c *controllerhorizontal.Config) { c.SyncPeriod = 15 * time.Second }
