package reach

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// network fakes DNS, Services and connections.
type network struct {
	// dns has the responses for each name, one for each query; the last repeats.
	dns map[string][]string
	// services has the addresses of each namespace/name.
	services map[string]string
	// refused addresses do not answer.
	refused string
	// asked and connected record the queries and connections.
	asked, connected []string
}

func (n *network) dialer(rules Rules) *Dialer {
	return NewDialer(Config{Rules: rules, Services: n.find, Lookup: n.lookup, Connect: n.connect})
}

func (n *network) lookup(_ context.Context, name string) ([]netip.Addr, error) {
	n.asked = append(n.asked, name)
	answers := n.dns[name]
	if len(answers) == 0 {
		return nil, &net.DNSError{Name: name, Err: "no such host", IsNotFound: true}
	}
	if len(answers) > 1 {
		n.dns[name] = answers[1:]
	}
	var addresses []netip.Addr
	for address := range strings.FieldsSeq(answers[0]) {
		addresses = append(addresses, netip.MustParseAddr(address))
	}
	return addresses, nil
}

func (n *network) find(_ context.Context, namespace, name string, port uint16) ([]netip.AddrPort, error) {
	found, has := n.services[namespace+"/"+name]
	if !has {
		return nil, errors.New("not found")
	}
	var addresses []netip.AddrPort
	for address := range strings.FieldsSeq(found) {
		addresses = append(addresses, netip.AddrPortFrom(netip.MustParseAddr(address), port+1))
	}
	return addresses, nil
}

func (n *network) connect(_ context.Context, address netip.AddrPort) (net.Conn, error) {
	n.connected = append(n.connected, address.String())
	if strings.Contains(" "+n.refused+" ", " "+address.Addr().String()+" ") {
		return nil, errors.New("connection refused")
	}
	here, _ := net.Pipe()
	return here, nil
}

// mimir is permitted, and so is a Prometheus.
func mimir() Rules {
	return Rules{
		Servers: []Server{{Host: "mimir.example.com", Port: 443}, {Host: "prometheus.monitoring.svc", Port: 9090},
			{Host: "127.0.0.1", Port: 9090}},
		IsNode: nodes().Has,
	}
}

func TestDial(t *testing.T) {
	for name, c := range map[string]struct {
		host      string
		port      uint16
		network   network
		connected string
		isFailing bool
	}{
		"name": {host: "mimir.example.com", port: 443,
			network:   network{dns: map[string][]string{"mimir.example.com.": {"192.0.2.7"}}},
			connected: "192.0.2.7:443"},
		"name, the first address is refused": {host: "mimir.example.com", port: 443,
			network:   network{dns: map[string][]string{"mimir.example.com.": {"192.0.2.7 192.0.2.8"}}, refused: "192.0.2.7"},
			connected: "192.0.2.7:443 192.0.2.8:443"},
		"name, many addresses": {host: "mimir.example.com", port: 443,
			network: network{dns: map[string][]string{"mimir.example.com.": {"192.0.2.1 192.0.2.2 192.0.2.3 192.0.2.4"}},
				refused: "192.0.2.1 192.0.2.2 192.0.2.3"},
			connected: "192.0.2.1:443 192.0.2.2:443 192.0.2.3:443", isFailing: true},
		"name with the address of a node": {host: "mimir.example.com", port: 443,
			network:   network{dns: map[string][]string{"mimir.example.com.": {"10.0.0.1"}}},
			connected: "10.0.0.1:443"},
		"name behind NAT64": {host: "mimir.example.com", port: 443,
			network:   network{dns: map[string][]string{"mimir.example.com.": {"64:ff9b::192.0.2.7"}}},
			connected: "[64:ff9b::c000:207]:443"},
		"DNS has metadata": {host: "mimir.example.com", port: 443, isFailing: true,
			network: network{dns: map[string][]string{"mimir.example.com.": {"169.254.169.254"}}}},
		"DNS has metadata in IPv6": {host: "mimir.example.com", port: 443, isFailing: true,
			network: network{dns: map[string][]string{"mimir.example.com.": {"::ffff:169.254.169.254"}}}},
		"DNS has metadata behind NAT64": {host: "mimir.example.com", port: 443, isFailing: true,
			network: network{dns: map[string][]string{"mimir.example.com.": {"64:ff9b::169.254.169.254"}}}},
		"DNS has loopback behind NAT64": {host: "mimir.example.com", port: 443, isFailing: true,
			network: network{dns: map[string][]string{"mimir.example.com.": {"64:ff9b::127.0.0.1"}}}},
		"DNS has a compatible address": {host: "mimir.example.com", port: 443, isFailing: true,
			network: network{dns: map[string][]string{"mimir.example.com.": {"::169.254.169.254"}}}},
		"DNS has a link-local address": {host: "mimir.example.com", port: 443, isFailing: true,
			network: network{dns: map[string][]string{"mimir.example.com.": {"fe80::1"}}}},
		"DNS has a zone": {host: "mimir.example.com", port: 443, isFailing: true,
			network: network{dns: map[string][]string{"mimir.example.com.": {"fe80::1%eth0"}}}},
		"DNS has metadata among others": {host: "mimir.example.com", port: 443,
			network:   network{dns: map[string][]string{"mimir.example.com.": {"169.254.169.254 192.0.2.7"}}},
			connected: "192.0.2.7:443"},
		"DNS has nothing": {host: "mimir.example.com", port: 443, isFailing: true},
		"namespace com has a Service example": {host: "mimir.example.com", port: 443, isFailing: true,
			network: network{dns: map[string][]string{"mimir.example.com": {"10.6.6.6"}}}},
		"Service of another namespace": {host: "prometheus.monitoring.svc.cluster.local", port: 9090,
			network:   network{dns: map[string][]string{"prometheus.monitoring.svc.cluster.local.": {"10.96.0.7"}}},
			connected: "10.96.0.7:9090"},
		"namespace svc has a Service monitoring": {host: "prometheus.monitoring.svc", port: 9090,
			network: network{dns: map[string][]string{
				"prometheus.monitoring.svc.cluster.local.": {"10.96.0.7"}, "prometheus.monitoring.svc": {"10.6.6.6"}}},
			connected: "10.96.0.7:9090"},
		"a search domain has what is no Service": {host: "prometheus.monitoring.svc", port: 9090, isFailing: true,
			network: network{dns: map[string][]string{"prometheus.monitoring.svc": {"203.0.113.7"}}}},
		"literal loopback that is permitted": {host: "127.0.0.1", port: 9090, connected: "127.0.0.1:9090"},
		"own Service": {host: "shop", port: 80, connected: "10.1.0.7:81",
			network: network{services: map[string]string{"team-a/shop": "10.1.0.7"}}},
		"own Service of a pod with metadata": {host: "shop", port: 80, isFailing: true,
			network: network{services: map[string]string{"team-a/shop": "169.254.169.254"}}},
		"own Service of a pod with loopback": {host: "shop", port: 80, isFailing: true,
			network: network{services: map[string]string{"team-a/shop": "127.0.0.1 ::ffff:127.0.0.1 ::1"}}},
		"own Service of a pod with a node": {host: "shop", port: 80, connected: "10.1.0.7:81",
			network: network{services: map[string]string{"team-a/shop": "10.0.0.1 10.1.0.7"}}},
		"own Service without pods": {host: "shop", port: 80, isFailing: true,
			network: network{services: map[string]string{"team-a/shop": ""}}},
		"other namespace's Service": {host: "shop.team-b.svc", port: 80, isFailing: true,
			network: network{services: map[string]string{"team-b/shop": "10.1.0.7"}, dns: map[string][]string{
				"shop.team-b.svc.cluster.local.": {"10.1.0.7"}}}},
		"any other name": {host: "metadata.google.internal", port: 80, isFailing: true,
			network: network{dns: map[string][]string{"metadata.google.internal.": {"192.0.2.7"}}}},
	} {
		n := c.network
		_, err := n.dialer(mimir()).Dial(t.Context(), "team-a", c.host, c.port)
		if got := strings.Join(n.connected, " "); got != c.connected || (err != nil) != c.isFailing {
			t.Errorf("%s: connected to %q, want %q; %v", name, got, c.connected, err)
		}
	}
}

// TestRebinding: DNS that has a permitted address for the check, and another for a second query, is queried once.
func TestRebinding(t *testing.T) {
	n := &network{dns: map[string][]string{"mimir.example.com.": {"192.0.2.7", "169.254.169.254"}}}
	d := n.dialer(mimir())
	if _, err := d.Dial(t.Context(), "team-a", "mimir.example.com", 443); err != nil {
		t.Error(err)
	}
	if !slices.Equal(n.asked, []string{"mimir.example.com."}) || !slices.Equal(n.connected, []string{"192.0.2.7:443"}) {
		t.Errorf("asked for %q, connected to %q", n.asked, n.connected)
	}
	// The next connection is checked again.
	if _, err := d.Dial(t.Context(), "team-a", "mimir.example.com", 443); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	if len(n.connected) != 1 {
		t.Errorf("connected to %q", n.connected)
	}
}

// TestRefusedServerGetsNoRequest: an author cannot send DNS queries with names of his choice.
func TestRefusedServerGetsNoRequest(t *testing.T) {
	n := &network{}
	for _, host := range []string{"secret.attacker.example", "169.254.169.254", "shop.team-b.svc"} {
		if _, err := n.dialer(mimir()).Dial(t.Context(), "team-a", host, 80); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if len(n.asked)+len(n.connected) > 0 {
		t.Errorf("asked for %q, connected to %q", n.asked, n.connected)
	}
}

func TestDialPod(t *testing.T) {
	n := &network{}
	d := n.dialer(mimir())
	for _, c := range []struct {
		address       string
		isHostNetwork bool
	}{
		{"169.254.169.254:80", false}, {"127.0.0.1:8080", false}, {"10.0.0.1:10250", false}, {"10.1.0.7:80", true},
		{"[fe80::1%eth0]:80", false}, {"[::ffff:169.254.169.254]:80", false},
	} {
		if _, err := d.DialPod(t.Context(), netip.MustParseAddrPort(c.address), c.isHostNetwork); !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %v", c.address, err)
		}
	}
	if len(n.connected) > 0 {
		t.Errorf("connected to %q", n.connected)
	}
	if _, err := d.DialPod(t.Context(), netip.MustParseAddrPort("10.1.0.7:80"), false); err != nil {
		t.Error(err)
	}
}

// TestServicesOff: without a lister of Services there are none.
func TestServicesOff(t *testing.T) {
	n := &network{}
	d := NewDialer(Config{Lookup: n.lookup, Connect: n.connect})
	if _, err := d.Dial(t.Context(), "team-a", "shop", 80); err == nil || len(n.asked)+len(n.connected) > 0 {
		t.Errorf("%v; asked for %q, connected to %q", err, n.asked, n.connected)
	}
}

// TestSilentAddresses: addresses that do not answer take a part of the time each, and three seconds in all.
func TestSilentAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{dns: map[string][]string{"mimir.example.com.": {"192.0.2.1 192.0.2.2 192.0.2.3"}}}
		tried := 0
		d := NewDialer(Config{Rules: mimir(), Lookup: n.lookup,
			Connect: func(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
				tried++
				<-ctx.Done()
				return nil, ctx.Err()
			}})
		start := time.Now()
		_, err := d.Dial(t.Context(), "team-a", "mimir.example.com", 443)
		if took := time.Since(start); took != dialTimeout || tried != 3 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%d tried in %s: %v", tried, took, err)
		}
	})
}

// TestClusterDomain: Services of other namespaces are looked up in the domain of the cluster, and nowhere else.
func TestClusterDomain(t *testing.T) {
	var asked []string
	d := NewDialer(Config{Rules: mimir(), ClusterDomain: "corp.example",
		Lookup: func(_ context.Context, name string) ([]netip.Addr, error) {
			asked = append(asked, name)
			return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
		}})
	_, err := d.Dial(t.Context(), "team-a", "prometheus.monitoring.svc", 9090)
	if err == nil || !strings.Contains(err.Error(), "corp.example by --cluster-domain") {
		t.Errorf("%v", err)
	}
	if want := []string{"prometheus.monitoring.svc.corp.example."}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q", asked)
	}
}
