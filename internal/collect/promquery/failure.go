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
	errEncoded = errors.New("its answer is compressed, which was not asked for")
	// errDisplaced is why a request ended that had taken long.
	errDisplaced = errors.New("no answer yet, and too many other servers do not answer")
	// errUnresolved is why there is no answer if the address of the server was not found in time.
	errUnresolved = errors.New("its address is not found: the API server or DNS does not answer in time")
)

// dialError is an error of Resolve or connect. It has nothing of what the server sent.
type dialError struct {
	err error
	// isUnresolved reports that it is one of Resolve.
	isUnresolved bool
}

// Error is that of Resolve or connect.
func (e *dialError) Error() string { return e.err.Error() }

// Unwrap is for package errors.
func (e *dialError) Unwrap() error { return e.err }

// isTimeout reports whether the server took too long, to connect or to answer.
func isTimeout(ctx context.Context, err error) bool {
	var timeout net.Error
	var dial *dialError
	if errors.As(err, &dial) && dial.isUnresolved {
		return false
	}
	return ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout()
}

// describe returns an error that has nothing of what the server sent. Errors of HTTP have its lines,
// and those of certificates have its names.
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

// errorTypes are those of Prometheus' API.
var errorTypes = []string{
	"timeout", "canceled", "execution", "bad_data", "internal", "unavailable", "not_found", "not_acceptable",
}

// statusError is the error of an answer with another status than 200. The server's own message is
// not repeated: it may be anything.
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
