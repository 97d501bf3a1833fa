package kubelet

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// own is Plimsoll's own token, which must reach no kubelet.
const own = "own-t0k3n-for-the-API-server"

// issued is a token that is issued for kubelets.
type issued struct {
	token string
	err   error

	// mu guards refused.
	mu      sync.Mutex
	refused []string
}

func (i *issued) Token(context.Context) (string, error) { return i.token, i.err }

func (i *issued) Refused(token string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.refused = append(i.refused, token)
}

// TestOwnCredentialsGoToNoKubelet: whatever authenticates Plimsoll to the API server, a kubelet receives nothing of it.
func TestOwnCredentialsGoToNoKubelet(t *testing.T) {
	dir := t.TempDir()
	certificate, key := selfSigned(t)
	write := func(name string, content []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	tokenFile, certFile, keyFile := write("token", []byte(own)), write("tls.crt", certificate), write("tls.key", key)
	withCertificate := func(o *Options) { o.ClientCertificate, o.ClientKey = certFile, keyFile }
	without := func(o *Options) { o.Tokens = nil }
	for name, config := range map[string]rest.Config{
		"a token":              {BearerToken: own},
		"a token in a file":    {BearerTokenFile: tokenFile},
		"a name and password":  {Username: "plimsoll", Password: own},
		"a client certificate": {TLSClientConfig: rest.TLSClientConfig{CertData: certificate, KeyData: key}},
		"a certificate's file": {TLSClientConfig: rest.TLSClientConfig{CertFile: certFile, KeyFile: keyFile}},
		"a program": {ExecProvider: &clientcmdapi.ExecConfig{
			Command: "/none", APIVersion: "client.authentication.k8s.io/v1",
			InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		}},
		"a provider":    {AuthProvider: &clientcmdapi.AuthProviderConfig{Name: "none"}},
		"somebody else": {BearerToken: own, Impersonate: rest.ImpersonationConfig{UserName: "somebody"}},
		"wrapped transports": {WrapTransport: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				r = r.Clone(r.Context())
				r.Header.Set("Authorization", "Bearer "+own)
				return next.RoundTrip(r)
			})
		}},
	} {
		for kind, identify := range map[string]func(*Options){"a token": nil,
			"a certificate": withCertificate, "nothing": without} {
			s := serve(t, say("metrics"))
			c := s.client(t, func(r *rest.Config, o *Options) {
				changed := config
				changed.CAFile = s.caFile
				*r = changed
				if identify != nil {
					identify(o)
				}
			})
			if _, err := c.Get(t.Context(), s.target(), nil); err != nil {
				t.Errorf("with %s for the API server, and %s for kubelets: %v", name, kind, err)
				continue
			}
			r := s.seen()[0]
			want := ""
			if kind == "a token" {
				want = "Bearer " + token
			}
			if got := r.Header.Get("Authorization"); got != want || r.Header.Get("Impersonate-User") != "" {
				t.Errorf("with %s for the API server, and %s for kubelets, it saw %q", name, kind, got)
			}
			if got := len(r.TLS.PeerCertificates) > 0; got != (kind == "a certificate") {
				t.Errorf("with %s for the API server, and %s for kubelets, it saw a certificate: %v", name, kind, got)
			}
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestKubeletsAreAlwaysVerified: insecure-skip-tls-verify of a kubeconfig affects only the API
// server.
func TestKubeletsAreAlwaysVerified(t *testing.T) {
	s := serve(t, say("metrics"))
	for _, insecure := range []bool{false, true} {
		c := s.client(t, func(r *rest.Config, o *Options) {
			r.TLSClientConfig = rest.TLSClientConfig{Insecure: true}
			o.InsecureTLS = insecure
		})
		_, err := c.Get(t.Context(), s.target(), nil)
		if insecure != (err == nil) {
			t.Errorf("--kubelet-insecure-tls=%v: %v", insecure, err)
		}
	}
	if n := len(s.seen()); n != 1 {
		t.Errorf("%d requests, want the one of --kubelet-insecure-tls", n)
	}
}

// TestNoRequestWithoutToken: without a token there is no request.
func TestNoRequestWithoutToken(t *testing.T) {
	s := serve(t, say("metrics"))
	c := s.client(t, func(_ *rest.Config, o *Options) { o.Tokens = &issued{err: errors.New("forbidden by RBAC")} })
	if _, err := c.Get(t.Context(), s.target(), nil); err == nil || !strings.Contains(err.Error(), "forbidden by RBAC") {
		t.Errorf("%v", err)
	}
	if n := len(s.seen()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestRefusedToken: Refused is called with a token that a kubelet rejects.
func TestRefusedToken(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	tokens := &issued{token: token}
	c := s.client(t, func(_ *rest.Config, o *Options) { o.Tokens = tokens })
	if _, err := c.Get(t.Context(), s.target(), nil); err == nil {
		t.Error("no error")
	}
	if !slices.Equal(tokens.refused, []string{token}) {
		t.Errorf("refused %q", tokens.refused)
	}
}

func TestTokenFileAndCertificateExcludeEachOther(t *testing.T) {
	options := DefaultOptions()
	options.TokenFile, options.ClientCertificate, options.ClientKey = "a", "b", "c"
	if _, err := NewClient(&rest.Config{}, options, logr.Discard()); err == nil ||
		!strings.Contains(err.Error(), "--kubelet-token-file") {
		t.Errorf("%v", err)
	}
}
