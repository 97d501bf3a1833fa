package externalscaler

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
)

// describe returns the error of a call. It drops the scaler's text: its author is untrusted, and it would get into
// events, logs and the object's status. failure is the reason why there is no connection, if it is known.
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

// describeHandshake returns the error of a TLS handshake, without text from the certificate.
func describeHandshake(err error) error {
	described := clientauth.DescribeTLS(err)
	switch {
	case described != nil:
		return described
	case errors.Is(err, io.EOF):
		return errors.New("it ended the TLS handshake")
	default:
		return errors.New("the TLS handshake failed")
	}
}
