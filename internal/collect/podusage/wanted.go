package podusage

import (
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/subscriptions"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// wantedPods holds the pods of a subscription's objects by node: those to request from the agents.
type wantedPods struct {
	table *subscriptions.Table[*observe.Pod, *wantedPod]

	// mu guards the following. Calls of the table need it.
	mu    sync.Mutex
	nodes map[string]*wantedNode
}

type wantedNode struct {
	pods map[podName]*wantedPod
	// prepared is the selection of the pods' containers; nil if they have changed since.
	prepared *selection.Prepared
	// missing is the last time at which the agent lacked a ready pod.
	missing time.Time
}

type podName struct{ namespace, name string }

// wantedPod is a pod, with the number of objects that have it.
type wantedPod struct {
	podName
	node    string
	running *observe.Running
	objects int
}

func newWantedPods() *wantedPods {
	w := &wantedPods{nodes: map[string]*wantedNode{}}
	w.table = subscriptions.New(subscriptions.Config[*observe.Pod, *wantedPod]{Begin: w.begin, End: w.end})
	return w
}

// canBeSelected reports whether a request to an agent can name a pod: its containers run, and their IDs are set.
func canBeSelected(pod *observe.Pod) bool {
	return pod.Phase == metric.PhaseRunning && !pod.Deleting && pod.Node() != "" && pod.Running != nil
}

// begin selects the containers that run now; nil if a request cannot name them. When a pod's status has changed, the
// table begins the new one before it ends the old.
func (w *wantedPods) begin(_ observe.Key, of **observe.Pod) *wantedPod {
	pod := *of
	if !canBeSelected(pod) {
		return nil
	}
	name := podName{pod.Namespace(), pod.Name}
	w.mu.Lock()
	defer w.mu.Unlock()
	node := w.nodes[pod.Node()]
	if node == nil {
		node = &wantedNode{pods: map[podName]*wantedPod{}}
		w.nodes[pod.Node()] = node
	}
	known := node.pods[name]
	if known == nil {
		known = &wantedPod{podName: name, node: pod.Node()}
		node.pods[name] = known
	}
	known.objects++
	if !known.running.Equal(pod.Running) {
		node.prepared = nil
	}
	known.running = pod.Running
	return known
}

func (w *wantedPods) end(pod *wantedPod) {
	if pod == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if pod.objects--; pod.objects > 0 {
		return
	}
	node := w.nodes[pod.node]
	delete(node.pods, pod.podName)
	node.prepared = nil
	if len(node.pods) == 0 {
		delete(w.nodes, pod.node)
	}
}

// selected returns the selection for the agent of a node; nil for none.
func (w *wantedPods) selected(node string) *selection.Prepared {
	w.mu.Lock()
	defer w.mu.Unlock()
	of := w.nodes[node]
	if of == nil {
		return nil
	}
	if of.prepared == nil {
		of.prepared = selection.Prepare(of.containers())
	}
	return of.prepared
}

// containers returns those of all pods, up to the limit of a request.
func (w *wantedNode) containers() []selection.Container {
	var all []selection.Container
	left := selection.MaxBytes
	for name, pod := range w.pods {
		for _, c := range pod.running.Containers {
			wanted := selection.Container{
				PodUID: pod.running.PodUID, ID: c.ID, Namespace: name.namespace, Pod: name.name, Name: c.Name,
			}
			if left -= wanted.Bytes(); len(all) == selection.MaxContainers || left < 0 {
				return all
			}
			if wanted.IsValid() {
				all = append(all, wanted)
			}
		}
	}
	return all
}

// each calls yield with the pods of a node and their number of running containers, until it returns false.
func (w *wantedPods) each(node string, yield func(name podName, containers int) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	of := w.nodes[node]
	if of == nil {
		return
	}
	for name, pod := range of.pods {
		if !yield(name, len(pod.running.Containers)) {
			return
		}
	}
}

// lastMissing returns the last time at which the agent lacked a ready pod of the node.
func (w *wantedPods) lastMissing(node string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if of := w.nodes[node]; of != nil {
		return of.missing
	}
	return time.Time{}
}

// setMissing records that the agent lacks a ready pod of the node. It returns the time before that.
func (w *wantedPods) setMissing(node string, now time.Time) (before time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	of := w.nodes[node]
	if of == nil {
		return before, false
	}
	before, of.missing = of.missing, now
	return before, true
}
