package promquery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
)

var (
	errTooLong = fmt.Errorf("its answer has more than %d bytes", maxBody)
	errEncoded = errors.New("its response is compressed, although it must not be")
	// errDisplaced is the error of a long request that was ended for others.
	errDisplaced = errors.New("no answer yet, and too many other servers do not answer")
	// errUnresolved is the error if the address of the server was not found in time.
	errUnresolved = errors.New("its address is not found: the API server or DNS does not answer in time")
)

// dialError is an error of Resolve or connect. It has no text from the server.
type dialError struct {
	err error
	// isUnresolved is true for an error of Resolve.
	isUnresolved bool
}

func (e *dialError) Error() string { return e.err.Error() }

func (e *dialError) Unwrap() error { return e.err }

// isTimeout reports whether the server took too long to connect or to respond.
func isTimeout(ctx context.Context, err error) bool {
	var timeout net.Error
	var dial *dialError
	if errors.As(err, &dial) && dial.isUnresolved {
		return false
	}
	return ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// describe returns an error without text from the server. Errors of HTTP have lines of its response, and errors of
// certificates have its names.
func describe(err error) error {
	var dial *dialError
	tls := clientauth.DescribeTLS(err)
	switch {
	case errors.Is(err, errTooLong), errors.Is(err, errEncoded):
		return err
	case errors.As(err, &dial):
		return dial
	case tls != nil:
		return tls
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET),
		errors.Is(err, syscall.EPIPE):
		return errors.New("it closed the connection")
	}
	return errors.New("it does not answer with valid HTTP")
}

// errorTypes are the error types of Prometheus' API.
var errorTypes = []string{
	"timeout", "canceled", "execution", "bad_data", "internal", "unavailable", "not_found", "not_acceptable",
}

// statusError is the error of a response with a status other than 200. It leaves out the server's own message, which
// may be anything.
func statusError(status int, body []byte) error {
	var answer struct {
		ErrorType string `json:"errorType"`
	}
	hint := ""
	switch {
	case status >= 300 && status < 400:
		hint = " (redirects are not followed)"
	case json.Unmarshal(body, &answer) == nil && slices.Contains(errorTypes, answer.ErrorType):
		hint = " " + answer.ErrorType
	}
	return fmt.Errorf("it answered with HTTP status %d%s", status, hint)
}
