package samples

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/meter"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/world"
)

const namespace = "default"

// nodeNames are those of the simulated groups.
var nodeNames = []string{"a", "b", "c"}

// nodes answer with what the simulation read of them in the last whole second.
type nodes struct {
	// agents says that agents have new samples each second, and kubelets the same.
	agents bool

	// mu guards the following.
	mu       sync.Mutex
	answers  map[string]*kubelettest.Node
	isSilent map[string]bool
}

var errSilent = errors.New("no answer")

// sample keeps what the nodes answer now.
func (n *nodes) sample(w *world.World) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.answers, n.isSilent = map[string]*kubelettest.Node{}, map[string]bool{}
	for group, name := range nodeNames {
		// Other pods have new samples all the time, so that a node is not silent while those of the target have none.
		other := containerOf(w, "other", w.Time(0), meter.Reading{At: w.Now(), CPUSeconds: 1, MemoryBytes: 1})
		n.answers[name] = &kubelettest.Node{
			Pods: []kubelettest.Pod{{Namespace: "other", Name: "other", Containers: []kubelettest.Container{other}}},
		}
		n.isSilent[name] = w.IsSilent(group)
	}
	for _, p := range w.Pods() {
		node, pod := n.answers[nodeNames[p.Group]], kubelettest.Pod{Namespace: namespace, Name: p.Name}
		for k := range p.Containers {
			c := &p.Containers[k]
			r, isAny := p.Scraped(c, w.Now())
			if n.agents {
				r, isAny = p.Read(c, w.Now()), true
			}
			if isAny {
				pod.Containers = append(pod.Containers, containerOf(w, c.Name, w.Time(p.Running+p.ClockOffset), r))
			}
		}
		node.Pods = append(node.Pods, pod)
	}
}

func containerOf(w *world.World, name string, start time.Time, r meter.Reading) kubelettest.Container {
	return kubelettest.Container{
		Name: name, Start: start, CPUNanos: int64(r.CPUSeconds * 1e9), MemoryBytes: int64(r.MemoryBytes), At: w.Time(r.At),
	}
}

// answer puts a node's answer into a store, of all containers or of those that are wanted.
func (n *nodes) answer(node string, store *rate.Store, wanted func(pod, container string) bool) (rate.Round, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.isSilent[node] {
		return rate.Round{}, errSilent
	}
	var text kubelettest.Node
	if n.answers == nil {
		return store.Ingest(node, time.Now(), text.Text(time.Now()))
	}
	for _, pod := range n.answers[node].Pods {
		all := pod.Containers
		pod.Containers = nil
		for _, c := range all {
			if wanted(pod.Name, c.Name) {
				pod.Containers = append(pod.Containers, c)
			}
		}
		text.Pods = append(text.Pods, pod)
	}
	now := time.Now()
	return store.Ingest(node, now, text.Text(now))
}

// fromKubelets and fromAgents read the nodes.
type (
	fromKubelets struct {
		*nodes
		store *rate.Store
	}
	fromAgents struct {
		*nodes
		store *rate.Store
	}
)

// Scrape implements podusage.Scraper.
func (f fromKubelets) Scrape(_ context.Context, target kubelet.Target, _ *selection.Prepared) (rate.Round, error) {
	return f.answer(target.Node, f.store, func(string, string) bool { return true })
}

// Scrape implements podusage.AgentScraper.
func (f fromAgents) Scrape(
	_ context.Context, target kubelet.Target, prepared *selection.Prepared,
) (rate.Round, error) {
	containers, err := selection.Decode(prepared.Text)
	if err != nil {
		return rate.Round{}, err
	}
	wanted := map[[2]string]bool{}
	for i := range containers {
		wanted[[2]string{containers[i].Pod, containers[i].Name}] = true
	}
	return f.answer(target.Node, f.store, func(pod, container string) bool { return wanted[[2]string{pod, container}] })
}

// Contention implements podusage.AgentScraper.
func (f fromAgents) Contention(context.Context, kubelet.Target, *selection.Prepared) ([]byte, error) {
	return nil, nil
}

// Forget implements podusage.AgentScraper.
func (f fromAgents) Forget(string) {}

// start runs a source that reads the nodes until the test ends, agents so often if there are any.
func (n *nodes) start(t *testing.T, agents time.Duration) *podusage.Subscription {
	t.Helper()
	client := fake.NewSimpleClientset()
	for _, name := range nodeNames {
		_, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status:     corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	options := kubelet.DefaultOptions()
	config := podusage.Config{
		Scraper: func(store *rate.Store) (podusage.Scraper, error) { return fromKubelets{n, store}, nil },
		Target:  options.Target, Registerer: prometheus.NewRegistry(), Log: logr.Discard(),
		Nodes: func() cache.SharedIndexInformer {
			return informers.NewSharedInformerFactory(client, 0).Core().V1().Nodes().Informer()
		},
	}
	if n.agents = agents > 0; n.agents {
		config.Agents = &podusage.Agents{
			Scraper: func(store *rate.Store) (podusage.AgentScraper, error) { return fromAgents{n, store}, nil },
			Find:    func(string) (string, bool) { return "10.0.0.1:8443", true },
			Rounds:  scrape.Config[kubelet.Target]{Period: agents},
		}
	}
	service, err := podusage.New(config)
	if err != nil {
		t.Fatal(err)
	}
	s := service.Subscribe(podusage.Cadence{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx, podusage.Watch{
			Nodes: func(dst []string) []string { return append(dst, nodeNames...) },
			Moved: make(chan struct{}),
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return s
}

// await has the first pods asked for before anything is known of them: agents answer only what they are asked for.
func (n *nodes) await(s *podusage.Subscription) {
	var pods []*observe.Pod
	for i := range firstReplicas {
		name := fmt.Sprintf("workload-%d", i)
		of := apiPod(name, nodeNames[i%len(nodeNames)], []string{"app", "proxy", "second"})
		of.Status.Phase = corev1.PodRunning
		pods = append(pods, translated(of))
	}
	for range 20 {
		<-time.After(100 * time.Millisecond)
		var v podusage.View
		_ = look(s, pods, &v) // nothing is known
	}
}

// look reads what is known of the pods, as a loop does. None are those of no decision, which changes nothing.
func look(s *podusage.Subscription, pods []*observe.Pod, v *podusage.View) error {
	now := time.Now()
	if pods != nil {
		s.Set(observe.HPA(namespace, "workload"), pods)
	}
	err := s.Latest(now, pods, v)
	s.ReportMissing(now, pods, v)
	return err
}

// apiPod is a pod whose containers run.
func apiPod(name, node string, containers []string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)},
		Spec:       corev1.PodSpec{NodeName: node},
	}
	for _, c := range containers {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c, ContainerID: "containerd://" + name + "-" + c,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		})
	}
	return p
}

func translated(p *corev1.Pod) *observe.Pod {
	pod := observe.PodOf(p)
	pod.Running = observe.RunningOf(p)
	return pod
}

// podsOf are the pods of the last decision as the API has them, or none where they are not those that there are.
func (n *nodes) podsOf(w *world.World, pods []metric.Pod, isCurrent bool) []*observe.Pod {
	if !isCurrent {
		return nil
	}
	all := make([]*observe.Pod, len(pods))
	for i, p := range w.Pods() {
		node, containers := "", []string(nil)
		if p.IsPlaced {
			node = nodeNames[p.Group]
		}
		for k := range p.Containers {
			containers = append(containers, p.Containers[k].Name)
		}
		all[i] = translated(apiPod(p.Name, node, containers))
		if all[i].Pod = pods[i]; p.IsRunning {
			// Simulated agents read a container from its start on, whether or not somebody has decided since.
			all[i].Phase = metric.PhaseRunning
		}
	}
	return all
}
