package kubelet

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"
)

// renewing is a kubelet whose certificate can be replaced.
type renewing struct {
	*server
	t       *testing.T
	current atomic.Pointer[tls.Certificate]
	client  *Client

	// mu guards logs.
	mu   sync.Mutex
	logs []string
}

// serveRenewing serves with a certificate that is its own CA, and that the client's file contains.
func serveRenewing(t *testing.T) (r *renewing, ca []byte) {
	t.Helper()
	r = &renewing{server: serve(t, say("metrics")), t: t}
	r.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{Certificates: []tls.Certificate{*r.current.Load()}, MinVersion: tls.VersionTLS12}, nil
	}
	ca = r.renew()
	r.write(ca)
	log := funcr.New(func(_, args string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.logs = append(r.logs, args)
	}, funcr.Options{})
	options := DefaultOptions()
	options.CertificateAuthority, options.Tokens = r.caFile, &issued{token: token}
	var err error
	if r.client, err = NewClient(&rest.Config{}, options, log); err != nil {
		t.Fatal(err)
	}
	return r, ca
}

// renew gives the kubelet a certificate of another CA, which it returns.
func (r *renewing) renew() (ca []byte) {
	r.t.Helper()
	ca, key := selfSigned(r.t)
	r.use(ca, key)
	return ca
}

func (r *renewing) use(certificate, key []byte) {
	r.t.Helper()
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		r.t.Fatal(err)
	}
	r.current.Store(&pair)
	r.CloseClientConnections()
}

func (r *renewing) write(ca []byte) {
	r.t.Helper()
	if err := os.WriteFile(r.caFile, ca, 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *renewing) ask() error {
	_, err := r.client.Get(r.t.Context(), r.target(), nil)
	return err
}

func (r *renewing) logged(part string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Count(strings.Join(r.logs, "\n"), part)
}

// TestRenewedAuthority: a kubelet with a certificate of another CA is refused until that CA is in the file; from then
// on a certificate of the previous CA is refused.
func TestRenewedAuthority(t *testing.T) {
	r, _ := serveRenewing(t)
	before := *r.current.Load()
	if err := r.ask(); err != nil {
		t.Fatal(err)
	}
	ca := r.renew()
	for range 2 {
		if err := r.ask(); !isUntrusted(err) {
			t.Fatalf("a CA that is not in the file: %v", err)
		}
	}
	if n := len(r.seen()); n != 1 {
		t.Errorf("%d requests: the token was sent to a stranger", n)
	}
	r.write(ca)
	if err := r.ask(); err != nil {
		t.Errorf("the CA is in the file now: %v", err)
	}
	if n := r.logged("another CA from now on"); n != 1 {
		t.Errorf("said %d times: %q", n, r.logs)
	}
	r.current.Store(&before)
	r.CloseClientConnections()
	if err := r.ask(); !isUntrusted(err) {
		t.Errorf("the CA is not in the file any more: %v", err)
	}
}

// TestBothAuthorities: while both CAs stand in the file, kubelets of both are read.
func TestBothAuthorities(t *testing.T) {
	r, first := serveRenewing(t)
	if err := r.ask(); err != nil {
		t.Fatal(err)
	}
	before := *r.current.Load()
	r.write(append(r.renew(), first...))
	if err := r.ask(); err != nil {
		t.Errorf("the new one: %v", err)
	}
	r.current.Store(&before)
	r.CloseClientConnections()
	if err := r.ask(); err != nil {
		t.Errorf("the one before: %v", err)
	}
}

// TestBrokenAuthority: an unusable file leaves the CA unchanged, is logged once, and may be repaired.
func TestBrokenAuthority(t *testing.T) {
	for name, damage := range map[string]func(r *renewing){
		"nonsense": func(r *renewing) { r.write([]byte("nonsense")) },
		"empty":    func(r *renewing) { r.write(nil) },
		"blank":    func(r *renewing) { r.write([]byte("\n")) },
		"gone": func(r *renewing) {
			if err := os.Remove(r.caFile); err != nil {
				r.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := serveRenewing(t)
			before := *r.current.Load()
			damage(r)
			ca := r.renew()
			for range 3 {
				if err := r.ask(); !isUntrusted(err) {
					t.Fatalf("another CA: %v", err)
				}
			}
			if n := r.logged("with the CA as it was before"); n != 1 || r.logged(r.caFile) == 0 {
				t.Errorf("said %d times: %q", n, r.logs)
			}
			after := *r.current.Load()
			r.current.Store(&before)
			r.CloseClientConnections()
			if err := r.ask(); err != nil {
				t.Errorf("the CA as it was: %v", err)
			}
			r.write(ca)
			r.current.Store(&after)
			r.CloseClientConnections()
			if err := r.ask(); err != nil {
				t.Errorf("healed: %v", err)
			}
			options := DefaultOptions()
			options.CertificateAuthority = r.caFile
			damage(r)
			if _, err := NewClient(&rest.Config{}, options, logr.Discard()); err == nil ||
				!strings.Contains(err.Error(), r.caFile) {
				t.Errorf("at the start: %v", err)
			}
		})
	}
}

// TestAuthorityIsReadSeldom: while no certificate is refused, once a minute.
func TestAuthorityIsReadSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "ca.crt")
		write := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		var built []string
		write("one")
		a, err := newAuthority(file, func(ca []byte) (*http.Transport, error) {
			built = append(built, string(ca))
			return &http.Transport{}, nil
		}, logr.Discard())
		if err != nil {
			t.Fatal(err)
		}
		write("two")
		for range 59 {
			<-time.After(time.Second)
			a.transport(false)
		}
		if len(built) != 1 {
			t.Errorf("read within a minute: %q", built)
		}
		<-time.After(2 * time.Second)
		a.transport(false)
		if len(built) != 2 || built[1] != "two" {
			t.Errorf("after a minute: %q", built)
		}
		<-time.After(2 * time.Minute)
		a.transport(false)
		if len(built) != 2 {
			t.Errorf("the file is as it was: %q", built)
		}
	})
}

// pipes is a network in virtual time.
type pipes struct {
	dialled chan net.Conn
	closed  sync.Once
}

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	p.dialled <- there
	return here, nil
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	conn, open := <-p.dialled
	if !open {
		return nil, net.ErrClosed
	}
	return conn, nil
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.closed.Do(func() { close(p.dialled) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.IPAddr{} }

// TestRenewedCredentials: the token and the client's certificate are those in their files, with a delay of up to a
// minute.
func TestRenewedCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, network := t.TempDir(), &pipes{dialled: make(chan net.Conn)}
		write := func(name string, content []byte) string {
			file := filepath.Join(dir, name)
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
			return file
		}
		var tokens, serials []string
		certificate, key := selfSigned(t)
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			t.Fatal(err)
		}
		kubelet := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if token := r.Header.Get("Authorization"); token != "" {
				tokens = append(tokens, token)
			}
			for _, peer := range r.TLS.PeerCertificates {
				serials = append(serials, string(peer.Raw))
			}
		}), ReadHeaderTimeout: time.Minute}
		listener := tls.NewListener(network, &tls.Config{
			Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12,
		})
		go func() { _ = kubelet.Serve(listener) }()

		withToken, withCertificate := DefaultOptions(), DefaultOptions()
		own, ownKey := selfSigned(t)
		withCertificate.ClientCertificate, withCertificate.ClientKey = write("tls.crt", own), write("tls.key", ownKey)
		withToken.TokenFile = write("token", []byte("first"))
		config := &rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: write("ca.crt", certificate)}}
		config.Dial = network.dial
		var clients []*Client
		for _, options := range []Options{withToken, withCertificate} {
			client, err := NewClient(config, options, logr.Discard())
			if err != nil {
				t.Fatal(err)
			}
			clients = append(clients, client)
		}
		ask := func() {
			t.Helper()
			for _, client := range clients {
				if _, err := client.Get(t.Context(), Target{Node: "node-1", Address: "127.0.0.1:10250"}, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		ask()
		other, otherKey := selfSigned(t)
		write("token", []byte("second"))
		write("tls.crt", other)
		write("tls.key", otherKey)
		// The connection has also been idle for too long after that.
		<-time.After(2 * time.Minute)
		ask()
		if len(tokens) != 2 || tokens[0] != "Bearer first" || tokens[1] != "Bearer second" {
			t.Errorf("tokens %q", tokens)
		}
		if len(serials) != 2 || serials[0] == serials[1] {
			t.Error("the client's certificate is the same as before")
		}
		_ = kubelet.Close()
	})
}
