package externalscaler

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// describe is the error of a call, without the words of the scaler: whoever writes them chooses what messages, logs
// and the object's status would have. failure is why there is no connection, if that is known.
func describe(call string, err, failure error) error {
	switch code := status.Code(err); {
	case code == codes.Unavailable && failure != nil:
		return fmt.Errorf("scalerAddress: %w", failure)
	case code == codes.DeadlineExceeded && failure != nil:
		return fmt.Errorf("scalerAddress: no connection within %s: %w", timeout, failure)
	case code == codes.DeadlineExceeded:
		return fmt.Errorf("%s: no response within %s", call, timeout)
	case code == codes.Unavailable:
		return fmt.Errorf("%s: %s: the scaler is not ready, or is no gRPC server with or without TLS as in tlsConfig",
			call, code)
	case code == codes.ResourceExhausted:
		return fmt.Errorf("%s: %s: at most %d bytes are read", call, code, maxMessageBytes)
	default:
		return fmt.Errorf("%s: %s", call, code)
	}
}

// describeHandshake is why there is no TLS, without words of the certificate.
func describeHandshake(err error) error {
	var (
		authority x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		record    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &authority):
		return errors.New("its certificate is of an unknown authority")
	case errors.As(err, &hostname):
		return errors.New("its certificate is for another name")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return errors.New("its certificate has expired, or is not valid yet")
	case errors.As(err, &invalid):
		return errors.New("its certificate is invalid")
	case errors.As(err, &record):
		return errors.New("it does not answer in TLS")
	case isAlert(err):
		return fmt.Errorf("TLS handshake: %w", err)
	case errors.Is(err, io.EOF):
		return errors.New("it ended the TLS handshake")
	default:
		return errors.New("the TLS handshake failed")
	}
}

// isAlert reports whether the server ended TLS with one of the alerts of the protocol.
func isAlert(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "remote error"
}
