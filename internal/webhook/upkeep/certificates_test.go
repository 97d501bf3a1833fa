package upkeep

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/webhook/certificate"
)

// TestReloadsAreLogged: there is one line when another certificate is shown, one when others are trusted, and none
// without a change.
func TestReloadsAreLogged(t *testing.T) {
	var logs []string
	source := &given{shown: shownWith(1, "ca")}
	u := Runner{
		Certificates: source, LeaseInterval: time.Second,
		Log: funcr.New(func(_, args string) { logs = append(logs, args) }, funcr.Options{}),
	}
	for range 3 {
		u.check(t.Context())
	}
	first := source.shown
	source.shown = shownWith(2, "another")
	source.shown.Authorities = append(bytes.Clone(first.Authorities), source.shown.Authorities...)
	for range 3 {
		u.check(t.Context())
	}
	var got []string
	for _, line := range logs {
		got = append(got, line[strings.Index(line, `"msg"=`):strings.Index(line, `" "`)+1])
	}
	want := []string{`"msg"="serving certificate loaded"`, `"msg"="serving certificate loaded"`,
		`"msg"="client CA reloaded"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s\n%q", diff, logs)
	}
}

// shownWith is a certificate of this number.
func shownWith(serial int64, authorities string) *certificate.Shown {
	leaf := &x509.Certificate{Raw: []byte{byte(serial)}, SerialNumber: big.NewInt(serial)}
	return &certificate.Shown{Certificate: &tls.Certificate{Leaf: leaf}, Authorities: []byte(authorities)}
}

// TestClientCertificates: with an authority of clients, no other client can send a request.
func TestClientCertificates(t *testing.T) {
	authority, pair := clientAuthority(t)
	clients, err := certificate.ReadClients(authority)
	if err != nil {
		t.Fatal(err)
	}
	requests := 0
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests++ }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	source := &given{}
	u := Runner{Certificates: source, Clients: clients}
	server.TLS = u.TLS(&tls.Config{MinVersion: tls.VersionTLS12})
	source.shown = &certificate.Shown{Certificate: &pair}
	server.StartTLS()
	defer server.Close()
	_, stranger := clientAuthority(t)
	for name, shows := range map[string][]tls.Certificate{"none": nil,
		"a stranger": {stranger}, "the API server": {pair}} {
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, Certificates: shows, // the identity of the server is not tested
		}}}
		request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()),
			http.MethodPost, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		before := requests
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		if isAllowed := name == "the API server"; isAllowed != (err == nil) || isAllowed != (requests == before+1) {
			t.Errorf("%s: %v, %d requests", name, err, requests-before)
		}
	}
}

// clientAuthority is a file with an authority, and a certificate that it signed: its own.
func clientAuthority(t *testing.T) (file string, pair tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
