package reach

import (
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// Nodes holds the addresses of the cluster's nodes. It is safe for concurrent use.
type Nodes struct {
	// mu guards the following.
	mu sync.RWMutex
	// addresses has the addresses of each node.
	addresses map[string][]netip.Addr
	// nodes counts the nodes with each address.
	nodes map[netip.Addr]int
}

// NewNodes returns Nodes without addresses.
func NewNodes() *Nodes {
	return &Nodes{addresses: map[string][]netip.Addr{}, nodes: map[netip.Addr]int{}}
}

// Put adds or replaces a node, from its status.
func (n *Nodes) Put(node *corev1.Node) {
	var addresses []netip.Addr
	for _, a := range node.Status.Addresses {
		// Names of nodes are among the addresses.
		if address, err := netip.ParseAddr(a.Address); err == nil {
			addresses = append(addresses, address.WithZone("").Unmap())
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.removeLocked(node.Name)
	if len(addresses) == 0 {
		return
	}
	n.addresses[node.Name] = addresses
	for _, address := range addresses {
		n.nodes[address]++
	}
}

// Remove forgets a node.
func (n *Nodes) Remove(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.removeLocked(name)
}

func (n *Nodes) removeLocked(name string) {
	for _, address := range n.addresses[name] {
		if n.nodes[address]--; n.nodes[address] == 0 {
			delete(n.nodes, address)
		}
	}
	delete(n.addresses, name)
}

// Has reports whether a node has the address.
func (n *Nodes) Has(address netip.Addr) bool {
	address = address.WithZone("").Unmap()
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.nodes[address] > 0
}
