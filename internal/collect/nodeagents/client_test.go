package nodeagents

import (
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/agenttest"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/cgroup"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/cgroup/cgrouptest"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// authority counts the certificates that it signs.
type authority struct {
	*agenttest.Authority
	shown  *tls.Certificate
	signed int
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a, err := agenttest.New()
	if err != nil {
		t.Fatal(err)
	}
	shown, err := a.Issue("plimsoll-controller", x509.ExtKeyUsageClientAuth)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{Authority: a, shown: shown}
}

// Credentials implements Authority.
func (a *authority) Credentials() *Credentials {
	return &Credentials{Shown: a.shown, Authorities: a.PEM()}
}

// Sign implements Authority.
func (a *authority) Sign(_ time.Time, node string, key crypto.PublicKey) ([]byte, error) {
	a.signed++
	return a.Authority.Sign(node, key, x509.ExtKeyUsageServerAuth)
}

var tokens = map[string]string{"token-of-node-1": "node-1", "token-of-node-2": "node-2"}

// reviewed is the API server's review of tokens.
func reviewed(_ context.Context, token string) (string, error) {
	if node := tokens[token]; node != "" {
		return node, nil
	}
	return "", errors.New("no such token")
}

// startAgent starts an agent on this machine.
func startAgent(t *testing.T, node string, a *authority) (address string) {
	t.Helper()
	address, _ = startCounted(t, node, a)
	return address
}

// startCounted is startAgent with a count of connections.
func startCounted(t *testing.T, node string, a *authority) (address string, connections *atomic.Int64) {
	t.Helper()
	text, err := os.ReadFile("../../nodeagent/cgroup/testdata/v2-systemd-containerd.txt")
	if err != nil {
		t.Fatal(err)
	}
	directory, credentials := t.TempDir(), t.TempDir()
	if err := errors.Join(
		cgrouptest.Fill(directory, string(text), 2, 1),
		os.WriteFile(filepath.Join(credentials, "ca.crt"), a.PEM(), 0o600),
		os.WriteFile(filepath.Join(credentials, "token"), []byte("token-of-"+node+"\n"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	tree, err := cgroup.Open(cgroup.Config{Directory: directory})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := nodeagent.NewHandler(tree, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	identity, err := nodeagent.NewIdentity(nodeagent.IdentityConfig{
		AuthorityFile: filepath.Join(credentials, "ca.crt"), TokenFile: filepath.Join(credentials, "token"),
		Log: logr.Discard(),
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := nodeagent.NewServer(handler, identity, logr.Discard())
	connections = &atomic.Int64{}
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = errors.Join(server.Close(), tree.Close()) })
	return listener.Addr().String(), connections
}

func newClient(t *testing.T, a *authority) *Client {
	t.Helper()
	c, err := New(Config{Authority: a, Review: reviewed, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if c.http != nil {
			c.http.CloseIdleConnections()
		}
	})
	return c
}

func newScraper(t *testing.T, of *Client) (*Scraper, *rate.Store) {
	t.Helper()
	store := rate.New(rate.Config{})
	s, err := NewScraper(of, store)
	if err != nil {
		t.Fatal(err)
	}
	return s, store
}

// wanted selects the containers of this many pods.
func wanted(pods int) *selection.Prepared {
	var all []selection.Container
	for pod := range pods {
		all = append(all, selection.Container{PodUID: cgrouptest.Pod(pod), ID: cgrouptest.ID(pod, 0), Namespace: "shop",
			Pod: "web-" + string(rune('0'+pod)), Name: "app"})
	}
	return selection.Prepare(all)
}

// TestScrape: an agent without a certificate gets one, once. Its response is stored. It gets the selection, and a
// changed one later.
func TestScrape(t *testing.T) {
	a := newAuthority(t)
	c, store := newScraper(t, newClient(t, a))
	target := kubelet.Target{Node: "node-1", Address: startAgent(t, "node-1", a)}
	for i, pods := range []int{1, 1, 2, 2, 1} {
		round, err := c.Scrape(t.Context(), target, wanted(pods))
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if round.Containers != pods || round.Ignored != 0 || round.Node != "node-1" {
			t.Errorf("%d: %+v", i, round)
		}
	}
	if a.signed != 1 {
		t.Errorf("%d certificates", a.signed)
	}
	if sizes := store.Sizes(); sizes != (rate.Sizes{Nodes: 1, Pods: 2, Containers: 2}) {
		t.Errorf("%+v", sizes)
	}
	// Another controller, which has sent this agent no request before, uses its certificate.
	second, _ := newScraper(t, newClient(t, a))
	if _, err := second.Scrape(t.Context(), target, wanted(2)); err != nil || a.signed != 1 {
		t.Errorf("%d certificates: %v", a.signed, err)
	}
	c.Forget("node-1")
	if sizes := store.Sizes(); sizes.Nodes != 0 {
		t.Errorf("%+v", sizes)
	}
}

// TestShared: two scrapers that send requests to an agent at the same time, with selections of their own, share one
// certificate and one connection. It stays when one of them leaves.
func TestShared(t *testing.T) {
	a := newAuthority(t)
	c := newClient(t, a)
	address, connections := startCounted(t, "node-1", a)
	target := kubelet.Target{Node: "node-1", Address: address}
	scrapers, stores := make([]*Scraper, 2), make([]*rate.Store, 2)
	for i := range scrapers {
		scrapers[i], stores[i] = newScraper(t, c)
	}
	rounds := func(pods ...int) {
		t.Helper()
		var both sync.WaitGroup
		for i, n := range pods {
			both.Go(func() {
				for range 5 {
					if round, err := scrapers[i].Scrape(t.Context(), target, wanted(n)); err != nil || round.Containers != n {
						t.Errorf("%d: %+v: %v", i, round, err)
					}
				}
			})
		}
		both.Wait()
	}
	rounds(1, 2)
	had := connections.Load()
	rounds(1, 2)
	// A connection without a certificate, perhaps one of each side, and one for it.
	if now := connections.Load(); a.signed != 1 || now != had || now > 4 {
		t.Errorf("%d certificates, %d connections, then %d", a.signed, had, now)
	}
	for i, store := range stores {
		if pods := store.Sizes().Pods; pods != i+1 {
			t.Errorf("side %d knows %d pods", i, pods)
		}
	}
	scrapers[0].Forget("node-1")
	scrapers[0].Forget("node-1")
	if rounds(0, 2); connections.Load() != had || stores[0].Sizes().Pods != 0 || stores[1].Sizes().Pods != 2 {
		t.Errorf("when one has left: %d connections, %+v, %+v", connections.Load(), stores[0].Sizes(), stores[1].Sizes())
	}
	scrapers[0].Forget("node-1")
	if scrapers[1].Forget("node-1"); len(c.nodes) != 0 {
		t.Errorf("when both have left, %d nodes are known", len(c.nodes))
	}
}

// TestContention: the counters of throttling and pressure, for the selection that usage is requested for.
func TestContention(t *testing.T) {
	a := newAuthority(t)
	s, store := newScraper(t, newClient(t, a))
	target := kubelet.Target{Node: "node-1", Address: startAgent(t, "node-1", a)}
	for range 2 {
		answer, err := s.Contention(t.Context(), target, wanted(2))
		if n := strings.Count(string(answer), "\ncontainer_cpu_cfs_throttled_periods_total{"); err != nil || n != 2 {
			t.Errorf("%d containers: %v\n%s", n, err, answer)
		}
	}
	if store.Sizes().Nodes != 0 {
		t.Error("it is stored as usage")
	}
	target.Node = "node-2"
	if answer, err := s.Contention(t.Context(), target, wanted(2)); err == nil || answer != nil {
		t.Errorf("of another node's agent: %s", answer)
	}
}

// TestStartedAnew: a restarted agent has another key and another address, and no selection.
func TestStartedAnew(t *testing.T) {
	a := newAuthority(t)
	c, _ := newScraper(t, newClient(t, a))
	for range 2 {
		target := kubelet.Target{Node: "node-1", Address: startAgent(t, "node-1", a)}
		for range 2 {
			if round, err := c.Scrape(t.Context(), target, wanted(2)); err != nil || round.Containers != 2 {
				t.Errorf("%+v: %v", round, err)
			}
		}
	}
	if a.signed != 2 {
		t.Errorf("%d certificates", a.signed)
	}
}

// TestOtherNode: the agent of another node is rejected, with its token or with its certificate.
func TestOtherNode(t *testing.T) {
	a := newAuthority(t)
	c, store := newScraper(t, newClient(t, a))
	address := startAgent(t, "node-2", a)
	for range 2 {
		_, err := c.Scrape(t.Context(), kubelet.Target{Node: "node-1", Address: address}, wanted(1))
		if err == nil || a.signed != 0 {
			t.Errorf("%d certificates: %v", a.signed, err)
		}
	}
	if _, err := c.Scrape(t.Context(), kubelet.Target{Node: "node-2", Address: address}, wanted(1)); err != nil {
		t.Error(err)
	}
	_, err := c.Scrape(t.Context(), kubelet.Target{Node: "node-3", Address: address}, wanted(1))
	if !errors.Is(err, errOtherNode) || a.signed != 1 {
		t.Errorf("%d certificates: %v", a.signed, err)
	}
	if store.Sizes().Nodes > 1 {
		t.Errorf("%+v", store.Sizes())
	}
}

// TestStranger: a server in place of an agent gets no certificate, however often it tries, and its text appears in no
// error.
func TestStranger(t *testing.T) {
	a := newAuthority(t)
	c, _ := newScraper(t, newClient(t, a))
	asked := 0
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte("evil-token"))
	}))
	t.Cleanup(server.Close)
	target := kubelet.Target{Node: "node-1", Address: server.Listener.Addr().String()}
	for range 3 {
		_, err := c.Scrape(t.Context(), target, wanted(1))
		if err == nil || strings.Contains(err.Error(), "evil") || strings.Contains(err.Error(), "example.com") {
			t.Errorf("%v", err)
		}
	}
	if a.signed != 0 || asked != 1 {
		t.Errorf("%d certificates, asked %d times", a.signed, asked)
	}
}

// startTaken starts a server with the certificate of a node's agent and any response.
func startTaken(t *testing.T, node string, a *authority, answer http.HandlerFunc) (address string) {
	t.Helper()
	shown, err := a.Issue(node, x509.ExtKeyUsageServerAuth)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(answer)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*shown}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// TestTakenOver: an attacker on a node cannot fill the client's memory: neither with containers that were not selected,
// nor with text.
func TestTakenOver(t *testing.T) {
	a := newAuthority(t)
	c, store := newScraper(t, newClient(t, a))
	sample := func(namespace, pod string) string {
		return `container_memory_working_set_bytes{container="app",namespace="` + namespace + `",pod="` + pod + `"} 1` + "\n"
	}
	answer := sample("shop", "web-0") + sample("shop", "web-1") + sample("other", "web-0") + "resource_scrape_error 0\n"
	target := kubelet.Target{Node: "node-1", Address: startTaken(t, "node-1", a,
		func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) })}
	round, err := c.Scrape(t.Context(), target, wanted(1))
	if err != nil || round.Containers != 1 || store.Sizes().Containers != 1 {
		t.Errorf("%+v, %+v: %v", round, store.Sizes(), err)
	}
	answer += strings.Repeat("# \n", 4<<10)
	if _, err := c.Scrape(t.Context(), target, wanted(1)); !errors.Is(err, errTooLarge) {
		t.Errorf("a long answer: %v", err)
	}
}

// TestErrorsHaveNoTextOfAgents: errors have no text from an agent.
func TestErrorsHaveNoTextOfAgents(t *testing.T) {
	a := newAuthority(t)
	hijacked := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			connection, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(connection, text)
				_ = connection.Close()
			}
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"no HTTP":          hijacked("evil evil evil\r\n\r\n"),
		"a status":         hijacked("HTTP/1.1 500 evil\r\nContent-Length: 4\r\n\r\nevil"),
		"an encoding":      hijacked("HTTP/1.1 200 OK\r\nTransfer-Encoding: evil\r\n\r\n"),
		"a length":         hijacked("HTTP/1.1 200 OK\r\nContent-Length: evil\r\n\r\n"),
		"half an answer":   hijacked("HTTP/1.1 200 OK\r\nContent-Length: 400\r\n\r\nevil"),
		"nothing":          hijacked(""),
		"no gzip":          hijacked("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nevil"),
		"a place to go to": hijacked("HTTP/1.1 302 Found\r\nLocation: evil:evil\r\nContent-Length: 0\r\n\r\n"),
	} {
		c, _ := newScraper(t, newClient(t, a))
		target := kubelet.Target{Node: "node-1", Address: startTaken(t, "node-1", a, answer)}
		if _, err := c.Scrape(t.Context(), target, wanted(1)); err == nil || strings.Contains(err.Error(), "evil") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestFruitless: an agent that shows no valid certificate, although it got two, gets no more for long.
func TestFruitless(t *testing.T) {
	now := time.Now()
	c := newClient(t, newAuthority(t))
	target := kubelet.Target{Node: "node-1"}
	for _, step := range []struct {
		fruitless int
		ago       time.Duration
		want      error
	}{
		{1, enrollGap / 2, errTooSoon}, {2, enrollGap / 2, errFruitless}, {2, fruitlessGap - time.Minute, errFruitless},
		{1, 2 * enrollGap, errBusy}, {2, fruitlessGap + time.Minute, errBusy},
	} {
		c.nodes["node-1"] = &agent{began: now.Add(-step.ago), fruitless: step.fruitless}
		c.enrolling = maxEnrolling // all enrollments are in use
		if err := c.enroll(t.Context(), target, now); !errors.Is(err, step.want) {
			t.Errorf("%+v: %v", step, err)
		}
	}
}

// TestManyEnroll: of many agents without a certificate, some get one at once, and the others must try later.
func TestManyEnroll(t *testing.T) {
	a := newAuthority(t)
	c, taken := newClient(t, a), 0
	c.credentials = a.Credentials()
	target := kubelet.Target{Node: "node-1", Address: "127.0.0.1:1"}
	for range 100 {
		c.nodes["node-1"] = &agent{}
		// No agent is there: the exchange fails at once.
		if err := c.enroll(t.Context(), target, time.Now()); !errors.Is(err, errBusy) {
			taken++
		}
	}
	if taken < maxEnrolling || taken > 3*maxEnrolling {
		t.Errorf("%d of 100 are tried at once", taken)
	}
}

// TestLeftAlone: an agent without a certificate that gets none now is not connected to at each request: after an
// installation on 5,000 nodes that would be a thousand handshakes a second. It is as soon as it may get one.
func TestLeftAlone(t *testing.T) {
	a := newAuthority(t)
	address, connections := startCounted(t, "node-1", a)
	c := newClient(t, a)
	s, _ := newScraper(t, c)
	target := kubelet.Target{Node: "node-1", Address: address}
	c.enrolling = maxEnrolling
	for range 50 {
		if _, err := s.Scrape(t.Context(), target, wanted(1)); !errors.Is(err, errBusy) {
			t.Errorf("%v, want %v", err, errBusy)
		}
	}
	if n := connections.Load(); n > 2 {
		t.Errorf("%d connections to an agent that gets no certificate", n)
	}
	c.enrolling = 0
	if _, err := s.Scrape(t.Context(), target, wanted(1)); err != nil {
		t.Error(err)
	}
	// Another process may give it one, and it may trust an authority that is new here.
	other, _ := startCounted(t, "node-2", a)
	target = kubelet.Target{Node: "node-2", Address: other}
	c.enrolling = maxEnrolling
	if _, err := s.Scrape(t.Context(), target, wanted(1)); !errors.Is(err, errBusy) {
		t.Errorf("%v, want %v", err, errBusy)
	}
	second, _ := newScraper(t, newClient(t, a))
	if _, err := second.Scrape(t.Context(), target, wanted(1)); err != nil {
		t.Error(err)
	}
	c.nodes["node-2"].refused = time.Now().Add(-enrollGap)
	if _, err := s.Scrape(t.Context(), target, wanted(1)); err != nil {
		t.Errorf("with a certificate of another process: %v", err)
	}
}

// TestNotReady: without credentials there is no request.
func TestNotReady(t *testing.T) {
	c, err := New(Config{Authority: none{}, Review: reviewed})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := newScraper(t, c)
	_, err = s.Scrape(t.Context(), kubelet.Target{Node: "node-1", Address: "127.0.0.1:1"}, wanted(1))
	if !errors.Is(err, ErrNotReady) {
		t.Error(err)
	}
}

// none is an authority without credentials yet.
type none struct{}

// Credentials implements Authority.
func (none) Credentials() *Credentials { return nil }

// Sign implements Authority.
func (none) Sign(time.Time, string, crypto.PublicKey) ([]byte, error) { return nil, errors.New("no") }
