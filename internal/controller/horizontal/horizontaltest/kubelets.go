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

// Kubelets answer for the pods of the world's nodes.
type Kubelets struct {
	W *World
	// The following are guarded by the world's lock: what each pod uses, its counter
	// and when that was read; nodes that do not answer; when each node was asked.
	Milli   int64
	Counter map[string]int64
	read    map[string]time.Time
	Broken  map[string]bool
	Asked   map[string][]time.Time
	// Of is what a pod uses; milli without it.
	Of func(pod string) int64
	// Frozen is when all samples are of, however often they are asked for; zero if they
	// are new each time.
	Frozen  time.Time
	decided []time.Time

	// Rounds has the budget.
	Rounds scrape.Config[kubelet.Target]
	// IsPatient is set if no node goes before others, whatever the decisions say.
	IsPatient bool
}

// patient never hurries.
type patient struct{ readings.Direct }

// Prefer implements readings.Direct.
func (patient) Prefer(bool, ...string) {}

// Kubelets adds nodes. What starts with direct reads them.
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

// scraper asks kubelets.
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

// Direct makes a controller read them and react to what it sees. A minute without
// a decision is otherwise no silence.
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

// Prompt makes a controller react to what it sees, and notes its decisions.
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

// Decisions takes those since the last call.
func (k *Kubelets) Decisions() []time.Time {
	k.W.Mu.Lock()
	defer k.W.Mu.Unlock()
	all := k.decided
	k.decided = nil
	return all
}

// Onto puts a target's pods onto nodes in turn.
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

// Multitude adds so many objects with a pod on each of two nodes, whose kubelets have
// not been read yet.
func (w *World) Multitude(objects int) {
	w.T.Helper()
	for i := range objects {
		name := fmt.Sprint("web", i)
		hpa := w.Web(name, 2)
		hpa.UID = uuid.NewUUID() // the phases come of them
		w.AddHPA(hpa)
		w.Onto(name, 2, "a", "b")
	}
}

// DecidedOn counts the objects that were decided on metrics.
func (w *World) DecidedOn(objects int) (n int) {
	w.T.Helper()
	for i := range objects {
		if w.Condition(fmt.Sprint("web", i), autoscalingv2.ScalingActive) == "True ValidMetricFound" {
			n++
		}
	}
	return n
}

// Usual is the sync period that the programs have.
func Usual(c *controllerhorizontal.Config) { c.SyncPeriod = 15 * time.Second }
