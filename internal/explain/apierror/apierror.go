// Package apierror turns an error of a request to the API server into a sentence: what
// failed, why, and what to do next.
package apierror

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// Request is what was requested.
type Request struct {
	// Verb is RBAC's, such as list.
	Verb string
	// Resource is the resource with its API group, such as deployments.apps, or a description of one whose name
	// the client does not know, such as scale of Deployment web.
	Resource string
	// Namespace and Name are the object's; a list has no name.
	Namespace, Name string
}

// Sentence is the error as a sentence, nil for nil. The error is still in it.
func (r Request) Sentence(err error) error {
	if err == nil {
		return nil
	}
	return &sentence{text: r.text(err), err: err}
}

// sentence says what an error means; callers can still tell which error it is.
type sentence struct {
	text string
	err  error
}

// Error implements error.
func (s *sentence) Error() string { return s.text }

// Unwrap is the error itself.
func (s *sentence) Unwrap() error { return s.err }

func (r Request) text(err error) string {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("you may not %s %s in namespace %s: ask for a Role that grants it (%s)",
			r.Verb, r.Resource, r.Namespace, r.permission(err))
	case apierrors.IsUnauthorized(err):
		return "the API server does not accept your credentials: renew those of the kubeconfig"
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err) && isUnserved(err):
		return fmt.Sprintf("the cluster does not serve %s: install the CRDs or the API that defines it", r.Resource)
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("%s %q not found in namespace %s: see kubectl get %s -n %s", r.Resource, r.Name, r.Namespace,
			r.Resource, r.Namespace)
	}
	if text := connection(err); text != "" {
		return text
	}
	return fmt.Sprintf("%s %s in namespace %s: %v", r.Verb, r.Resource, r.Namespace, err)
}

// permission is the command that shows whether the permission is granted. A description is no resource of such a
// command; the API server's message names the one that it is.
func (r Request) permission(err error) string {
	if strings.Contains(r.Resource, " ") {
		return "the API server says: " + err.Error()
	}
	return fmt.Sprintf("kubectl auth can-i %s %s -n %s", r.Verb, r.Resource, r.Namespace)
}

// isUnserved reports that the path was not found, not an object at it.
func isUnserved(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == ""
}

// connection is what is wrong with the connection to the API server; empty if nothing is.
func connection(err error) string {
	server := "the API server"
	var at *url.Error
	if errors.As(err, &at) {
		if parsed, parseErr := url.Parse(at.URL); parseErr == nil && parsed.Host != "" {
			server += " at " + parsed.Host
		}
	}
	var name *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return server + " refuses the connection: is the cluster running, and is the server of the kubeconfig right?"
	case isCertificate(err):
		return server + " has a certificate that is not trusted: compare certificate-authority-data and server of the " +
			"kubeconfig with the cluster's"
	case errors.As(err, &name):
		return server + " has a host name that cannot be resolved: is the server of the kubeconfig right?"
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return server + " did not answer in time: try again, and check the network if it stays so"
	case apierrors.IsServiceUnavailable(err), apierrors.IsTooManyRequests(err):
		return server + " cannot answer now: try again"
	default:
		return ""
	}
}

func isCertificate(err error) bool {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	return errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid) ||
		errors.As(err, &verification) ||
		strings.Contains(err.Error(), "x509: ") // behind a transport that keeps the text alone
}
