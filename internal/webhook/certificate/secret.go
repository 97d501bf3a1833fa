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
	// AuthorityKey has all authorities to trust, the signing one first.
	AuthorityKey    = "ca.crt"
	authorityKeyKey = "ca.key"
	nextKey         = "next-ca.crt"
	nextKeyKey      = "next-ca.key"
	pathKey         = "path"
	attempts        = 5
)

// Shown is a certificate to show, with the authorities to trust.
type Shown struct {
	Certificate *tls.Certificate
	// Authorities are PEM.
	Authorities []byte
	// Path is the secret path of all replicas; empty if there is none.
	Path string
	// authority signs certificates of others; nil if it is unknown.
	authority *pair
}

// Kept are own certificates that are kept in a Secret.
type Kept struct {
	secrets corev1client.SecretInterface
	name    string
	terms   Terms
	shown   atomic.Pointer[Shown]
	// Registered returns the authorities that the API server trusts, in PEM, and the path of its requests. It is called if
	// there is no Secret and no last state: other replicas may still show certificates of these authorities. Nil for none.
	Registered func(ctx context.Context) (authorities []byte, path string, err error)
	// Offset returns how far the clock of the API server, which verifies certificates, is ahead of the local one. Nil for
	// zero.
	Offset func() time.Duration
	// last is the state of the last successful Refresh; one goroutine refreshes.
	last held
}

// Keep keeps certificates in the Secret of this name. It reads and writes nothing before Refresh.
func Keep(secrets corev1client.SecretInterface, name string, terms Terms) (*Kept, error) {
	if len(terms.Names) == 0 || terms.Lifetime <= 0 || terms.Settle < 0 {
		return nil, fmt.Errorf("certificates for %q of %s, settling in %s: they need a name and a lifetime",
			terms.Names, terms.Lifetime, terms.Settle)
	}
	return &Kept{secrets: secrets, name: name, terms: terms}, nil
}

// Shown returns the certificate to show; nil before the first Refresh.
func (k *Kept) Shown() *Shown { return k.shown.Load() }

// Refresh reads the Secret and renews certificates that are due. Concurrent replicas agree on what the first of them
// wrote.
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
	if k.Offset != nil {
		now = now.Add(k.Offset())
	}
	before, isLost, err := k.found(ctx, now, secret, isNew)
	if err != nil {
		return err
	}
	if isNew {
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: k.name}, Type: corev1.SecretTypeOpaque}
	}
	if before.path == "" {
		// A replica of a version without paths has written it.
		before.path = k.last.path
	}
	pathIsKept := string(secret.Data[pathKey]) == before.path
	renewed, changed, err := k.terms.renew(now, before)
	if err != nil {
		return err
	}
	data, err := encode(renewed)
	if err != nil {
		return err
	}
	if changed || isLost || !pathIsKept {
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
	k.last = renewed
	k.shown.Store(&Shown{
		Certificate: &tls.Certificate{
			Certificate: [][]byte{renewed.server.cert.Raw}, PrivateKey: renewed.server.key, Leaf: renewed.server.cert,
		},
		Authorities: data[AuthorityKey],
		Path:        renewed.path,
		authority:   renewed.authority,
	})
	return nil
}

// found returns the state in the Secret, or the one to continue with if that is missing. Applying the empty Secret of a
// manifest again removes the CA, as deleting the Secret does: then isLost.
func (k *Kept) found(ctx context.Context, now time.Time, secret *corev1.Secret, isNew bool) (
	h held, isLost bool, err error,
) {
	if isNew {
		h, err = k.remembered(ctx, now)
		return h, true, err
	}
	h = decode(secret.Data)
	if h.authority != nil || k.last.authority == nil {
		return h, false, nil
	}
	h, err = k.terms.succeeded(now, k.last)
	return h, true, err
}

// remembered returns the state to continue with if there is no Secret.
func (k *Kept) remembered(ctx context.Context, now time.Time) (held, error) {
	if k.last.authority != nil {
		return k.terms.succeeded(now, k.last)
	}
	var h held
	if k.Registered == nil {
		return h, nil
	}
	authorities, path, err := k.Registered(ctx)
	if err != nil {
		return h, fmt.Errorf("reading the authorities that the API server trusts: %w", err)
	}
	// The text may contain no authority at all.
	h.trusted, _ = cert.ParseCertsPEM(authorities)
	h.path = path
	return h, nil
}

// decode decodes the readable parts; the rest is made again.
func decode(data map[string][]byte) held {
	var h held
	h.trusted, _ = cert.ParseCertsPEM(data[AuthorityKey])
	h.authority = decodePair(data[AuthorityKey], data[authorityKeyKey])
	h.next = decodePair(data[nextKey], data[nextKeyKey])
	h.server = decodePair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey])
	h.path = string(data[pathKey])
	return h
}

// decodePair returns the first certificate with its key, or nil.
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
	data := map[string][]byte{AuthorityKey: authorities, pathKey: []byte(h.path)}
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
