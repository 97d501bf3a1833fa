package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
)

// Reasons of errors.
var (
	ErrTooLarge = errors.New("the response is too large")
	// ErrPieces is returned for a response that costs too much for its size.
	ErrPieces = errors.New("the response comes in too many small pieces")
	// ErrBusy is returned while too many large pages are being read.
	ErrBusy    = errors.New("too many other large pages are being read")
	errEncoded = errors.New("the response is compressed, although it must not be")
	errRequest = errors.New("the path or the credentials have a character that a request cannot have")
	errHTTP    = errors.New("the response is not HTTP/1.1, or its head is damaged")
	// errUnanswered is the error of a connection that ended before the first byte of a response.
	errUnanswered = errors.New("the connection ended without a response")
)

// StatusError is a response with another status than 200.
type StatusError struct{ Code int }

// Error implements error.
func (e *StatusError) Error() string {
	text := http.StatusText(e.Code)
	if text == "" {
		text = "unknown status"
	}
	if e.Code >= 300 && e.Code < 400 {
		text += "; redirects are not followed"
	}
	return fmt.Sprintf("it answered %d %s", e.Code, text)
}

func explain(ctx context.Context, timeout time.Duration, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no whole response within %s: %w", timeout, context.DeadlineExceeded)
	}
	return err
}

// unanswered returns the error of a connection that ended, unless the time is over.
func unanswered(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return err
	case clientauth.IsAlert(err):
		// With TLS 1.3 a certificate of the client is refused, or missed, after the handshake.
		return clientauth.DescribeTLS(err)
	}
	return errUnanswered
}

// plain is an error without anything that the peer wrote.
func plain(doing string, err error) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, ErrTooLarge), errors.Is(err, ErrPieces):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%s: the response ended early", doing)
	case errors.As(err, &errno):
		return fmt.Errorf("%s: %w", doing, errno)
	}
	return fmt.Errorf("%s: %w", doing, errHTTP)
}

// explainTLS explains why a handshake failed, without text from the peer.
func explainTLS(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return err
	}
	if described := clientauth.DescribeTLS(err); described != nil {
		return described
	}
	return errors.New("the TLS handshake failed")
}
