package kubelets

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
)

// tokenOf has a token, and records the refused ones.
type tokenOf struct {
	token   string
	refused []string
}

// Token implements kubelet.Tokens.
func (t *tokenOf) Token(context.Context) (string, error) { return t.token, nil }

// Refused implements kubelet.Tokens.
func (t *tokenOf) Refused(token string) { t.refused = append(t.refused, token) }

// TestTokenThatTheAPIServerRefuses: before the first scrape, the API server reviews the permissions of the account
// whose token kubelets receive. If it does not accept the token, because that account was created again, another one is
// issued.
func TestTokenThatTheAPIServerRefuses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Header.Get("Authorization") == "Bearer old" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w,
			`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":true}}`)
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for token, want := range map[string][]string{"old": {"old"}, "new": nil} {
		c, tokens := &Config{}, &tokenOf{token: token}
		c.Options.Tokens = tokens
		missing, err := c.access(config, client)(t.Context())
		if missing != "" || apierrors.IsUnauthorized(err) != (want != nil) {
			t.Errorf("%s token: %q is missing, %v", token, missing, err)
		}
		if !slices.Equal(tokens.refused, want) {
			t.Errorf("%s token: refused %q, want %q", token, tokens.refused, want)
		}
	}
}

// TestOneServiceForBothLoops: a kubelet that both loops need is scraped once, over one connection, at the period of the
// faster one. There is one cache of nodes.
func TestOneServiceForBothLoops(t *testing.T) {
	const interval, scrapes = 200 * time.Millisecond, 15
	var requests, connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		_, _ = w.Write(kubelettest.Filled(3, 2, time.Now()).Text(time.Now()))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	address, ok := server.Listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal(server.Listener.Addr())
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: corev1.NodeStatus{
		Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}},
	}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(address.Port)
	client := fake.NewClientset(node)
	c := &Config{Source: Kubelet, Interval: interval, Options: kubelet.DefaultOptions()}
	c.Options.InsecureTLS = true
	nodes, err := c.NewService(&rest.Config{Host: server.URL}, client, prometheus.NewRegistry(), logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	loops := []*podusage.Subscription{
		nodes.Subscribe(podusage.Cadence{}), nodes.Subscribe(podusage.Cadence{Kubelets: 2 * interval}),
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	var running sync.WaitGroup
	sampled := make(chan time.Time, 2*scrapes)
	for _, l := range loops {
		running.Go(func() {
			l.Run(ctx, podusage.Watch{
				Nodes:   func(dst []string) []string { return append(dst, "a") },
				Sampled: func(of podusage.Sampled) { sampled <- of.At },
			})
		})
	}
	// Each scrape is reported to both loops.
	first, last := <-sampled, time.Time{}
	for range 2*scrapes - 1 {
		last = <-sampled
	}
	made := requests.Load()
	cancel()
	running.Wait()
	if most := int64(last.Sub(first)/interval) + 3; made < scrapes || made > most || connections.Load() != 1 {
		t.Errorf("%d requests over %d connections in %s", made, connections.Load(), last.Sub(first))
	}
	lists := 0
	for _, action := range client.Actions() {
		if action.Matches("list", "nodes") {
			lists++
		}
	}
	if lists != 1 {
		t.Errorf("nodes were listed %d times", lists)
	}
}

func TestReads(t *testing.T) {
	for source, want := range map[MetricsSource]bool{Auto: true, Kubelet: true, API: false} {
		if c := (Config{Source: source}); c.Reads() != want {
			t.Errorf("%s: %v, want %v", source, c.Reads(), want)
		}
	}
}

// TestSampleInterval: kubelets that are seldom scraped are a fallback for agents, and do not set the pace. An object
// far from a scale-up was decided once in the kubelets' interval, however fresh the agents' samples were.
func TestSampleInterval(t *testing.T) {
	agents, slow := Agents{Namespace: "plimsoll-node-agent"}, Agents{Namespace: "plimsoll-node-agent", Period: 2 * time.Second}
	for name, tt := range map[string]struct {
		config Config
		want   time.Duration
	}{
		"kubelets alone":           {Config{Source: Auto, Interval: 10 * time.Second}, 10 * time.Second},
		"agents beside them":       {Config{Source: Auto, Interval: 10 * time.Second, Agents: agents}, podusage.AgentPeriod},
		"agents of a period":       {Config{Source: Auto, Interval: 10 * time.Second, Agents: slow}, 2 * time.Second},
		"kubelets are more often":  {Config{Source: Auto, Interval: time.Second, Agents: slow}, time.Second},
		"agents that are not read": {Config{Source: API, Interval: 10 * time.Second, Agents: agents}, 10 * time.Second},
	} {
		if got := tt.config.SampleInterval(); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
