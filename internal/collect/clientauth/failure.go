package clientauth

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
)

// TLSError says why a TLS connection failed, and which fields of the object may be wrong.
type TLSError struct{ Why, Fields string }

// Error implements error.
func (e *TLSError) Error() string { return e.Why + " (" + e.Fields + ")" }

// DescribeTLS explains why a TLS connection failed, without text from the peer: errors of crypto/x509 quote names of
// its certificate. It returns nil for any other error.
func DescribeTLS(err error) error {
	var (
		record       tls.RecordHeaderError
		verification *tls.CertificateVerificationError
		authority    x509.UnknownAuthorityError
		name         x509.HostnameError
		invalid      x509.CertificateInvalidError
		network      *net.OpError
	)
	switch {
	case errors.As(err, &authority):
		return &TLSError{"its certificate is not signed by a trusted authority", "tlsConfig.ca, tlsConfig.caBundle"}
	case errors.As(err, &name):
		// The name that it should have, not one that it has.
		return &TLSError{"its certificate is not for " + name.Host, "tlsConfig.serverName"}
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return errors.New("its certificate has expired, or is not valid yet")
	case errors.As(err, &invalid), errors.As(err, &verification):
		return errors.New("its certificate is not valid")
	case errors.As(err, &record):
		return errors.New("it does not speak TLS")
	case errors.As(err, &network) && network.Op == alert:
		return fmt.Errorf("it ended the TLS handshake: %w", network.Err)
	default:
		return nil
	}
}

// IsAlert reports whether the peer ended TLS with one of the alerts of the protocol. These are numbers, whose texts
// come from this side.
func IsAlert(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == alert
}

// alert is how crypto/tls marks an alert of the peer.
const alert = "remote error"
