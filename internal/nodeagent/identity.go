package nodeagent

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

const (
	// authorityPeriod is the period of reading the file of the CA. The kubelet renews it about a minute after the
	// controller has.
	authorityPeriod = 10 * time.Second
	// The longest certificate and token that are sent or read.
	maxCertificateBytes = 16 << 10
	maxTokenBytes       = 16 << 10
	// bootstrapLifetime is the lifetime of the first certificate, which no client verifies.
	bootstrapLifetime = 10 * 365 * 24 * time.Hour
)

// IdentityConfig names the files of an agent's credentials.
type IdentityConfig struct {
	// AuthorityFile has the certificates, in PEM, of the CA that signs those of clients and of agents. It may be empty or
	// missing: then the agent accepts no client.
	AuthorityFile string
	// TokenFile has the token of the agent's pod.
	TokenFile string
	Log       logr.Logger
}

// Identity is the TLS identity of an agent, and the CA of its clients.
//
// Only a client with a client certificate of the CA gets a response. The agent's key never leaves its memory. At first
// it shows a certificate of its own, which proves nothing. A client that requires proof reads the agent's token, has
// the API server review it, and gives the agent a certificate of the CA with the name of the token's node. No other
// agent can pretend to be this one: it has neither this key nor a token of this node.
type Identity struct {
	config IdentityConfig
	key    *ecdsa.PrivateKey

	// mu guards the following.
	mu sync.Mutex
	// shown is the certificate that the agent shows.
	shown *tls.Certificate
	// authority holds the certificates in the file when it was last read, nil without any.
	authority *x509.CertPool
	content   []byte
	read      time.Time
	complaint string
}

// NewIdentity makes a key. It reads nothing.
func NewIdentity(config IdentityConfig) (*Identity, error) {
	if config.AuthorityFile == "" || config.TokenFile == "" {
		return nil, errors.New("an agent needs the file of a CA and the file of a token")
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	i := &Identity{config: config, key: key}
	now := time.Now()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "plimsoll-node-agent"}, SerialNumber: big.NewInt(1),
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(bootstrapLifetime),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("making a certificate: %w", err)
	}
	i.shown = &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	return i, nil
}

// TLS returns the configuration of the agent's server.
func (i *Identity) TLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			shown, authority := i.current(time.Now())
			if authority == nil {
				return nil, errors.New("no client CA loaded yet")
			}
			return &tls.Config{
				MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*shown}, ClientCAs: authority,
				ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"http/1.1"},
				// Each connection is verified again: the CA may have changed.
				SessionTicketsDisabled: true,
			}, nil
		},
	}
}

// current returns the certificate to show, and the CA; nil if there is none.
func (i *Identity) current(now time.Time) (*tls.Certificate, *x509.CertPool) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.read.IsZero() || now.Sub(i.read) >= authorityPeriod {
		i.read = now
		i.refreshLocked()
	}
	return i.shown, i.authority
}

// refreshLocked reads the file of the CA. An unusable file changes nothing.
func (i *Identity) refreshLocked() {
	content, err := os.ReadFile(i.config.AuthorityFile)
	pool := x509.NewCertPool()
	switch {
	case err == nil && bytes.Equal(content, i.content) && i.authority != nil:
		i.complaint = ""
		return
	case err == nil && !pool.AppendCertsFromPEM(content):
		err = errors.New("it has no certificate")
	}
	if err != nil {
		if complaint := err.Error(); complaint != i.complaint {
			i.complaint = complaint
			i.config.Log.Info("the client CA cannot be read", "file", i.config.AuthorityFile, "err", complaint)
		}
		return
	}
	i.authority, i.content, i.complaint = pool, content, ""
	i.config.Log.Info("accepting clients of this CA", "file", i.config.AuthorityFile)
}

// Register adds the pages by which the agent proves its node.
func (i *Identity) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET "+selection.TokenPath, i.showToken)
	mux.HandleFunc("PUT "+selection.CertificatePath, i.takeCertificate)
}

func (i *Identity) showToken(w http.ResponseWriter, _ *http.Request) {
	token, err := os.ReadFile(i.config.TokenFile)
	if err != nil || len(token) > maxTokenBytes {
		i.config.Log.Info("the pod's token cannot be read", "file", i.config.TokenFile, "err", fmt.Sprint(err))
		http.Error(w, "the token cannot be read", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	_, _ = io.WriteString(w, strings.TrimSpace(string(token))) // The client may be gone.
}

func (i *Identity) takeCertificate(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCertificateBytes))
	if err == nil {
		err = i.take(time.Now(), text)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// take shows a new certificate, if it is of the agent's key and of the CA.
func (i *Identity) take(now time.Time, text []byte) error {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" {
		return errors.New("no certificate in PEM")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return fmt.Errorf("reading the certificate: %w", err)
	}
	public, isComparable := leaf.PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !isComparable || !public.Equal(i.key.Public()) {
		return errors.New("the certificate is of another key")
	}
	_, authority := i.current(now)
	if authority == nil {
		return errors.New("no client CA loaded yet")
	}
	_, err = leaf.Verify(x509.VerifyOptions{
		Roots: authority, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
	if err != nil {
		return fmt.Errorf("verifying the certificate: %w", err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.shown = &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: i.key, Leaf: leaf}
	i.config.Log.Info("using a certificate for this node", "names", leaf.DNSNames, "addresses", leaf.IPAddresses,
		"until", leaf.NotAfter)
	return nil
}
