package reach

import (
	"errors"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodes has one node, with addresses beside those of pods.
func nodes() *Nodes {
	n := NewNodes()
	n.Put(node("node-1", "10.0.0.1", "2001:db8::1", "node-1.example.com"))
	return n
}

func node(name string, addresses ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, address := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Address: address})
	}
	return n
}

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func TestCheckPod(t *testing.T) {
	everything := prefixes("0.0.0.0/0", "::/0")
	for name, c := range map[string]struct {
		address       string
		isHostNetwork bool
		cidrs         []netip.Prefix
		isPermitted   bool
	}{
		"private":                     {address: "10.1.2.3", isPermitted: true},
		"private, IPv6":               {address: "fd12:3456::7", isPermitted: true},
		"public, as in some clouds":   {address: "203.0.113.7", isPermitted: true},
		"class E, as in some clouds":  {address: "240.1.2.3", isPermitted: true},
		"shared address space":        {address: "100.64.3.4", isPermitted: true},
		"IPv4 in IPv6":                {address: "::ffff:10.1.2.3", isPermitted: true},
		"none":                        {},
		"loopback":                    {address: "127.0.0.1"},
		"loopback, another":           {address: "127.8.9.10"},
		"loopback, IPv6":              {address: "::1"},
		"loopback in IPv6":            {address: "::ffff:127.0.0.1"},
		"loopback, compatible":        {address: "::127.0.0.1"},
		"loopback, permitted":         {address: "127.8.9.10", cidrs: prefixes("127.0.0.0/8"), isPermitted: true},
		"loopback in IPv6, permitted": {address: "::ffff:127.8.9.10", cidrs: prefixes("127.0.0.0/8"), isPermitted: true},
		"loopback, other permitted":   {address: "::1", cidrs: prefixes("127.0.0.0/8")},
		"link-local":                  {address: "169.254.1.1"},
		"link-local, permitted":       {address: "169.254.1.1", cidrs: prefixes("169.254.1.0/24"), isPermitted: true},
		"link-local, IPv6":            {address: "fe80::1"},
		"zone":                        {address: "fe80::1%eth0", cidrs: everything},
		"zone of a private one":       {address: "fd12:3456::7%eth0", cidrs: everything},
		"site-local":                  {address: "fec0::1"},
		"unspecified":                 {address: "0.0.0.0", cidrs: everything},
		"this network":                {address: "0.1.2.3", cidrs: everything},
		"unspecified, IPv6":           {address: "::", cidrs: everything},
		"unspecified in IPv6":         {address: "::ffff:0.0.0.0", cidrs: everything},
		"multicast":                   {address: "224.0.0.1", cidrs: everything},
		"multicast, IPv6":             {address: "ff02::1", cidrs: everything},
		"broadcast":                   {address: "255.255.255.255", cidrs: everything},
		"metadata":                    {address: "169.254.169.254", cidrs: everything},
		"metadata in IPv6":            {address: "::ffff:169.254.169.254", cidrs: everything},
		"metadata behind NAT64":       {address: "64:ff9b::169.254.169.254", cidrs: everything},
		"metadata behind 6to4":        {address: "2002:a9fe:a9fe::1", cidrs: everything},
		"metadata, compatible":        {address: "::169.254.169.254"},
		"metadata, AWS IPv6":          {address: "fd00:ec2::254", cidrs: everything},
		"metadata, GCP IPv6":          {address: "fd20:ce::254", cidrs: everything},
		"metadata, ECS":               {address: "169.254.170.2", cidrs: everything},
		"metadata, EKS":               {address: "169.254.170.23", cidrs: everything},
		"metadata, Alibaba":           {address: "100.100.100.200", cidrs: everything},
		"metadata, Azure":             {address: "168.63.129.16", cidrs: everything},
		"node":                        {address: "10.0.0.1"},
		"node in IPv6":                {address: "::ffff:10.0.0.1"},
		"node, IPv6":                  {address: "2001:db8::1"},
		"beside the node":             {address: "10.0.0.2", isPermitted: true},
		"node, permitted":             {address: "10.0.0.1", cidrs: prefixes("10.0.0.0/24"), isPermitted: true},
		"host network":                {address: "10.0.0.2", isHostNetwork: true},
		"host network, permitted": {address: "10.0.0.2", isHostNetwork: true, cidrs: prefixes("10.0.0.0/24"),
			isPermitted: true},
		"host network and metadata": {address: "169.254.169.254", isHostNetwork: true, cidrs: everything},
	} {
		rules := Rules{PodCIDRs: c.cidrs, IsNode: nodes().Has}
		address, _ := netip.ParseAddr(c.address)
		err := rules.CheckPod(address, c.isHostNetwork)
		if (err == nil) != c.isPermitted || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %s: %v", name, c.address, err)
		}
	}
}

// TestCheckPodWithoutNodes: the zero value applies the rules, too.
func TestCheckPodWithoutNodes(t *testing.T) {
	var rules Rules
	if err := rules.CheckPod(netip.MustParseAddr("10.0.0.1"), false); err != nil {
		t.Error(err)
	}
	if err := rules.CheckPod(netip.MustParseAddr("127.0.0.1"), false); err == nil {
		t.Error("loopback is permitted")
	}
}

func TestNodes(t *testing.T) {
	shared, own := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("10.0.0.2")
	n := nodes()
	n.Put(node("node-2", "10.0.0.2", "192.0.2.1", "192.0.2.1"))
	n.Put(node("node-3", "192.0.2.1"))
	n.Remove("node-3")
	if !n.Has(shared) {
		t.Error("node-2 has it still")
	}
	// The address moves from node-2 to another.
	n.Put(node("node-2", "192.0.2.1"))
	if n.Has(own) {
		t.Error("no node has it any more")
	}
	n.Remove("node-2")
	n.Remove("node-2")
	n.Remove("node-1")
	if n.Has(shared) || len(n.nodes) > 0 || len(n.addresses) > 0 {
		t.Errorf("%v %v", n.nodes, n.addresses)
	}
}
