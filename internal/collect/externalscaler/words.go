package externalscaler

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
)

// describe is the error of a call. The scaler's text is dropped: its author is untrusted, and it would get into
// messages, logs and the object's status. failure is why there is no connection, if that is known.
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
