package admission

import (
	"crypto/x509"
	"errors"
)

// believed returns why a client with the authorities does not trust a certificate.
func believed(authorities []byte, raw string) error {
	certificate, err := x509.ParseCertificate([]byte(raw))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authorities) {
		return errors.New("no authorities")
	}
	_, err = certificate.Verify(x509.VerifyOptions{DNSName: "127.0.0.1", Roots: roots})
	return err
}
