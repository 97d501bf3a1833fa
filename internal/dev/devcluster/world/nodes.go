package world

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// node is a machine and the pods that run on it.
type node struct {
	sim       *workloadmodel.Node
	startedAt time.Time // zero until the Node object has arrived
	pods      map[*pod]bool
}

// node returns the node of this name. Pods may name a node whose object has not arrived: until then it has no bound.
func (w *state) node(name string) *node {
	n := w.nodes[name]
	if n == nil {
		n = &node{sim: w.model.AddNode(name, 0), pods: map[*pod]bool{}}
		w.nodes[name] = n
	}
	return n
}

func (w *World) setNode(object *corev1.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.node(object.Name)
	n.startedAt = object.CreationTimestamp.Time
	n.sim.SetCapacity(milli(object.Status.Capacity, corev1.ResourceCPU))
}

// deleteNode forgets the object; the node itself stays for the pods that are still on it, and for its return.
func (w *World) deleteNode(object *corev1.Node) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.node(object.Name).startedAt = time.Time{}
}
