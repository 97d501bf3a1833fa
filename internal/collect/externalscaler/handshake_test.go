package externalscaler

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: words}, IsCA: true, BasicConstraintsValid: true,
		NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{certificate, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// sign is a certificate for the name, and its key, in PEM.
func (a *authority) sign(t *testing.T, name string, lasts time.Duration) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{name}, NotAfter: time.Now().Add(lasts),
		NotBefore:   time.Now().Add(-time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes}))
}

func (a *authority) serverOf(t *testing.T, name string, lasts time.Duration) *tls.Config {
	t.Helper()
	pair, err := tls.X509KeyPair(inBytes(a.sign(t, name, lasts)))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

func inBytes(certificate, key string) ([]byte, []byte) { return []byte(certificate), []byte(key) }

// secrets are those of team-a.
type secrets struct {
	mu     sync.Mutex
	values map[string]string
}

func (s *secrets) set(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[key] = value
}

func (s *secrets) lookup(_ context.Context, namespace string, key sources.SecretKey, to clientauth.Peer) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value := s.values[key.Key]
	if value == "" || namespace != "team-a" || to.Host != "scaler:6000" {
		return nil, errors.New("it is not for this peer")
	}
	return []byte(value), nil
}

func TestTLS(t *testing.T) {
	const hour, name = time.Hour, "scaler"
	for title, c := range map[string]struct {
		server func(t *testing.T, a *authority) *tls.Config
		// client is the TLS configuration of the metric; fields with the value CA get the authority.
		client sources.TLS
		err    string
	}{
		"bundle":                {tlsServer(name, hour), sources.TLS{CABundle: "CA"}, ""},
		"authority of a Secret": {tlsServer(name, hour), sources.TLS{CA: secretKey("ca")}, ""},
		"another name":          {tlsServer(words, hour), sources.TLS{CABundle: "CA"}, "not for scaler"},
		"the name of the spec":  {tlsServer("other", hour), sources.TLS{CABundle: "CA", ServerName: "other"}, ""},
		"any certificate":       {tlsServer(words, -hour), sources.TLS{InsecureSkipVerify: true}, ""},
		"unknown authority":     {tlsServer(name, hour), sources.TLS{CABundle: "another CA"}, "not signed by a trusted authority"},
		"expired":               {tlsServer(name, -time.Minute), sources.TLS{CABundle: "CA"}, "expired"},
		"no TLS":                {nil, sources.TLS{CABundle: "CA"}, "does not speak TLS"},
		"no bundle":             {tlsServer(name, hour), sources.TLS{CABundle: words}, "tlsConfig.caBundle"},
		"not permitted":         {tlsServer(name, hour), sources.TLS{CA: secretKey("none")}, "tlsConfig.ca.secret"},
		"certificate of the client": {mutual, sources.TLS{CABundle: "CA", Cert: secretKey("cert"),
			Key: secretKey("key")}, ""},
		"no certificate of the client": {mutual, sources.TLS{CABundle: "CA"}, "certificate"},
	} {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, n := newAuthority(t), newNetwork()
				known := &secrets{values: map[string]string{"ca": a.pem}}
				known.values["cert"], known.values["key"] = a.sign(t, "client", hour)
				switch c.client.CABundle {
				case "CA":
					c.client.CABundle = a.pem
				case "another CA":
					c.client.CABundle = newAuthority(t).pem
				}
				var options []grpc.ServerOption
				if c.server != nil {
					options = append(options, grpc.Creds(credentials.NewTLS(c.server(t, a))))
				}
				n.serve(t, "team-a/scaler", queue(), options...)
				s, _, _ := run(t, Config{Dial: n.dial, Lookup: known.lookup})
				e := spec()
				e.IsTLS, e.TLS = true, c.client
				s.look(worker, e)
				for range 100 {
					settle(100 * time.Millisecond)
					err := s.look(worker, e).Err
					if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
						t.Fatal(err)
					}
					if err != nil && strings.Contains(err.Error(), words) {
						t.Fatal("it quotes the scaler:", err)
					}
				}
			})
		})
	}
}

func secretKey(key string) sources.SecretKey { return sources.SecretKey{Name: "scaler", Key: key} }

func tlsServer(name string, lasts time.Duration) func(*testing.T, *authority) *tls.Config {
	return func(t *testing.T, a *authority) *tls.Config {
		t.Helper()
		return a.serverOf(t, name, lasts)
	}
}

// mutual requires a certificate of the client.
func mutual(t *testing.T, a *authority) *tls.Config {
	t.Helper()
	config := a.serverOf(t, "scaler", time.Hour)
	config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, a.pool()
	return config
}

// TestChangedSecrets: a connection ends with the certificate that it was made with, and with the permission to use it.
func TestChangedSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, n := newAuthority(t), newNetwork()
		known := &secrets{values: map[string]string{}}
		renew := func() {
			certificate, key := a.sign(t, "client", time.Hour)
			known.set("cert", certificate)
			known.set("key", key)
		}
		renew()
		n.serve(t, "team-a/scaler", queue(), grpc.Creds(credentials.NewTLS(mutual(t, a))))
		s, _, _ := run(t, Config{Dial: n.dial, Lookup: known.lookup})
		e := spec()
		e.IsTLS, e.TLS = true, sources.TLS{CABundle: a.pem, Cert: secretKey("cert"), Key: secretKey("key")}
		get := func() error {
			s.look(worker, e)
			settle(20 * time.Second)
			return s.look(worker, e).Err
		}
		if err := get(); err != nil || n.dialed("team-a/scaler") != 1 {
			t.Fatalf("%v, %d connections", err, n.dialed("team-a/scaler"))
		}
		renew()
		if err := get(); err != nil || n.dialed("team-a/scaler") != 2 {
			t.Errorf("%v, %d connections", err, n.dialed("team-a/scaler"))
		}
		known.set("key", "")
		if err := get(); err == nil || !strings.Contains(err.Error(), "tlsConfig.key.secret: it is not for this peer") {
			t.Error(err)
		}
		renew()
		if err := get(); err != nil {
			t.Error(err)
		}
	})
}
