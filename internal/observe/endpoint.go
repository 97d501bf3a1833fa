package observe

import (
	"net/netip"
	"strconv"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
)

// endpoint has the address and ports of a pod. It is small, as a cluster has many pods.
type endpoint struct {
	// address is the pod's own, in the form of an IPv6 address; the unspecified one if it has none.
	address       [16]byte
	isHostNetwork bool
	ports         ports
}

// endpointOf takes the address that the kubelet reports.
func endpointOf(pod *corev1.Pod) endpoint {
	e := endpoint{isHostNetwork: pod.Spec.HostNetwork, ports: portsOf(pod)}
	if address, err := netip.ParseAddr(pod.Status.PodIP); err == nil && address.Zone() == "" {
		e.address = address.As16()
	}
	return e
}

// Address returns the pod's address; invalid if it has none yet.
func (p *Pod) Address() netip.Addr {
	if p.endpoint.address == [16]byte{} {
		return netip.Addr{}
	}
	return netip.AddrFrom16(p.endpoint.address).Unmap()
}

// IsHostNetwork reports whether the pod's address is that of its node.
func (p *Pod) IsHostNetwork() bool { return p.endpoint.isHostNetwork }

// Port returns the number of the TCP port with this name of the pod's containers, the first one as with probes and
// Services.
func (p *Pod) Port(name string) (number uint16, has bool) { return p.endpoint.ports.find(name) }

// ports are the named TCP ports of a pod's containers. The pods of a workload have the same ports, and share them.
type ports struct{ text unique.Handle[string] }

const (
	// nameEnd follows each name, portEnd each number. No valid name contains them.
	nameEnd = "="
	portEnd = ","
)

func portsOf(pod *corev1.Pod) ports {
	var text strings.Builder
	for c := range Lasting(pod) {
		for i := range c.Ports {
			port := &c.Ports[i]
			if port.Name == "" || port.Protocol != "" && port.Protocol != corev1.ProtocolTCP {
				continue
			}
			text.WriteString(port.Name)
			text.WriteString(nameEnd)
			text.WriteString(strconv.Itoa(int(port.ContainerPort)))
			text.WriteString(portEnd)
		}
	}
	return ports{unique.Make(text.String())}
}

func (p ports) find(name string) (number uint16, has bool) {
	if p == (ports{}) {
		return 0, false
	}
	for rest := p.text.Value(); rest != ""; {
		port, after, _ := strings.Cut(rest, portEnd)
		if found, number, _ := strings.Cut(port, nameEnd); found == name {
			n, err := strconv.ParseUint(number, 10, 16)
			return uint16(n), err == nil && n > 0
		}
		rest = after
	}
	return 0, false
}
