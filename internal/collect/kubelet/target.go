package kubelet

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// Target is a kubelet to scrape.
type Target struct {
	// Node is its name.
	Node string
	// Address is host:port.
	Address string
}

// Key implements scrape.Target.
func (t Target) Key() string { return t.Node }

// Phase implements scrape.Target: nodes are spread over the period.
func (t Target) Phase(period time.Duration) time.Duration { return timing.Phase(t.Node, period) }

// String is the kubelet's name in errors.
func (t Target) String() string { return fmt.Sprintf("kubelet of node %s at %s", t.Node, t.Address) }

// Target returns the address of a node's kubelet, from the addresses and daemonEndpoints of the node's status.
func (o *Options) Target(node *corev1.Node) (Target, error) {
	host := ""
	for _, wanted := range o.PreferredAddressTypes {
		if host = addressOf(node, wanted); host != "" {
			break
		}
	}
	if host == "" {
		return Target{}, fmt.Errorf("node %s has no address of the types %s (--kubelet-preferred-address-types)",
			node.Name, strings.Join(o.PreferredAddressTypes, ", "))
	}
	port := o.Port
	if named := int(node.Status.DaemonEndpoints.KubeletEndpoint.Port); o.UseNodeStatusPort && named != 0 {
		port = named
	}
	return Target{Node: node.Name, Address: net.JoinHostPort(host, strconv.Itoa(port))}, nil
}

func addressOf(node *corev1.Node, wanted string) string {
	for _, a := range node.Status.Addresses {
		if string(a.Type) == wanted && a.Address != "" {
			return a.Address
		}
	}
	return ""
}
