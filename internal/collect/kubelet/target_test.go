package kubelet

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func node(port int32, addresses ...corev1.NodeAddress) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}
	n.Status.Addresses = addresses
	n.Status.DaemonEndpoints.KubeletEndpoint.Port = port
	return n
}

func TestTarget(t *testing.T) {
	ip := corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}
	ip6 := corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: "fd00::1"}
	name := corev1.NodeAddress{Type: corev1.NodeHostName, Address: "node-1.example"}
	external := corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: "192.0.2.1"}
	for why, tt := range map[string]struct {
		node   *corev1.Node
		change func(*Options)
		want   string // empty: none
	}{
		"the host name is the first of the default types": {node(10250, ip, name), nil, "node-1.example:10250"},
		"the order of types counts, not that of the node": {node(10250, external, ip, ip6), nil, "10.0.0.1:10250"},
		"types can be chosen": {node(10250, ip, name, external),
			func(o *Options) { o.PreferredAddressTypes = []string{"InternalDNS", "ExternalIP"} }, "192.0.2.1:10250"},
		"an IPv6 address":               {node(10250, ip6), nil, "[fd00::1]:10250"},
		"the port of the node's status": {node(12345, ip), nil, "10.0.0.1:12345"},
		"the flag's, if that one is not wanted": {node(12345, ip),
			func(o *Options) { o.UseNodeStatusPort, o.Port = false, 999 }, "10.0.0.1:999"},
		"the flag's, if there is none": {node(0, ip), func(o *Options) { o.Port = 999 }, "10.0.0.1:999"},
		"an empty address is none": {node(10250, corev1.NodeAddress{Type: corev1.NodeHostName}, ip), nil,
			"10.0.0.1:10250"},
		"no address":        {node(10250), nil, ""},
		"none of the types": {node(10250, ip), func(o *Options) { o.PreferredAddressTypes = []string{"Hostname"} }, ""},
	} {
		o := DefaultOptions()
		if tt.change != nil {
			tt.change(&o)
		}
		got, err := o.Target(tt.node)
		switch {
		case tt.want == "" && (err == nil || !strings.Contains(err.Error(), "node-1")):
			t.Errorf("%s: %v, %v", why, got, err)
		case tt.want != "" && (err != nil || got != Target{Node: "node-1", Address: tt.want}):
			t.Errorf("%s: %v, %v; want %s", why, got, err, tt.want)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	good := DefaultOptions()
	if err := good.Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	for name, change := range map[string]func(*Options){
		"--kubelet-preferred-address-types": func(o *Options) { o.PreferredAddressTypes = nil },
		"--kubelet-port=0":                  func(o *Options) { o.Port = 0 },
		"--kubelet-port=65536":              func(o *Options) { o.Port = 65536 },
		"--kubelet-insecure-tls":            func(o *Options) { o.InsecureTLS, o.CertificateAuthority = true, "ca.crt" },
		"--kubelet-client-key":              func(o *Options) { o.ClientCertificate = "tls.crt" },
		"--kubelet-client-certificate":      func(o *Options) { o.ClientKey = "tls.key" },
		"--kubelet-request-timeout":         func(o *Options) { o.RequestTimeout = 0 },
		"largest answer":                    func(o *Options) { o.MaxResponseBytes = 0 },
	} {
		o := DefaultOptions()
		change(&o)
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
