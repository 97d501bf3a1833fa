package certificate

import (
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/util/cert"
)

// ErrNotReady is returned before there is an authority.
var ErrNotReady = errors.New("there is no authority yet")

// Sign returns a certificate, in PEM, for a server of this name with its own key. It has the lifetime of the
// certificate in the Secret.
func (k *Kept) Sign(now time.Time, name string, key crypto.PublicKey) ([]byte, error) {
	shown := k.shown.Load()
	if shown == nil {
		return nil, ErrNotReady
	}
	if k.Offset != nil {
		now = now.Add(k.Offset())
	}
	number, err := serialNumber()
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: number,
		Subject:      pkix.Name{CommonName: shown.authority.cert.Subject.CommonName + "-server"},
		NotBefore:    now.Add(-k.terms.backdate()),
		NotAfter:     now.Add(k.terms.Lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	// Nodes may be named by their addresses, and clients match an address only with the addresses of a certificate.
	template.DNSNames, template.IPAddresses = split(name)
	der, err := x509.CreateCertificate(rand.Reader, template, shown.authority.cert, key, shown.authority.key)
	if err != nil {
		return nil, fmt.Errorf("signing a certificate: %w", err)
	}
	signed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("reading a certificate back: %w", err)
	}
	return cert.EncodeCertificates(signed)
}
