package sources

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/plimsoll-dev/plimsoll/internal/collect/externalscaler"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint"
	"github.com/plimsoll-dev/plimsoll/internal/collect/reach"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings/own"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// server is a Prometheus on a loopback address that counts requests, and its port.
func server(t *testing.T) (requests *atomic.Int32, authorized *atomic.Int32, port int32) {
	t.Helper()
	requests, authorized = &atomic.Int32{}, &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.Header.Get("Authorization") == "Bearer abc" {
			authorized.Add(1)
		}
		_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"scalar","result":[%d,"42"]}}`, time.Now().Unix())
	}))
	t.Cleanup(s.Close)
	_, text, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return requests, authorized, int32(number)
}

// cluster has Service prometheus of a pod on the loopback address, in namespace team-a.
func cluster(port int32, change func(*corev1.Service, *corev1.Pod, *corev1.Node)) []runtime.Object {
	meta := metav1.ObjectMeta{Namespace: "team-a", Name: "prometheus", Labels: map[string]string{"app": "prometheus"}}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Selector: meta.Labels, Ports: []corev1.ServicePort{{Port: 9090, TargetPort: intstr.FromString("http")}},
	}}
	pod := &corev1.Pod{
		ObjectMeta: meta,
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "app", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: port}}},
		}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "127.0.0.1",
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Status: corev1.NodeStatus{
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}}}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "token",
		Annotations: map[string]string{"plimsoll.dev/metric-hosts": "http://prometheus:9090"}},
		Data: map[string][]byte{"token": []byte("abc")}}
	if change != nil {
		change(service, pod, node)
	}
	return []runtime.Object{service, pod, node, secret}
}

// run runs the sources against a cluster with the objects.
func run(t *testing.T, c *Config, objects []runtime.Object) *own.Sources {
	t.Helper()
	client := fake.NewClientset(objects...)
	pods := podcache.New(client)
	made, err := c.Own(&Cluster{
		Client: client, Pods: pods, SyncPeriod: 15 * time.Second, Registerer: prometheus.NewRegistry(), Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	pods.Start(ctx)
	for deadline := time.Now().Add(10 * time.Second); !pods.HasSynced(); {
		if time.Now().After(deadline) {
			t.Fatal("the cache of pods is not filled")
		}
		<-time.After(time.Millisecond)
	}
	go func() {
		made.Run(ctx, own.Watch{
			PodSampled: func(podendpoint.Sampled) {}, Sampled: func(observe.Key) {}, Pushed: func(observe.Key) {},
		})
		close(ended)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	return &made
}

// look returns the first result that is not pending.
func look(t *testing.T, s *own.Sources, spec *sources.Prometheus) sources.Answer {
	t.Helper()
	key := observe.WLA("team-a", "shop")
	s.Set(key, []sources.Spec{{Prometheus: spec}})
	for deadline := time.Now().Add(20 * time.Second); ; <-time.After(time.Millisecond) {
		a := s.Prometheus.Latest(time.Now(), key, spec)
		if !a.IsPending {
			return a
		}
		if time.Now().After(deadline) {
			t.Fatal("there is no answer")
		}
	}
}

// TestOwn: from flags to requests, through everything between.
func TestOwn(t *testing.T) {
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	token := sources.Credentials{Token: sources.SecretKey{Name: "token", Key: "token"}}
	for name, c := range map[string]struct {
		config       Config
		change       func(*corev1.Service, *corev1.Pod, *corev1.Node)
		address      string
		credentials  sources.Credentials
		want         string
		isAuthorized bool
	}{
		"Service of loopback that is permitted": {config: Config{PodCIDRs: loopback}},
		"Service of loopback":                   {want: "127.0.0.1 is a loopback address"},
		"pod that is not ready": {config: Config{PodCIDRs: loopback},
			change: func(_ *corev1.Service, p *corev1.Pod, _ *corev1.Node) { p.Status.Conditions = nil },
			want:   "no ready pod"},
		"pod at the address of a node": {want: "10.0.0.1 is the address of a node",
			change: func(_ *corev1.Service, p *corev1.Pod, _ *corev1.Node) { p.Status.PodIP = "10.0.0.1" }},
		"pod in the network of its node": {want: "in the network of its node",
			change: func(_ *corev1.Service, p *corev1.Pod, _ *corev1.Node) {
				p.Status.PodIP, p.Spec.HostNetwork = "10.0.0.9", true
			}},
		"Service without a selector": {config: Config{PodCIDRs: loopback}, want: "no selector",
			change: func(s *corev1.Service, _ *corev1.Pod, _ *corev1.Node) { s.Spec.Selector = nil }},
		"other namespace":      {address: "prometheus.team-b.svc:9090", want: "--metric-server does not permit it"},
		"server that is named": {address: "127.0.0.1:PORT"},
		"Secrets are off": {config: Config{PodCIDRs: loopback}, credentials: token,
			want: "authorization.credentials: secret team-a/token: refused: Secrets are not read (--metric-secrets)"},
		"Secrets are on": {config: Config{PodCIDRs: loopback, ReadsSecrets: true}, credentials: token, isAuthorized: true},
		"Secret for another": {config: Config{ReadsSecrets: true}, address: "127.0.0.1:PORT", credentials: token,
			want: "plimsoll.dev/metric-hosts does not name 127.0.0.1:"},
	} {
		t.Run(name, func(t *testing.T) {
			requests, authorized, port := server(t)
			address := "prometheus:9090"
			if c.address != "" {
				address = strings.ReplaceAll(c.address, "PORT", strconv.Itoa(int(port)))
			}
			if strings.HasPrefix(address, "127.") {
				c.config.Servers = []reach.Server{{Host: "127.0.0.1", Port: uint16(port)}}
			}
			s := run(t, &c.config, cluster(port, c.change))
			a := look(t, s, &sources.Prometheus{
				Address: "http://" + address, Query: "up", Interval: time.Minute, Timeout: 10 * time.Second,
				Credentials: c.credentials,
			})
			if c.want == "" {
				if a.Err != nil || len(a.Series) != 1 || a.Series[0] != 42 || authorized.Load() > 0 != c.isAuthorized {
					t.Errorf("%+v", a)
				}
				return
			}
			if a.Err == nil || !strings.Contains(a.Err.Error(), c.want) || requests.Load() > 0 {
				t.Errorf("%d requests, %+v, want %s", requests.Load(), a, c.want)
			}
		})
	}
}

// TestUnknownNodes: while the addresses of nodes are unknown, there is no connection.
func TestUnknownNodes(t *testing.T) {
	connected := false
	d := &dialer{reach: reach.NewDialer(reach.Config{Connect: func(context.Context, netip.AddrPort) (net.Conn, error) {
		connected = true
		return nil, context.Canceled
	}}), nodes: newNodes(fake.NewClientset())}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := d.DialPod(ctx, netip.MustParseAddrPort("10.0.0.1:80"), false); err == nil || connected {
		t.Error("a pod is connected to")
	}
	if _, err := d.Dial(ctx, "team-a", "shop", 80); err == nil || connected {
		t.Error("a server is connected to")
	}
}

// TestNodes: changes of nodes count.
func TestNodes(t *testing.T) {
	node := func(name, address string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}}}
	}
	client := fake.NewClientset(node("a", "10.0.0.1"))
	n := newNodes(client)
	n.start(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := n.wait(ctx); err != nil {
		t.Fatal(err)
	}
	has := func(address string, want bool) {
		t.Helper()
		for n.addresses.Has(netip.MustParseAddr(address)) != want {
			select {
			case <-ctx.Done():
				t.Fatalf("%s: not %t", address, want)
			case <-time.After(time.Millisecond):
			}
		}
	}
	has("10.0.0.1", true)
	if _, err := client.CoreV1().Nodes().Create(ctx, node("b", "10.0.0.2"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	has("10.0.0.2", true)
	if _, err := client.CoreV1().Nodes().UpdateStatus(ctx, node("b", "10.0.0.3"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	has("10.0.0.3", true)
	has("10.0.0.2", false)
	if err := client.CoreV1().Nodes().Delete(ctx, "b", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	has("10.0.0.3", false)
}

// TestScalers: the server of --scalers-address becomes one that objects may use, beside those of --metric-server, which
// stay as they are. Its certificate authorities are those of the file.
func TestScalers(t *testing.T) {
	other := reach.Server{Host: "prometheus.monitoring.svc", Port: 9090, Namespaces: []string{"team-a"}}
	scalers := reach.Server{Host: "scalers.plimsoll-system.svc", Port: 9090}
	named := externalscaler.Scalers{Address: "scalers.plimsoll-system.svc:9090"}
	for name, c := range map[string]struct {
		address string
		want    externalscaler.Scalers
		servers []reach.Server
	}{
		"none":    {"", externalscaler.Scalers{}, []reach.Server{other}},
		"a name":  {"scalers.plimsoll-system.svc:9090", named, []reach.Server{other, scalers}},
		"capital": {"Scalers.plimsoll-system.SVC:9090", named, []reach.Server{other, scalers}},
		"IPv6": {"[2001:DB8:0::1]:9090", externalscaler.Scalers{Address: "[2001:db8::1]:9090"},
			[]reach.Server{other, {Host: "2001:db8::1", Port: 9090}}},
	} {
		config := Config{ScalersAddress: c.address, Servers: append(make([]reach.Server, 0, 8), other)}
		got, servers, err := config.scalers()
		if err != nil || got != c.want || !cmp.Equal(servers, c.servers) {
			t.Errorf("%s: %+v, servers %+v, %v", name, got, servers, err)
		}
		if spare := config.Servers[:2]; !cmp.Equal(spare, []reach.Server{other, {}}) {
			t.Errorf("%s: the list of --metric-server is %+v now", name, spare)
		}
	}
	for _, address := range []string{"scalers", "scalers:9090", "scalers.plimsoll-system.svc:0"} {
		c := Config{ScalersAddress: address}
		if _, _, err := c.scalers(); err == nil || !strings.Contains(err.Error(), "--scalers-address") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// TestScalersCAFile: the file must have a certificate, so that a wrong file fails at the start.
func TestScalersCAFile(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	block := pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	for text, isFine := range map[string]bool{
		"": false, "no PEM": false, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})): false,
		string(pem.EncodeToMemory(&block)): true,
	} {
		file := filepath.Join(t.TempDir(), "ca.crt")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c := Config{ScalersAddress: "scalers.plimsoll-system.svc:9090", ScalersCAFile: file}
		scalers, servers, err := c.scalers()
		if !isFine {
			if err == nil || !strings.Contains(err.Error(), "--scalers-ca-file") || servers != nil {
				t.Errorf("%q: %+v, servers %+v, %v", text, scalers, servers, err)
			}
			continue
		}
		want := externalscaler.Scalers{Address: c.ScalersAddress, CABundle: text}
		all := []reach.Server{{Host: "scalers.plimsoll-system.svc", Port: 9090}}
		if err != nil || scalers != want || !cmp.Equal(servers, all) {
			t.Errorf("%q: %+v, servers %+v, %v", text, scalers, servers, err)
		}
	}
}
