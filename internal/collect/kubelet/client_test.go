package kubelet

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
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
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/kubelettest"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
)

const token = "s3cr3t-t0k3n"

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// server is a kubelet with the response that a test sets.
type server struct {
	*httptest.Server
	connections atomic.Int32
	// caFile has the CA of its certificate.
	caFile string

	// mu guards requests.
	mu       sync.Mutex
	requests []*http.Request
}

func serve(t *testing.T, handler http.HandlerFunc) *server {
	t.Helper()
	s := &server{caFile: filepath.Join(t.TempDir(), "ca.crt")}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r)
		s.mu.Unlock()
		handler(w, r)
	}))
	s.EnableHTTP2 = true
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections.Add(1)
		}
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	s.StartTLS()
	t.Cleanup(s.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	if err := os.WriteFile(s.caFile, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *server) target() Target { return Target{Node: "node-1", Address: s.Listener.Addr().String()} }

func (s *server) seen() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*http.Request(nil), s.requests...)
}

// client trusts the server's CA, as that of the API server.
func (s *server) client(t *testing.T, change func(*rest.Config, *Options)) *Client {
	t.Helper()
	config := &rest.Config{
		Host: "https://api.example", BearerToken: own,
		TLSClientConfig: rest.TLSClientConfig{CAFile: s.caFile, ServerName: "api.example"},
	}
	options := DefaultOptions()
	options.Tokens = &issued{token: token}
	if change != nil {
		change(config, &options)
	}
	c, err := NewClient(config, options, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func say(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
}

func TestRequest(t *testing.T) {
	s := serve(t, say("metrics"))
	c := s.client(t, nil)
	for range 3 {
		got, err := c.Get(t.Context(), s.target(), []byte("before "))
		if err != nil || string(got) != "before metrics" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if n := s.connections.Load(); n != 1 {
		t.Errorf("%d connections for 3 requests", n)
	}
	r := s.seen()[0]
	if r.Method != http.MethodGet || r.URL.Path != "/metrics/resource" || r.ProtoMajor != 1 {
		t.Errorf("%s %s %s", r.Method, r.URL, r.Proto)
	}
	for header, want := range map[string]string{"Authorization": "Bearer " +
		token, "Accept": "text/plain", "Accept-Encoding": "gzip"} {
		if got := r.Header.Get(header); got != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
}

func TestCompression(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			fmt.Fprint(w, "plain")
			return
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, "compressed")
		_ = z.Close()
	})
	for want, disable := range map[string]bool{"compressed": false, "plain": true} {
		c := s.client(t, func(_ *rest.Config, o *Options) { o.DisableCompression = disable })
		if got, err := c.Get(t.Context(), s.target(), nil); err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
}

// TestFamilies: the page behind the wanted families is not decompressed, and the connection is reused.
func TestFamilies(t *testing.T) {
	whole := kubelettest.Filled(110, 2, noon).Text(noon)
	wanted, _, found := bytes.Cut(whole, []byte("# TYPE container_swap"))
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		answer := whole
		if r.Header.Get("Accept-Encoding") == "gzip" {
			w.Header().Set("Content-Encoding", "gzip")
			answer = pack(whole)
		}
		_, _ = w.Write(answer)
	})
	for name, disable := range map[string]bool{"gzip": false, "plain": true} {
		before := s.connections.Load()
		c := s.client(t, func(_ *rest.Config, o *Options) { o.DisableCompression = disable })
		for range 3 {
			got, _, err := c.fetch(t.Context(), s.target(), rate.Families(), func() []byte { return []byte("before") })
			if err != nil || !found || string(got) != "before"+string(wanted) {
				t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(wanted), err)
			}
		}
		if got, err := c.Get(t.Context(), s.target(), nil); err != nil || !bytes.Equal(got, whole) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(whole), err)
		}
		if n := s.connections.Load() - before; n != 1 {
			t.Errorf("%s: %d connections", name, n)
		}
	}
}

func TestTokenFile(t *testing.T) {
	s := serve(t, say("metrics"))
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := s.client(t, func(_ *rest.Config, o *Options) { o.TokenFile, o.Tokens = file, &issued{token: "another"} })
	if _, err := c.Get(t.Context(), s.target(), nil); err != nil {
		t.Fatal(err)
	}
	if got := s.seen()[0].Header.Get("Authorization"); got != "Bearer "+token {
		t.Errorf("%q", got)
	}
}

// TestTrust: a certificate that is not of the CA, or not for the address, gets no
// request, and so no token.
func TestTrust(t *testing.T) {
	s := serve(t, say("metrics"))
	other := serve(t, say(""))
	wrongCA := filepath.Join(t.TempDir(), "other.crt")
	if err := os.WriteFile(wrongCA, otherCA(t), 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := s.target()
	_, port, _ := net.SplitHostPort(elsewhere.Address)
	elsewhere.Address = net.JoinHostPort("localhost", port)
	for name, tt := range map[string]struct {
		change func(*rest.Config, *Options)
		target Target
		ok     bool
	}{
		"the CA of the API server":   {nil, s.target(), true},
		"an address not in the cert": {nil, elsewhere, false},
		"another CA":                 {func(r *rest.Config, _ *Options) { r.CAFile = wrongCA }, s.target(), false},
		"the CA of the flag": {func(r *rest.Config, o *Options) {
			r.CAFile, o.CertificateAuthority = wrongCA,
				s.caFile
		}, s.target(), true},
		"another CA of the flag": {func(_ *rest.Config, o *Options) { o.CertificateAuthority = wrongCA }, s.target(), false},
		"not looked at": {func(r *rest.Config, o *Options) { r.CAFile, o.InsecureTLS = wrongCA, true }, elsewhere,
			true},
		"insecure to the API server only": {func(r *rest.Config, o *Options) {
			r.Insecure, r.CAFile, o.CertificateAuthority = true, "", wrongCA
		}, s.target(), false},
	} {
		before := len(s.seen())
		_, err := s.client(t, tt.change).Get(t.Context(), tt.target, nil)
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
		if tt.ok {
			continue
		}
		if len(s.seen()) != before {
			t.Errorf("%s: the token was sent", name)
		}
		if text := err.Error(); !strings.Contains(text, "node-1") || !strings.Contains(text, tt.target.Address) ||
			!strings.Contains(text, "--kubelet-certificate-authority") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(other.seen()); n != 0 {
		t.Errorf("%d requests to nobody's server", n)
	}
}

// otherCA makes a CA that signed nothing.
func otherCA(t *testing.T) []byte {
	t.Helper()
	cert, _ := selfSigned(t)
	return cert
}

func TestClientCertificate(t *testing.T) {
	s := serve(t, say("metrics"))
	dir := t.TempDir()
	cert, key := selfSigned(t)
	for name, content := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := s.client(t, func(_ *rest.Config, o *Options) {
		o.ClientCertificate, o.ClientKey = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	})
	if _, err := c.Get(t.Context(), s.target(), nil); err != nil {
		t.Fatal(err)
	}
	if peers := s.seen()[0].TLS.PeerCertificates; len(peers) != 1 || peers[0].Subject.CommonName != "plimsoll" {
		t.Errorf("%v", peers)
	}
	options := DefaultOptions()
	options.ClientCertificate, options.ClientKey = filepath.Join(dir, "none"), filepath.Join(dir, "none")
	if _, err := NewClient(&rest.Config{}, options, logr.Discard()); err == nil {
		t.Error("no error for a missing certificate")
	}
}

// TestRefusals: a status other than 200 is an error with its code and a reason, and without text from the server. A
// redirect is not followed.
func TestRefusals(t *testing.T) {
	other := serve(t, say("metrics"))
	for code, word := range map[int]string{
		http.StatusUnauthorized: "credentials", http.StatusForbidden: "nodes/metrics",
		http.StatusNotFound: "Not Found", http.StatusInternalServerError: "500", http.StatusFound: "302",
	} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", other.URL+"/?"+r.Header.Get("Authorization"))
			w.WriteHeader(code)
			fmt.Fprint(w, "you said ", r.Header.Get("Authorization"))
		})
		_, err := s.client(t, nil).Get(t.Context(), s.target(), nil)
		var status *StatusError
		if !errors.As(err, &status) || status.Code != code || !strings.Contains(err.Error(), word) {
			t.Errorf("%d: %v", code, err)
		}
		if err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("%d: the token is in the error: %v", code, err)
		}
	}
	if n := len(other.seen()); n != 0 {
		t.Errorf("a redirect was followed %d times", n)
	}
}

func TestBounds(t *testing.T) {
	zeros := bytes.Repeat([]byte("0"), 1<<20)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write(zeros)
	_ = z.Close()
	for name, handler := range map[string]http.HandlerFunc{
		"plain": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(zeros) },
		"a small answer that unpacks to a large one": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		},
	} {
		s := serve(t, handler)
		bounded := func(_ *rest.Config, o *Options) { o.MaxResponseBytes = len(zeros) - 1 }
		if _, err := s.client(t, bounded).Get(t.Context(), s.target(), nil); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
		exact := func(_ *rest.Config, o *Options) { o.MaxResponseBytes = len(zeros) }
		if got, err := s.client(t, exact).Get(t.Context(), s.target(), nil); err != nil || len(got) != len(zeros) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

// TestSilence: a kubelet that hangs, before the header or behind it, takes the deadline and no longer, and the caller
// can end it earlier.
func TestSilence(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"no answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"half an answer": func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "half")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		s := serve(t, handler)
		c := s.client(t, func(_ *rest.Config, o *Options) { o.RequestTimeout = 300 * time.Millisecond })
		_, err := c.Get(t.Context(), s.target(), nil)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "300ms") {
			t.Errorf("%s: %v", name, err)
		}
		patient := s.client(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := patient.Get(ctx, s.target(), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, and nobody waits: %v", name, err)
		}
	}
}

func TestBrokenConnections(t *testing.T) {
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "half")
	}
	s := serve(t, cut)
	if got, err := s.client(t, nil).Get(t.Context(), s.target(), nil); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half an answer: %q, %v", got, err)
	}
	c, target := s.client(t, nil), s.target()
	s.Close()
	if _, err := c.Get(t.Context(), target, nil); err == nil ||
		!strings.Contains(err.Error(), "node-1 at "+target.Address) {
		t.Errorf("nobody there: %v", err)
	}
}

// TestScrape covers the whole way from a kubelet's response to a rate.
func TestScrape(t *testing.T) {
	node := kubelettest.Filled(3, 2, noon)
	now, broken := noon.Add(time.Hour), false
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		text := node.Text(now)
		if broken {
			text = text[:bytes.Index(text, []byte("\ncontainer_start"))+10]
		}
		_, _ = w.Write(text)
	})
	store := rate.New(rate.Config{})
	scraper, err := NewScraper(s.client(t, nil), store)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		node.Burn(5e8)
		now = now.Add(time.Second)
		round, err := scraper.Scrape(t.Context(), s.target(), nil)
		if err != nil || round.Containers != 6 || round.Fresh != 6 || round.CPU <= 0 {
			t.Fatalf("%+v, %v", round, err)
		}
	}
	pod := node.Pods[0]
	q := rate.Query{Node: "node-1", Namespace: pod.Namespace, Pod: pod.Name, Window: 15 * time.Second, Now: time.Now()}
	usages, ok := store.Usage(q, nil)
	if !ok || len(usages) != 2 || usages[0].CPU.NanoCores != 5e8 || usages[0].CPU.Span != 2*time.Second {
		t.Errorf("%+v, %v", usages, ok)
	}
	broken = true
	if _, err := scraper.Scrape(t.Context(), s.target(), nil); err == nil || !strings.Contains(err.Error(), "node-1") {
		t.Errorf("a text cut short: %v", err)
	}
	if n := s.connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// TestScrapeReadsNoFurther: defects behind the families of containers have no effect.
func TestScrapeReadsNoFurther(t *testing.T) {
	whole := kubelettest.Filled(3, 2, noon).Text(noon)
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(whole[:len(whole)-1]) })
	scraper, err := NewScraper(s.client(t, nil), rate.New(rate.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	if round, err := scraper.Scrape(t.Context(), s.target(), nil); err != nil || round.Containers != 6 {
		t.Errorf("%+v, %v", round, err)
	}
}

func TestScraperNeedsAClient(t *testing.T) {
	if _, err := NewScraper(nil, rate.New(rate.Config{})); err == nil {
		t.Error("a scraper without a client")
	}
}
