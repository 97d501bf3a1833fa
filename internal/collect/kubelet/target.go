package kubelet

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Target is a kubelet that can be asked.
type Target struct {
	// Node is its name.
	Node string
	// Address is host:port.
	Address string
}

// Target finds where a node's kubelet listens, from the node's status: its
// addresses and daemonEndpoints are all that is looked at.
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
