package reach

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseServer(t *testing.T) {
	for text, want := range map[string]Server{
		"prometheus.monitoring.svc:9090":               {Host: "prometheus.monitoring.svc", Port: 9090},
		"Prometheus.Monitoring.svc.cluster.local:9090": {Host: "prometheus.monitoring.svc", Port: 9090},
		"mimir.example.com:443=team-a,team-b":          {"mimir.example.com", 443, []string{"team-a", "team-b"}},
		"mimir.example.com:443=team-a,team-a":          {"mimir.example.com", 443, []string{"team-a"}},
		"192.0.2.7:9090":                               {Host: "192.0.2.7", Port: 9090},
		"[::ffff:192.0.2.7]:9090":                      {Host: "192.0.2.7", Port: 9090},
		"[2001:DB8:0::7]:9090=team-a":                  {"2001:db8::7", 9090, []string{"team-a"}},
		"127.0.0.1:9090":                               {Host: "127.0.0.1", Port: 9090},
		"169.254.20.10:9090":                           {Host: "169.254.20.10", Port: 9090},
	} {
		got, err := ParseServer(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", text, err, diff)
			continue
		}
		again, err := ParseServer(got.String())
		if diff := cmp.Diff(want, again); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", got, err, diff)
		}
	}
	for text, why := range map[string]string{
		"":                                "nothing",
		"prometheus.monitoring.svc":       "no port",
		"prometheus.monitoring.svc:":      "no port",
		"prometheus.monitoring.svc:0":     "port 0",
		"prometheus.monitoring.svc:http":  "a name for the port",
		"prometheus.monitoring.svc:65536": "a port beyond the last",
		"prometheus.monitoring.svc:+90":   "a sign",
		"prometheus:9090":                 "a Service of each namespace",
		"prometheus.monitoring.svc.:9090": "a dot at the end",
		"http://mimir.example.com:9090":   "a URL",
		"mimir.example.com:9090=":         "an empty namespace",
		"mimir.example.com:9090=a,":       "an empty namespace",
		"mimir.example.com:9090=A_b":      "not a namespace",
		"*.example.com:9090":              "a pattern",
		"user@mimir.example.com:9090":     "a user",
		"2001:db8::7:9090":                "no brackets",
		"[fe80::1%eth0]:9090":             "a zone",
		"0177.0.0.1:9090":                 "an address in octal",
		"127.1:9090":                      "an address with two numbers",
		"a.0x7f:9090":                     "a name that is read as a number",
		"0.0.0.0:9090":                    "an unspecified address",
		"[ff02::1]:9090":                  "multicast",
		"169.254.169.254:80":              "metadata",
		"[::ffff:169.254.169.254]:80":     "metadata in IPv6",
		"mimir.example.com\n:9090":        "a line end",
	} {
		if got, err := ParseServer(text); err == nil {
			t.Errorf("%q (%s) is read as %v", text, why, got)
		}
	}
}

func TestCheckServer(t *testing.T) {
	rules := Rules{}
	for _, text := range []string{"mimir.example.com:443", "prometheus.monitoring.svc:9090=team-b,team-c",
		"192.0.2.7:9090", "[2001:db8::7]:9090=team-b", "shop.team-a.svc:8443"} {
		server, err := ParseServer(text)
		if err != nil {
			t.Fatal(err)
		}
		rules.Servers = append(rules.Servers, server)
	}
	for name, c := range map[string]struct {
		// namespace is team-a if it is empty, and port 9090 if it is 0.
		namespace, host string
		port            uint16
		want            Route
	}{
		"own Service":                   {host: "prometheus", want: Route{Service: "prometheus"}},
		"own Service, upper case":       {host: "Prometheus", want: Route{Service: "prometheus"}},
		"own Service, namespace":        {host: "prometheus.team-a", want: Route{Service: "prometheus"}},
		"own Service, svc":              {host: "prometheus.team-a.svc", want: Route{Service: "prometheus"}},
		"own Service, domain":           {host: "prometheus.team-a.svc.cluster.local", want: Route{Service: "prometheus"}},
		"own Service, any port":         {host: "prometheus", port: 22, want: Route{Service: "prometheus"}},
		"own pod of a headless Service": {host: "pod-0.prometheus.team-a.svc"},
		"other namespace":               {host: "prometheus.kube-system"},
		"other namespace, svc":          {host: "prometheus.kube-system.svc"},
		"other namespace, domain":       {host: "prometheus.kube-system.svc.cluster.local"},
		"namespace that begins alike":   {host: "prometheus.team-a-2.svc"},
		"other domain":                  {host: "prometheus.team-a.svc.example.com"},
		"the API server":                {host: "kubernetes.default.svc", port: 443},
		"dot at the end":                {host: "prometheus.team-a.svc."},
		"permitted":                     {host: "mimir.example.com", port: 443, want: Route{Name: "mimir.example.com"}},
		"permitted, upper case":         {host: "MIMIR.example.com", port: 443, want: Route{Name: "mimir.example.com"}},
		"permitted, other port":         {host: "mimir.example.com", port: 8443},
		"below a permitted one":         {host: "a.mimir.example.com", port: 443},
		"ends as a permitted one":       {host: "notmimir.example.com", port: 443},
		"permitted to another":          {host: "prometheus.monitoring.svc"},
		"permitted to it": {namespace: "team-c", host: "prometheus.monitoring.svc",
			want: Route{Name: "prometheus.monitoring.svc"}},
		"permitted with the domain": {namespace: "team-c", host: "prometheus.monitoring.svc.cluster.local",
			want: Route{Name: "prometheus.monitoring.svc"}},
		"permitted, though it is own": {host: "shop.team-a.svc", port: 8443, want: Route{Name: "shop.team-a.svc"}},
		"address":                     {host: "192.0.2.7", want: Route{Address: netip.MustParseAddr("192.0.2.7")}},
		"address in IPv6":             {host: "::ffff:192.0.2.7", want: Route{Address: netip.MustParseAddr("192.0.2.7")}},
		"address, other port":         {host: "192.0.2.7", port: 9091},
		"address of another":          {host: "2001:db8::7"},
		"address, IPv6": {namespace: "team-b", host: "2001:DB8:0:0::7",
			want: Route{Address: netip.MustParseAddr("2001:db8::7")}},
		"address with a zone":       {namespace: "team-b", host: "2001:db8::7%eth0"},
		"address in brackets":       {namespace: "team-b", host: "[2001:db8::7]"},
		"metadata":                  {host: "169.254.169.254", port: 80},
		"metadata in IPv6":          {host: "::ffff:a9fe:a9fe", port: 80},
		"metadata as one number":    {host: "2852039166", port: 80},
		"metadata in hexadecimal":   {host: "0xa9fea9fe", port: 80},
		"metadata by name":          {host: "metadata.google.internal", port: 80},
		"loopback":                  {host: "127.0.0.1"},
		"loopback by name":          {host: "localhost", want: Route{Service: "localhost"}}, // which does not exist
		"a path into the API":       {host: "../../kube-system/services/x"},
		"a path, encoded":           {host: "..%2f..%2fx"},
		"line end":                  {host: "prometheus\r\nhost: x"},
		"nothing":                   {host: ""},
		"a long one":                {host: strings.Repeat("a", 254)},
		"cluster domain as it is":   {host: "svc.cluster.local"},
		"a Service of no namespace": {host: ".team-a.svc"},
	} {
		if c.namespace == "" {
			c.namespace = "team-a"
		}
		if c.port == 0 {
			c.port = 9090
		}
		got, err := rules.CheckServer(c.namespace, c.host, c.port)
		if got != c.want || (err == nil) != (c.want != Route{}) || err != nil && !errors.Is(err, ErrRefused) {
			t.Errorf("%s: %q: %+v, %v", name, c.host, got, err)
		}
	}
	if _, err := rules.CheckServer("team-a", "prometheus", 0); err == nil {
		t.Error("port 0 is permitted")
	}
	if route, err := rules.CheckServer("", "prometheus", 9090); err == nil {
		t.Errorf("without a namespace: %+v", route)
	}
}

// FuzzServer: every parsed server is formatted in a form that parses to the same, permits exactly the server that it
// names, and is never an address that no server has.
func FuzzServer(f *testing.F) {
	for _, seed := range []string{"prometheus.monitoring.svc:9090", "mimir.example.com:443=team-a,team-b",
		"[2001:db8::7]:9090", "192.0.2.7:1", "0x7f.1:80", "[::ffff:169.254.169.254]:80", "[fe80::1%eth0]:80",
		"a.svc.cluster.local.svc.cluster.local:1", "[64:ff9b::a9fe:a9fe]:80", "0177.0.0.1:80"} {
		f.Add(seed, "team-a")
	}
	f.Fuzz(func(t *testing.T, text, namespace string) {
		server, err := ParseServer(text)
		if err != nil {
			return
		}
		again, err := ParseServer(server.String())
		if diff := cmp.Diff(server, again); err != nil || diff != "" {
			t.Fatalf("%q: %v\n%s", server, err, diff)
		}
		if server.Port == 0 || strings.ContainsAny(server.Host, "% /\\@\r\n\x00") {
			t.Fatalf("%+v", server)
		}
		rules := Rules{Servers: []Server{server}}
		route, err := rules.CheckServer(namespace, server.Host, server.Port)
		checkRoute(t, server, namespace, route, err)
		if route, err = rules.CheckServer(namespace, server.Host, server.Port^1); err == nil && route.Service == "" {
			t.Fatalf("%q permits another port: %+v", server, route)
		}
	})
}

// checkRoute compares with a second implementation of the rules for servers.
func checkRoute(t *testing.T, server Server, namespace string, route Route, err error) {
	t.Helper()
	isMine := len(server.Namespaces) == 0
	for _, n := range server.Namespaces {
		isMine = isMine || n == namespace
	}
	switch {
	case !isMine && (route.Name != "" || route.Address.IsValid()):
		t.Fatalf("%q: namespace %q: %+v", server, namespace, route)
	case isMine && (err != nil || route.Service != ""):
		t.Fatalf("%q: namespace %q: %+v, %v", server, namespace, route, err)
	case !route.Address.IsValid():
		return
	}
	a := route.Address
	if a.Is4In6() || a.Zone() != "" || a.IsUnspecified() || a.IsMulticast() ||
		a == netip.MustParseAddr("169.254.169.254") {
		t.Fatalf("%q: %s", server, a)
	}
}
