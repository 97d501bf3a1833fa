package certificate

import (
	"context"
	"crypto/x509"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

const server = "vpa-webhook.plimsoll-system.svc"

var (
	terms = Terms{Names: []string{server}, Lifetime: 30 * 24 * time.Hour, Settle: 24 * time.Hour}
	began = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
)

// believes reports whether a client with these authorities trusts the certificate.
func believes(authorities []byte, shown *Shown, now time.Time) error {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authorities) {
		return errors.New("no authorities")
	}
	_, err := shown.Certificate.Leaf.Verify(x509.VerifyOptions{DNSName: server, Roots: roots, CurrentTime: now})
	return err
}

// TestRotation: two replicas over 200 days, of which one checks each eight hours and the other each twelve. The API
// server trusts the authorities that the first published at its last check, and always trusts both replicas.
func TestRotation(t *testing.T) {
	secrets := fake.NewClientset().CoreV1().Secrets("plimsoll-system")
	a, errA := Keep(secrets, "tls", terms)
	b, errB := Keep(secrets, "tls", terms)
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	var believed []byte
	servers, authorities := map[string]bool{}, map[string]bool{}
	for hour := 0; hour < 200*24; hour += 4 {
		now := began.Add(time.Duration(hour) * time.Hour)
		if hour%8 == 0 {
			if err := a.Refresh(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			believed = a.Shown().Authorities
		}
		if hour%12 == 0 {
			if err := b.Refresh(t.Context(), now); err != nil {
				t.Fatal(err)
			}
		}
		for name, replica := range map[string]*Kept{"first": a, "second": b} {
			if err := believes(believed, replica.Shown(), now); err != nil {
				t.Fatalf("after %s no client trusts the %s replica: %v", now.Sub(began), name, err)
			}
			servers[string(replica.Shown().Certificate.Leaf.Raw)] = true
		}
		authorities[string(believed)] = true
	}
	// Every 20 days a server certificate, every 60 an authority.
	if len(servers) < 9 || len(servers) > 15 {
		t.Errorf("%d server certificates in 200 days", len(servers))
	}
	if len(authorities) < 5 || len(authorities) > 15 {
		t.Errorf("%d sets of authorities in 200 days", len(authorities))
	}
}

// TestReplicasAgree: both find no Secret; the second write is refused, and its replica uses what the first wrote.
func TestReplicasAgree(t *testing.T) {
	secrets := fake.NewClientset().CoreV1().Secrets("plimsoll-system")
	first, _ := Keep(secrets, "tls", terms)
	second, _ := Keep(interrupted{secrets, func() {
		if err := first.Refresh(t.Context(), began); err != nil {
			t.Error(err)
		}
	}}, "tls", terms)
	if err := second.Refresh(t.Context(), began); err != nil {
		t.Fatal(err)
	}
	if err := believes(first.Shown().Authorities, second.Shown(), began); err != nil {
		t.Errorf("the two do not agree: %v", err)
	}
}

// interrupted has another replica write first.
type interrupted struct {
	corev1client.SecretInterface
	before func()
}

func (i interrupted) Create(
	ctx context.Context, secret *corev1.Secret, o metav1.CreateOptions,
) (*corev1.Secret, error) {
	i.before()
	return i.SecretInterface.Create(ctx, secret, o)
}

// TestShorterLifetime: a certificate with a longer lifetime is replaced.
func TestShorterLifetime(t *testing.T) {
	secrets := fake.NewClientset().CoreV1().Secrets("plimsoll-system")
	long, _ := Keep(secrets, "tls", terms)
	shorter := terms
	shorter.Lifetime, shorter.Settle = time.Hour, time.Minute
	short, _ := Keep(secrets, "tls", shorter)
	if err := long.Refresh(t.Context(), began); err != nil {
		t.Fatal(err)
	}
	for minute := range 3 {
		if err := short.Refresh(t.Context(), began.Add(time.Duration(minute)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if err := believes(short.Shown().Authorities, long.Shown(), began.Add(time.Hour)); err != nil {
		t.Errorf("who showed the old certificate is not believed any more: %v", err)
	}
	if end := short.Shown().Certificate.Leaf.NotAfter; end.After(began.Add(2 * time.Hour)) {
		t.Errorf("valid until %s", end)
	}
}

// TestCorruptSecret: unreadable parts are made again.
func TestCorruptSecret(t *testing.T) {
	for _, key := range []string{AuthorityKey, authorityKeyKey, corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		secrets := fake.NewClientset().CoreV1().Secrets("plimsoll-system")
		kept, _ := Keep(secrets, "tls", terms)
		if err := kept.Refresh(t.Context(), began); err != nil {
			t.Fatal(err)
		}
		secret, err := secrets.Get(t.Context(), "tls", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		secret.Data[key] = []byte("spoilt")
		if _, err := secrets.Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := kept.Refresh(t.Context(), began.Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if err := believes(kept.Shown().Authorities, kept.Shown(), began.Add(time.Minute)); err != nil {
			t.Errorf("with %s spoilt: %v", key, err)
		}
	}
}

// TestFiles: changed files are served at the next Refresh, with reload; a truncated file changes nothing.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	paths := Paths{
		Certificate: filepath.Join(dir, "cert"), Key: filepath.Join(dir, "key"), Authority: filepath.Join(dir, "ca"),
	}
	write := func() held {
		h, _, err := terms.renew(time.Now(), held{})
		if err != nil {
			t.Fatal(err)
		}
		data, err := encode(h)
		if err != nil {
			t.Fatal(err)
		}
		for path, content := range map[string][]byte{
			paths.Certificate: data[corev1.TLSCertKey], paths.Key: data[corev1.TLSPrivateKeyKey],
			paths.Authority: data[AuthorityKey],
		} {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return h
	}
	first := write()
	once, again := Read(paths, false), Read(paths, true)
	refresh := func() error { return errors.Join(once.Refresh(t.Context(), began), again.Refresh(t.Context(), began)) }
	if err := refresh(); err != nil {
		t.Fatal(err)
	}
	second := write()
	if err := refresh(); err != nil {
		t.Fatal(err)
	}
	if !once.Shown().Certificate.Leaf.Equal(first.server.cert) ||
		!again.Shown().Certificate.Leaf.Equal(second.server.cert) {
		t.Error("not what was read at the start, or not what was written since")
	}
	if err := os.WriteFile(paths.Key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := again.Refresh(t.Context(), began); err == nil {
		t.Error("an unwritten key is no error")
	}
	if !again.Shown().Certificate.Leaf.Equal(second.server.cert) {
		t.Error("a truncated file changed the served certificate")
	}
}
