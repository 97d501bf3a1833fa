package certificate

import (
	"context"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// The keys of the Secret.
const (
	// AuthorityKey has all authorities that are to be believed, the one that signs
	// first.
	AuthorityKey    = "ca.crt"
	authorityKeyKey = "ca.key"
	nextKey         = "next-ca.crt"
	nextKeyKey      = "next-ca.key"
	attempts        = 5
)

// Shown is a certificate to show and the authorities that vouch for it.
type Shown struct {
	Certificate *tls.Certificate
	// Authorities are PEM.
	Authorities []byte
}

// Kept are own certificates that are kept in a Secret.
type Kept struct {
	secrets corev1client.SecretInterface
	name    string
	terms   Terms
	shown   atomic.Pointer[Shown]
}

// Keep keeps certificates in the Secret of this name. Nothing is read or written
// before Refresh.
func Keep(secrets corev1client.SecretInterface, name string, terms Terms) (*Kept, error) {
	if len(terms.Names) == 0 || terms.Lifetime <= 0 || terms.Settle < 0 {
		return nil, fmt.Errorf("certificates for %q of %s, settling in %s: they need a name and a lifetime", terms.Names, terms.Lifetime, terms.Settle)
	}
	return &Kept{secrets: secrets, name: name, terms: terms}, nil
}

// Shown is what is shown; nil before the first Refresh.
func (k *Kept) Shown() *Shown { return k.shown.Load() }

// Refresh reads the Secret and renews what is due. Replicas that do so at once
// agree on what the first of them wrote.
func (k *Kept) Refresh(ctx context.Context, now time.Time) error {
	var err error
	for range attempts {
		if err = k.refresh(ctx, now); !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("certificates in Secret %s: %w", k.name, err)
	}
	return nil
}

func (k *Kept) refresh(ctx context.Context, now time.Time) error {
	secret, err := k.secrets.Get(ctx, k.name, metav1.GetOptions{})
	isNew := apierrors.IsNotFound(err)
	if err != nil && !isNew {
		return err
	}
	if isNew {
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: k.name}, Type: corev1.SecretTypeOpaque}
	}
	renewed, changed, err := k.terms.renew(now, decode(secret.Data))
	if err != nil {
		return err
	}
	data, err := encode(renewed)
	if err != nil {
		return err
	}
	if changed {
		secret.Data = data
		if isNew {
			_, err = k.secrets.Create(ctx, secret, metav1.CreateOptions{})
		} else {
			_, err = k.secrets.Update(ctx, secret, metav1.UpdateOptions{})
		}
		if err != nil {
			return err
		}
	}
	k.shown.Store(&Shown{
		Certificate: &tls.Certificate{
			Certificate: [][]byte{renewed.server.cert.Raw}, PrivateKey: renewed.server.key, Leaf: renewed.server.cert,
		},
		Authorities: data[AuthorityKey],
	})
	return nil
}

// decode takes what is readable; the rest is made anew.
func decode(data map[string][]byte) held {
	var h held
	h.trusted, _ = cert.ParseCertsPEM(data[AuthorityKey])
	h.authority = decodePair(data[AuthorityKey], data[authorityKeyKey])
	h.next = decodePair(data[nextKey], data[nextKeyKey])
	h.server = decodePair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	return h
}

// decodePair is the first certificate with its key, or nil.
func decodePair(certPEM, keyPEM []byte) *pair {
	certs, err := cert.ParseCertsPEM(certPEM)
	if err != nil {
		return nil
	}
	parsed, err := keyutil.ParsePrivateKeyPEM(keyPEM)
	if err != nil {
		return nil
	}
	key, isSigner := parsed.(crypto.Signer)
	if !isSigner {
		return nil
	}
	public, isComparable := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !isComparable || !public.Equal(certs[0].PublicKey) {
		return nil
	}
	return &pair{cert: certs[0], key: key}
}

func encode(h held) (map[string][]byte, error) {
	authorities, err := cert.EncodeCertificates(h.trusted...)
	if err != nil {
		return nil, fmt.Errorf("encoding authorities: %w", err)
	}
	data := map[string][]byte{AuthorityKey: authorities}
	var errs []error
	put := func(p *pair, certKey, keyKey string) {
		if p == nil {
			return
		}
		encoded, err := cert.EncodeCertificates([]*x509.Certificate{p.cert}...)
		errs = append(errs, err)
		key, err := keyutil.MarshalPrivateKeyToPEM(p.key)
		errs = append(errs, err)
		if certKey != AuthorityKey {
			data[certKey] = encoded
		}
		data[keyKey] = key
	}
	put(h.authority, AuthorityKey, authorityKeyKey)
	put(h.next, nextKey, nextKeyKey)
	put(h.server, corev1.TLSCertKey, corev1.TLSPrivateKeyKey)
	return data, errors.Join(errs...)
}
