package sources

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/collect/reach"
)

// nodes follows the addresses of the cluster's nodes from the first connection on. Without objects with a metric that
// Plimsoll reads itself, it follows nothing.
type nodes struct {
	client    kubernetes.Interface
	addresses *reach.Nodes
	want      sync.Once
	wanted    chan struct{}
	// known is closed when the addresses of all nodes are known.
	known chan struct{}
}

func newNodes(client kubernetes.Interface) *nodes {
	return &nodes{
		client: client, addresses: reach.NewNodes(), wanted: make(chan struct{}), known: make(chan struct{}),
	}
}

// start makes wait work until the context ends. It is called once.
func (n *nodes) start(ctx context.Context) { go n.follow(ctx) }

func (n *nodes) follow(ctx context.Context) {
	select {
	case <-n.wanted:
	case <-ctx.Done():
		return
	}
	factory := informers.NewSharedInformerFactoryWithOptions(n.client, 0, informers.WithTransform(onlyAddresses))
	put := func(object any) {
		if node, ok := object.(*corev1.Node); ok {
			n.addresses.Put(node)
		}
	}
	registration, err := factory.Core().V1().Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    put,
		UpdateFunc: func(_, object any) { put(object) },
		DeleteFunc: func(object any) {
			if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
				n.addresses.Remove(key)
			}
		},
	})
	if err != nil {
		// AddEventHandler fails only after the informer has ended. Then there are no connections.
		return
	}
	factory.Start(ctx.Done())
	if cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		close(n.known)
	}
}

// onlyAddresses keeps the name and the addresses of a node.
func onlyAddresses(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, ResourceVersion: node.ResourceVersion},
		Status:     corev1.NodeStatus{Addresses: node.Status.Addresses},
	}, nil
}

// wait waits until the addresses are known. Before, no connection is permitted.
func (n *nodes) wait(ctx context.Context) error {
	n.want.Do(func() { close(n.wanted) })
	select {
	case <-n.known:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the addresses of nodes: %w", ctx.Err())
	}
}

// dialer is a reach.Dialer with the addresses of the nodes.
type dialer struct {
	reach *reach.Dialer
	nodes *nodes
}

func (d *dialer) Dial(ctx context.Context, namespace, host string, port uint16) (net.Conn, error) {
	if err := d.nodes.wait(ctx); err != nil {
		return nil, err
	}
	return d.reach.Dial(ctx, namespace, host, port)
}

func (d *dialer) Resolve(
	ctx context.Context, namespace, host string, port uint16,
) (connect func(context.Context) (net.Conn, error), err error) {
	if err := d.nodes.wait(ctx); err != nil {
		return nil, err
	}
	return d.reach.Resolve(ctx, namespace, host, port)
}

func (d *dialer) DialPod(ctx context.Context, address netip.AddrPort, isHostNetwork bool) (net.Conn, error) {
	if err := d.nodes.wait(ctx); err != nil {
		return nil, err
	}
	return d.reach.DialPod(ctx, address, isHostNetwork)
}
