package nodeagent

import (
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/agenttest"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// agent serves on this machine.
type agent struct {
	address       string
	identity      *Identity
	authorityFile string
}

// serving is an agent that trusts this authority; nil for none.
func serving(t *testing.T, authority *agenttest.Authority) *agent {
	t.Helper()
	directory, _ := filled(t, 1)
	credentials := t.TempDir()
	a := &agent{authorityFile: filepath.Join(credentials, "ca.crt")}
	if authority != nil {
		a.writeAuthority(t, authority.PEM())
	}
	token := filepath.Join(credentials, "token")
	if err := os.WriteFile(token, []byte("token-of-the-pod\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	a.identity, err = NewIdentity(IdentityConfig{AuthorityFile: a.authorityFile, TokenFile: token, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := NewServer(handlerOf(t, directory), a.identity, logr.Discard())
	go func() { _ = server.ServeTLS(listener, "", "") }()
	t.Cleanup(func() { _ = server.Close() })
	a.address = listener.Addr().String()
	return a
}

func (a *agent) writeAuthority(t *testing.T, content []byte) {
	t.Helper()
	if err := os.WriteFile(a.authorityFile, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// client shows a certificate, and verifies the agent's only with roots.
func client(t *testing.T, shown *tls.Certificate, roots *x509.CertPool) *http.Client {
	t.Helper()
	config := &tls.Config{RootCAs: roots, ServerName: "node-1", InsecureSkipVerify: roots == nil}
	if shown != nil {
		config.Certificates = []tls.Certificate{*shown}
	}
	transport := &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

// call returns the status and the text of a response.
func (a *agent) call(t *testing.T, c *http.Client, method, path, body string) (int, string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "https://"+a.address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

func authority(t *testing.T) *agenttest.Authority {
	t.Helper()
	a, err := agenttest.New()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issued(t *testing.T, a *agenttest.Authority, name string, usage x509.ExtKeyUsage) *tls.Certificate {
	t.Helper()
	certificate, err := a.Issue(name, usage)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// TestUnauthorised: only clients of the authority get a response. An agent is not a client: it can read neither the
// samples nor the tokens of others.
func TestUnauthorised(t *testing.T) {
	own, other := authority(t), authority(t)
	a := serving(t, own)
	for name, shown := range map[string]*tls.Certificate{
		"no certificate":                   nil,
		"a certificate of another":         issued(t, other, "plimsoll-controller", x509.ExtKeyUsageClientAuth),
		"the certificate of another agent": issued(t, own, "node-2", x509.ExtKeyUsageServerAuth),
		"a certificate for something else": issued(t, own, "plimsoll-controller", x509.ExtKeyUsageCodeSigning),
	} {
		for _, path := range []string{selection.UsagePath, selection.TokenPath, "/"} {
			if code, text, err := a.call(t, client(t, shown, nil), http.MethodGet, path, ""); err == nil {
				t.Errorf("%s: %s answers %d %q", name, path, code, text)
			}
		}
	}
	known := client(t, issued(t, own, "plimsoll-controller", x509.ExtKeyUsageClientAuth), nil)
	if code, text, err := a.call(t, known, http.MethodPost, selection.UsagePath, ""); err != nil || code != http.StatusOK {
		t.Errorf("%d %q: %v", code, text, err)
	}
}

// TestNoAuthority: without an authority no client gets a response; later its clients do, and those of the previous one
// no longer.
func TestNoAuthority(t *testing.T) {
	first, second := authority(t), authority(t)
	a := serving(t, nil)
	clients := map[*agenttest.Authority]*http.Client{}
	for _, own := range []*agenttest.Authority{first, second} {
		clients[own] = client(t, issued(t, own, "plimsoll-controller", x509.ExtKeyUsageClientAuth), nil)
	}
	answers := func(own *agenttest.Authority) bool {
		code, _, err := a.call(t, clients[own], http.MethodPost, selection.UsagePath, "")
		return err == nil && code == http.StatusOK
	}
	// The file is read again as soon as it may have changed.
	reread := func() {
		a.identity.mu.Lock()
		defer a.identity.mu.Unlock()
		a.identity.read = time.Time{}
	}
	if answers(first) {
		t.Error("without an authority a client is answered")
	}
	a.writeAuthority(t, first.PEM())
	if answers(first) {
		t.Error("the file is read for each connection")
	}
	reread()
	if !answers(first) || answers(second) {
		t.Error("clients of the first authority alone are known")
	}
	a.writeAuthority(t, append(first.PEM(), second.PEM()...))
	reread()
	if !answers(first) || !answers(second) {
		t.Error("clients of both authorities are known")
	}
	a.writeAuthority(t, []byte("half a certif"))
	reread()
	if !answers(first) || !answers(second) {
		t.Error("an unusable file replaced the CAs")
	}
	a.writeAuthority(t, second.PEM())
	reread()
	if answers(first) || !answers(second) {
		t.Error("clients of the second authority alone are known")
	}
}

// TestCertificate: the agent shows its token, and takes only a certificate of its own key and of the authority.
func TestCertificate(t *testing.T) {
	own, other := authority(t), authority(t)
	a := serving(t, own)
	shown := issued(t, own, "plimsoll-controller", x509.ExtKeyUsageClientAuth)
	unverified, verified := client(t, shown, nil), client(t, shown, own.Pool())
	if _, _, err := a.call(t, verified, http.MethodGet, selection.TokenPath, ""); err == nil {
		t.Error("the agent's own certificate proves something")
	}
	if _, text, err := a.call(t, unverified, http.MethodGet, selection.TokenPath, ""); err != nil || text != "token-of-the-pod" {
		t.Errorf("token %q: %v", text, err)
	}
	strange := issued(t, own, "node-1", x509.ExtKeyUsageServerAuth)
	for name, text := range map[string][]byte{
		"nothing":              nil,
		"no certificate":       []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
		"of another key":       signed(t, own, x509.ExtKeyUsageServerAuth, strange),
		"of another authority": signed(t, other, x509.ExtKeyUsageServerAuth, a.identity.shown),
		"of a client":          signed(t, own, x509.ExtKeyUsageClientAuth, a.identity.shown),
		"too long":             make([]byte, 1<<20),
	} {
		code, _, err := a.call(t, unverified, http.MethodPut, selection.CertificatePath, string(text))
		if err == nil && code != http.StatusBadRequest {
			t.Errorf("%s: %d", name, code)
		}
	}
	if _, _, err := a.call(t, verified, http.MethodGet, selection.TokenPath, ""); err == nil {
		t.Error("the agent shows a certificate that it must not take")
	}
	good := signed(t, own, x509.ExtKeyUsageServerAuth, a.identity.shown)
	if code, _, err := a.call(t, unverified, http.MethodPut, selection.CertificatePath, string(good)); err != nil ||
		code != http.StatusNoContent {
		t.Errorf("%d, %v", code, err)
	}
	if code, _, err := a.call(t, verified, http.MethodPost, selection.UsagePath, ""); err != nil || code != http.StatusOK {
		t.Errorf("%d, %v", code, err)
	}
}

// signed is a certificate of node-1 for the key of another certificate.
func signed(t *testing.T, by *agenttest.Authority, usage x509.ExtKeyUsage, of *tls.Certificate) []byte {
	t.Helper()
	key, isKey := of.PrivateKey.(interface{ Public() crypto.PublicKey })
	if !isKey {
		t.Fatal("no key")
	}
	text, err := by.Sign("node-1", key.Public(), usage)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestStrangers: silent connections, however many, lock out no client: neither a connected nor a new one. A stranger
// has a second for its handshake.
func TestStrangers(t *testing.T) {
	own := authority(t)
	directory, _ := filled(t, 1)
	credentials := t.TempDir()
	a := &agent{authorityFile: filepath.Join(credentials, "ca.crt")}
	a.writeAuthority(t, own.PEM())
	identity, err := NewIdentity(IdentityConfig{AuthorityFile: a.authorityFile, TokenFile: "none", Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	limited := Listen(listener, identity)
	server := NewServer(handlerOf(t, directory), identity, logr.Discard())
	go func() { _ = server.Serve(limited) }()
	t.Cleanup(func() { _ = server.Close() })
	a.address = listener.Addr().String()
	shown := issued(t, own, "plimsoll-controller", x509.ExtKeyUsageClientAuth)
	var strangers []net.Conn
	for range 3 {
		for range 2 * maxStrangers {
			stranger, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", a.address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = stranger.Close() })
			strangers = append(strangers, stranger)
		}
		code, _, err := a.call(t, client(t, shown, nil), http.MethodPost, selection.UsagePath, "")
		if err != nil || code != http.StatusOK {
			t.Errorf("a client gets %d: %v", code, err)
		}
	}
	for _, stranger := range strangers {
		if err := stranger.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		_, err := stranger.Read(make([]byte, 1))
		if timeout := net.Error(nil); err == nil || errors.As(err, &timeout) && timeout.Timeout() {
			t.Fatalf("a stranger stays: %v", err)
		}
	}
}
