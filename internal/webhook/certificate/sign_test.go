package certificate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/util/cert"
)

// TestSign: the certificate of a client that the Secret has, and one of a server that has its own key. Neither can be
// used as the other. The Secret that config/ has is empty at first.
func TestSign(t *testing.T) {
	secrets := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "plimsoll-system", Name: "agents"}}).
		CoreV1().Secrets("plimsoll-system")
	kept, err := Keep(secrets, "agents", Terms{
		Names: []string{"plimsoll-controller"}, Lifetime: 30 * 24 * time.Hour, Settle: time.Hour, Authority: "agents",
		Holder: "plimsoll-controller", IsClient: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kept.Sign(began, "node-1", key.Public()); !errors.Is(err, ErrNotReady) {
		t.Errorf("before there is an authority: %v", err)
	}
	if err := kept.Refresh(t.Context(), began); err != nil {
		t.Fatal(err)
	}
	text, err := kept.Sign(began, "node-1", key.Public())
	if err != nil {
		t.Fatal(err)
	}
	signed, err := cert.ParseCertsPEM(text)
	if err != nil || len(signed) != 1 || !key.PublicKey.Equal(signed[0].PublicKey) {
		t.Fatalf("%v: %v", signed, err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(kept.Shown().Authorities) {
		t.Fatal("no authorities")
	}
	client := kept.Shown().Certificate.Leaf
	if client.Subject.CommonName != "plimsoll-controller" || client.Issuer.CommonName != "agents" {
		t.Errorf("%s of %s", client.Subject, client.Issuer)
	}
	for name, test := range map[string]struct {
		of    *x509.Certificate
		dns   string
		usage x509.ExtKeyUsage
		fine  bool
	}{
		"the client":               {client, "", x509.ExtKeyUsageClientAuth, true},
		"the client as a server":   {client, "", x509.ExtKeyUsageServerAuth, false},
		"the server":               {signed[0], "node-1", x509.ExtKeyUsageServerAuth, true},
		"the server as a client":   {signed[0], "", x509.ExtKeyUsageClientAuth, false},
		"the server of a neighbor": {signed[0], "node-2", x509.ExtKeyUsageServerAuth, false},
	} {
		_, err := test.of.Verify(x509.VerifyOptions{
			DNSName: test.dns, Roots: roots, CurrentTime: began, KeyUsages: []x509.ExtKeyUsage{test.usage},
		})
		if (err == nil) != test.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSignAddress: nodes may be named by their addresses.
func TestSignAddress(t *testing.T) {
	kept, err := Keep(fake.NewClientset().CoreV1().Secrets("plimsoll-system"), "agents", terms)
	if err != nil {
		t.Fatal(err)
	}
	if err := kept.Refresh(t.Context(), began); err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range []string{"10.0.0.1", "fd00::1", "node-1", "10.0.0.1.example.com", "010.0.0.1"} {
		text, err := kept.Sign(began, node, key.Public())
		if err != nil {
			t.Fatal(err)
		}
		signed, err := cert.ParseCertsPEM(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := signed[0].VerifyHostname(node); err != nil {
			t.Errorf("%s: %v", node, err)
		}
		if err := signed[0].VerifyHostname("10.0.0.2"); err == nil {
			t.Errorf("%s: good for another node", node)
		}
	}
}
