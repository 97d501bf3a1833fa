package world

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// Supply has the nodes. The zero value is room without end, without contention for
// CPU.
type Supply struct {
	// CPUMilli is the CPU of a node for pods; 0 means that there is always room.
	CPUMilli float64
	// Nodes are there from the beginning and stay.
	Nodes int
	// Delay is how long a node takes from when a pod finds no room.
	Delay time.Duration
	// IdleFor is how long an additional node is empty before it goes.
	IdleFor time.Duration
}

// Outage is a time in which neither the kubelets nor the agents of the first groups of nodes answer. Pods serve on.
type Outage struct {
	From, To time.Duration
	Groups   int
}

// HasOutages reports whether nodes ever do not answer.
func (w *World) HasOutages() bool { return len(w.config.Outages) > 0 }

// IsSilent reports whether the nodes of a group do not answer now.
func (w *World) IsSilent(group int) bool {
	return slices.ContainsFunc(w.config.Outages, func(o Outage) bool {
		return group < o.Groups && o.From <= w.now && w.now < o.To
	})
}

// node is a machine.
type node struct {
	model *workloadmodel.Node
	pods  int
	// emptySince is since when it has no pods.
	emptySince time.Duration
}

func (w *World) slots() int {
	request := w.config.Resources.CPURequestMilli
	for i := range w.config.Sidecars {
		request += w.config.Sidecars[i].CPURequestMilli
	}
	return max(1, int(w.config.Supply.CPUMilli/max(1, request)))
}

// place gives waiting pods a node, as far as there is room, and orders nodes for the
// others.
func (w *World) place() {
	if w.waiting == 0 {
		return
	}
	waiting := 0
	for _, p := range w.pods {
		if p.IsPlaced || p.Deleting {
			continue
		}
		n, found := w.room()
		if !found {
			waiting++
			continue
		}
		w.settle(p, n)
	}
	w.waiting = waiting
	for slots := w.slots(); len(w.ordered)*slots < waiting; {
		w.ordered = append(w.ordered, w.now+w.config.Supply.Delay)
	}
}

// room is a node with room: the fullest of them, so that others become empty. It is
// nil where nodes do not matter.
func (w *World) room() (best *node, found bool) {
	if w.config.Supply.CPUMilli <= 0 {
		return nil, true
	}
	slots := w.slots()
	for _, n := range w.nodes {
		if n.pods < slots && (best == nil || n.pods > best.pods) {
			best = n
		}
	}
	return best, best != nil
}

// settle gives a pod its node; from then on its start takes its time.
func (w *World) settle(p *Pod, n *node) {
	p.node, p.IsPlaced, p.Placed = n, true, w.now
	p.Running = w.now + w.config.StartAfter
	p.Ready = p.Running + w.config.ReadyAfter
	if n != nil {
		n.pods++
	}
	w.starting = append(w.starting, p)
}

func (w *World) vacate(p *Pod) {
	if p.node == nil {
		return
	}
	p.node.pods--
	p.node.emptySince = w.now
	w.waiting++ // a pod may fit now; place counts anew
	p.node = nil
}

func (w *World) addNode() {
	name := fmt.Sprintf("node-%d", w.nodesBorn)
	w.nodesBorn++
	w.nodes = append(w.nodes, &node{model: w.model.AddNode(name, w.config.Supply.CPUMilli), emptySince: w.now})
	w.waiting++
}

// supply adds nodes that have started and removes those that are not needed.
func (w *World) supply() {
	for len(w.ordered) > 0 && w.ordered[0] <= w.now {
		w.ordered = w.ordered[1:]
		w.addNode()
	}
	for i := len(w.nodes) - 1; i >= w.config.Supply.Nodes && w.config.Supply.IdleFor > 0; i-- {
		if n := w.nodes[i]; n.pods == 0 && w.now-n.emptySince >= w.config.Supply.IdleFor {
			// An empty node costs the model nothing; it stays there under its name.
			w.nodes = append(w.nodes[:i], w.nodes[i+1:]...)
		}
	}
}
