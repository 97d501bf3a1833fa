package nodeagents

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/plimsoll-dev/plimsoll/internal/collect/clientauth"
)

// own is a reason in words of this side.
type own string

// Error implements error.
func (o own) Error() string { return string(o) }

// described is an error without text from an agent.
type described struct{ error }

func (d *described) Unwrap() error { return d.error }

// ErrNotReady is returned before there is a certificate to show.
var ErrNotReady error = own("there is no certificate for agents yet")

var (
	// errTooLarge is the error of a response that is longer than any of an agent.
	errTooLarge = own("its response is longer than the selection permits")
	errGone     = own("the node has no agent any more")
	errDamaged  = own("the answer is not that of an agent")
	errEnded    = own("the connection ended before the answer did")
)

// explain returns the error of a request to an agent, without text from the agent: errors of net/http and crypto/x509
// quote the other side, and an attacker on a node must not write into logs and events of others.
func explain(err error) error {
	var (
		reason  own
		known   *described
		number  syscall.Errno
		network net.Error
	)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.As(err, &reason):
		return reason
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return &described{fmt.Errorf("no answer within %s: %w", requestTimeout, context.DeadlineExceeded)}
	case isUntrusted(err):
		return untrusted(err)
	case errors.As(err, &number):
		return number
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errEnded
	}
	if tlsError := clientauth.DescribeTLS(err); tlsError != nil {
		return &described{tlsError}
	}
	return errDamaged
}

// untrusted explains the defect of a certificate.
func untrusted(err error) error {
	var (
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		invalid   x509.CertificateInvalidError
	)
	switch {
	case errors.As(err, &authority):
		return own("its certificate is not signed by the agents' authority")
	case errors.As(err, &name):
		return own("its certificate is not of its node")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return own("its certificate has expired, or is not valid yet")
	}
	return own("its certificate is not valid")
}

// isUntrusted reports that an agent has no valid certificate of its node.
func isUntrusted(err error) bool {
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &untrusted)
}
