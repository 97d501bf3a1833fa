package externalscaler

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
)

// describe returns the error of a call. It drops the scaler's text: its author is untrusted, and it would get into
// events, logs and the object's status. failure is the reason why there is no connection, if it is known.
func (m *subscription) describe(call string, err, failure error) error {
	if m.spec.FromPlimsollScalers {
		return m.describeScaler(err, failure)
	}
	switch code := status.Code(err); {
	case code == codes.Unavailable && failure != nil:
		return fmt.Errorf("scalerAddress: %w", failure)
	case code == codes.DeadlineExceeded && failure != nil:
		return fmt.Errorf("scalerAddress: no connection within %s: %w", m.spec.Timeout, failure)
	case code == codes.DeadlineExceeded:
		return fmt.Errorf("%s: no response within %s", call, m.spec.Timeout)
	case code == codes.Unavailable:
		return fmt.Errorf("%s: %s: the scaler is not ready, or is no gRPC server with or without TLS as in transport",
			call, code)
	case code == codes.ResourceExhausted:
		return fmt.Errorf("%s: %s: at most %d bytes are read", call, code, maxMessageBytes)
	default:
		return fmt.Errorf("%s: %s", call, code)
	}
}

// describeScaler returns the error of a call to plimsoll-scalers, with its text: it says why the scaler fails, without
// credentials.
func (m *subscription) describeScaler(err, failure error) error {
	switch code := status.Code(err); {
	case (code == codes.Unavailable || code == codes.DeadlineExceeded) && failure != nil:
		return fmt.Errorf("plimsoll-scalers: %w", withFlags(failure))
	case code == codes.Unavailable:
		return errors.New("plimsoll-scalers is not ready")
	case code == codes.DeadlineExceeded:
		return fmt.Errorf("no response within %s (timeoutSeconds)", m.spec.Timeout)
	case code == codes.FailedPrecondition || code == codes.NotFound || code == codes.InvalidArgument:
		return errors.New(oneLine(status.Convert(err).Message()))
	default:
		return fmt.Errorf("plimsoll-scalers: %s", code)
	}
}

// withFlags names the flags of the controller instead of fields of tlsConfig, which a metric of type Scaler lacks.
func withFlags(failure error) error {
	var err *clientauth.TLSError
	if errors.As(failure, &err) {
		return errors.New(err.Why + " (--scalers-address, --scalers-ca-file)")
	}
	return failure
}

// oneLine returns the text in one line of bounded length, in valid UTF-8.
func oneLine(text string) string {
	const most = 320
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
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
