package clientauth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// pair is a certificate and its key, in PEM.
func pair(t *testing.T) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"mimir.example.com"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
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

// secret has the values of a Secret's keys, and counts the reads.
type secret struct {
	values map[string]string
	asked  int
	peers  []Peer
	block  chan struct{}
}

func (s *secret) lookup(ctx context.Context, namespace string, key sources.SecretKey, to Peer) ([]byte, error) {
	s.asked++
	s.peers = append(s.peers, to)
	if s.block != nil {
		select {
		case <-s.block:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	value, has := s.values[key.Key]
	if !has || namespace != "team-a" || key.Name != "mimir" {
		return nil, errors.New("secret team-a/mimir: refused")
	}
	return []byte(value), nil
}

func of(key string) sources.SecretKey { return sources.SecretKey{Name: "mimir", Key: key} }

// TestLargeValues: values are bounded, because they are sent with every request, or kept for every server.
func TestLargeValues(t *testing.T) {
	s := &secret{values: map[string]string{
		"token": strings.Repeat("a", maxText), "large": strings.Repeat("a", maxText+1), "pem": strings.Repeat("a", maxPEM+1),
	}}
	if m, err := New(s.lookup, target(sources.Credentials{Token: of("token")}, sources.TLS{})).Get(t.Context()); err != nil {
		t.Errorf("%d bytes, %v", len(m.Authorization), err)
	}
	for field, of := range map[string]Target{
		"authorization.credentials": target(sources.Credentials{Token: of("large")}, sources.TLS{}),
		"basicAuth.username": target(
			sources.Credentials{Username: of("large"), Password: of("token")}, sources.TLS{}),
		"basicAuth.password": target(
			sources.Credentials{Username: of("token"), Password: of("large")}, sources.TLS{}),
		"tlsConfig.ca.secret":   target(sources.Credentials{}, sources.TLS{CA: of("pem")}),
		"tlsConfig.cert.secret": target(sources.Credentials{}, sources.TLS{Cert: of("pem"), Key: of("token")}),
		"tlsConfig.key.secret":  target(sources.Credentials{}, sources.TLS{Cert: of("token"), Key: of("pem")}),
	} {
		_, err := New(s.lookup, of).Get(t.Context())
		if err == nil || !strings.Contains(err.Error(), field+": key ") || !strings.Contains(err.Error(), "more than") ||
			strings.Contains(err.Error(), "aaaaaa") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// target is a server that is verified, with the credentials.
func target(credentials sources.Credentials, tls sources.TLS) Target {
	return Target{Namespace: "team-a", Host: "mimir.example.com:443", IsTLS: true, TLS: tls, Credentials: credentials}
}

func TestAuthorization(t *testing.T) {
	s := &secret{values: map[string]string{
		"token": "abc.def-123\n", "two-lines": "abc\r\nHost: x", "space": "abc def", "empty": "\n", "user": "anna",
		"colon": "an:na", "password": "pass\r\nword:\x00\n",
	}}
	basic := func(user, password string) sources.Credentials {
		return sources.Credentials{Username: of(user), Password: of(password)}
	}
	for name, c := range map[string]struct {
		credentials sources.Credentials
		want, err   string
	}{
		"none":             {},
		"token":            {sources.Credentials{Token: of("token")}, "Bearer abc.def-123", ""},
		"token, two lines": {sources.Credentials{Token: of("two-lines")}, "", "authorization.credentials"},
		"token, space":     {sources.Credentials{Token: of("space")}, "", "authorization.credentials"},
		"token, empty":     {sources.Credentials{Token: of("empty")}, "", "authorization.credentials"},
		"token, absent":    {sources.Credentials{Token: of("absent")}, "", "authorization.credentials: secret team-a/mimir"},
		"basic":            {basic("user", "password"), "Basic YW5uYTpwYXNzDQp3b3JkOgA=", ""},
		"basic, colon":     {basic("colon", "password"), "", "basicAuth.username"},
		"basic, absent":    {basic("user", "absent"), "", "basicAuth.password: secret team-a/mimir"},
	} {
		m, err := New(s.lookup, target(c.credentials, sources.TLS{})).Get(t.Context())
		if m.Authorization != c.want || (err != nil) != (c.err != "") {
			t.Errorf("%s: %q, %v", name, m.Authorization, err)
		}
		if err != nil && (!strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "abc") ||
			strings.Contains(err.Error(), "an:na")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := New(nil, target(basic("user", "password"), sources.TLS{})).Get(t.Context()); err == nil {
		t.Error("Secrets are read although they are not")
	}
}

func TestTLS(t *testing.T) {
	certificate, key := pair(t)
	_, otherKey := pair(t)
	s := &secret{values: map[string]string{"cert": certificate, "key": key, "other": otherKey, "token": "hush"}}
	for name, c := range map[string]struct {
		tls sources.TLS
		err string
	}{
		"system":                {},
		"bundle":                {tls: sources.TLS{CABundle: certificate}},
		"authority of a Secret": {tls: sources.TLS{CA: of("cert")}},
		"client":                {tls: sources.TLS{Cert: of("cert"), Key: of("key")}},
		"bundle without PEM":    {sources.TLS{CABundle: "hush"}, "tlsConfig.caBundle"},
		"Secret without PEM":    {sources.TLS{CA: of("token")}, "tlsConfig.ca.secret"},
		"another's key":         {sources.TLS{Cert: of("cert"), Key: of("other")}, "tlsConfig.key.secret"},
		"a token for a key":     {sources.TLS{Cert: of("cert"), Key: of("token")}, "tlsConfig.key.secret"},
		"no key":                {sources.TLS{Cert: of("cert")}, "tlsConfig.key.secret"},
		"no certificate":        {sources.TLS{Key: of("key")}, "tlsConfig.cert.secret"},
	} {
		m, err := New(s.lookup, target(sources.Credentials{}, c.tls)).Get(t.Context())
		if (err != nil) != (c.err != "") || (m.TLS == nil) != (err != nil) {
			t.Errorf("%s: %v, %v", name, m, err)
			continue
		}
		if err != nil {
			if !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "hush") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		isOwnPool := c.tls.CABundle != "" || c.tls.CA.Name != ""
		if (m.TLS.RootCAs != nil) != isOwnPool || len(m.TLS.Certificates) > 0 != (c.tls.Cert.Name != "") ||
			m.TLS.ServerName != "mimir.example.com" || m.TLS.InsecureSkipVerify {
			t.Errorf("%s: %+v", name, m.TLS)
		}
	}
	plain := target(sources.Credentials{}, sources.TLS{CABundle: certificate})
	plain.IsTLS = false
	if m, err := New(s.lookup, plain).Get(t.Context()); m.TLS != nil || err != nil {
		t.Errorf("without TLS: %+v, %v", m.TLS, err)
	}
}

// TestVerified: a peer counts as verified only if neither the author of the object nor the author of another Secret can
// influence the verification.
func TestVerified(t *testing.T) {
	for name, c := range map[string]struct {
		host       string
		isTLS      bool
		tls        sources.TLS
		serverName string
		isVerified bool
	}{
		"system":                  {"mimir.example.com:443", true, sources.TLS{}, "mimir.example.com", true},
		"HTTP":                    {"mimir.example.com:443", false, sources.TLS{}, "mimir.example.com", false},
		"insecure":                {"mimir.example.com:443", true, sources.TLS{InsecureSkipVerify: true}, "mimir.example.com", false},
		"authority of the Secret": {"mimir.example.com:443", true, sources.TLS{CA: of("ca")}, "mimir.example.com", true},
		"authority of another Secret": {"mimir.example.com:443", true,
			sources.TLS{CA: sources.SecretKey{Name: "mimir-ca", Key: "ca"}}, "mimir.example.com", false},
		"authority of another Secret, insecure": {"mimir.example.com:443", true,
			sources.TLS{CA: sources.SecretKey{Name: "mimir-ca", Key: "ca"}, InsecureSkipVerify: true}, "mimir.example.com", false},
		"authority of the author":    {"mimir.example.com:443", true, sources.TLS{CABundle: "x"}, "mimir.example.com", false},
		"its own name":               {"mimir.example.com:443", true, sources.TLS{ServerName: "Mimir.example.com"}, "Mimir.example.com", true},
		"another name":               {"mimir.example.com:443", true, sources.TLS{ServerName: "evil.example.com"}, "evil.example.com", false},
		"IPv6":                       {"[2001:db8::7]:443", true, sources.TLS{}, "2001:db8::7", true},
		"pods":                       {Pods, true, sources.TLS{}, "", true},
		"pods, any name":             {Pods, true, sources.TLS{ServerName: "shop"}, "shop", true},
		"pods, author's authorities": {Pods, true, sources.TLS{CABundle: "x"}, "", false},
		"pods, another Secret's":     {Pods, true, sources.TLS{CA: sources.SecretKey{Name: "ca", Key: "ca"}}, "", false},
	} {
		target := Target{Namespace: "team-a", Host: c.host, IsTLS: c.isTLS, TLS: c.tls}
		if got, want := target.peer("mimir"), (Peer{c.host, c.isVerified}); got != want {
			t.Errorf("%s: %+v", name, got)
		}
		if got := target.serverName(); got != c.serverName {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestAuthorityOfAnotherSecret: the token's Secret must permit an unverified server, that of the authority need not.
func TestAuthorityOfAnotherSecret(t *testing.T) {
	certificate, _ := pair(t)
	verified := map[string]bool{}
	lookup := func(_ context.Context, _ string, key sources.SecretKey, to Peer) ([]byte, error) {
		verified[key.Name] = to.IsVerified
		return []byte(certificate), nil
	}
	config := sources.TLS{CA: sources.SecretKey{Name: "authority", Key: "ca"}}
	credentials := sources.Credentials{
		Username: sources.SecretKey{Name: "authority", Key: "user"}, Password: sources.SecretKey{Name: "password", Key: "password"},
	}
	_, _ = New(lookup, target(credentials, config)).Get(t.Context())
	_, _ = New(lookup, target(sources.Credentials{}, config)).Get(t.Context())
	if !verified["authority"] || verified["password"] || len(verified) != 2 {
		t.Error(verified)
	}
}

// TestChanges: the configuration stays as long as the Secret does, and follows within a second.
func TestChanges(t *testing.T) {
	certificate, key := pair(t)
	otherCertificate, otherKey := pair(t)
	synctest.Test(t, func(t *testing.T) {
		s := &secret{values: map[string]string{"cert": certificate, "key": key}}
		c := New(s.lookup, target(sources.Credentials{}, sources.TLS{Cert: of("cert"), Key: of("key")}))
		get := func() Material {
			t.Helper()
			m, err := c.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		first := get()
		for range 100 {
			get()
		}
		if s.asked != 2 {
			t.Errorf("asked %d times", s.asked)
		}
		<-time.After(maxAge)
		if get().TLS != first.TLS || s.asked != 4 {
			t.Error("the same contents make another configuration, or nothing is asked again")
		}
		s.values = map[string]string{"cert": otherCertificate, "key": otherKey}
		<-time.After(maxAge)
		if get().TLS == first.TLS {
			t.Error("a changed Secret has no effect")
		}
		delete(s.values, "key")
		<-time.After(maxAge)
		if m, err := c.Get(t.Context()); err == nil || m.TLS != nil {
			t.Error("a Secret that is no longer permitted is still used")
		}
	})
}

// TestLatest: Latest never waits for Secrets, and Notify's function is called when they are there.
func TestLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &secret{values: map[string]string{"token": "abc"}, block: make(chan struct{})}
		c := New(s.lookup, target(sources.Credentials{Token: of("token")}, sources.TLS{}))
		var ready atomic.Int32
		c.Notify(func() { ready.Add(1) })
		latest := func() (string, error) {
			began := time.Now()
			m, err := c.Latest(t.Context())
			if took := time.Since(began); took > firstWait {
				t.Errorf("it takes %s", took)
			}
			return m.Authorization, err
		}
		for range 3 {
			if got, err := latest(); !errors.Is(err, ErrPending) {
				t.Error(got, err)
			}
		}
		if ready.Load() != 0 {
			t.Error("ready before there is anything")
		}
		close(s.block)
		synctest.Wait()
		if got, err := latest(); got != "Bearer abc" || err != nil || ready.Load() != 1 || s.asked != 1 {
			t.Errorf("%q, %v, %d calls, asked %d times", got, err, ready.Load(), s.asked)
		}
	})
}

// TestLatestChanges: a change counts a call later, and at once after a long time.
func TestLatestChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &secret{values: map[string]string{"token": "abc"}}
		c := New(s.lookup, target(sources.Credentials{Token: of("token")}, sources.TLS{}))
		want := func(want string) {
			t.Helper()
			if m, err := c.Latest(t.Context()); m.Authorization != "Bearer "+want || err != nil {
				t.Errorf("%q, %v, want %s", m.Authorization, err, want)
			}
			synctest.Wait()
		}
		want("abc")
		s.values = map[string]string{"token": "def"}
		<-time.After(maxAge)
		want("abc")
		want("def")
		s.values = map[string]string{"token": "ghi"}
		<-time.After(maxLag + 1)
		want("ghi")
	})
}

// TestSlowSecret: only a caller without material waits, up to its own deadline.
func TestSlowSecret(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &secret{values: map[string]string{"token": "abc"}, block: make(chan struct{})}
		c := New(s.lookup, target(sources.Credentials{Token: of("token")}, sources.TLS{}))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range 5 {
			go func() { _, _ = c.Get(ctx) }()
		}
		if _, err := c.Get(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		synctest.Wait()
		close(s.block)
		if m, err := c.Get(t.Context()); m.Authorization != "Bearer abc" || err != nil {
			t.Error("a cancelled caller's error is returned to others:", err)
		}
		s.block = make(chan struct{})
		<-time.After(maxAge)
		go func() { _, _ = c.Get(t.Context()) }()
		synctest.Wait()
		if m, err := c.Get(t.Context()); m.Authorization != "Bearer abc" || err != nil {
			t.Error(err)
		}
		close(s.block)
	})
}
