// Package apierror converts errors of the API server to those of commands: what failed, why, and what to do next.
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

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
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

// Sentence returns the error as commands print it, nil for nil. It wraps the error.
func (r Request) Sentence(err error) error {
	if err == nil {
		return nil
	}
	return r.describe(err)
}

func (r Request) describe(err error) *cmderror.Error {
	switch {
	case apierrors.IsForbidden(err):
		return r.forbidden(err)
	case apierrors.IsUnauthorized(err):
		return unauthorized(err)
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err) && isUnserved(err):
		return unserved(r.Resource, err)
	case apierrors.IsNotFound(err):
		return r.notFound(err)
	}
	if found := connection(err); found != nil {
		return found
	}
	return &cmderror.Error{What: fmt.Sprintf("%s %s%s: %v", r.Verb, r.Resource, r.place(), err), Cause: err}
}

func (r Request) place() string {
	if r.Namespace == "" {
		return ""
	}
	return " in namespace " + r.Namespace
}

// forbidden names the permission that is missing, and the command that shows whether it is granted. A description is no
// resource of such a command; the API server's message names the one that it is.
func (r Request) forbidden(err error) *cmderror.Error {
	if strings.Contains(r.Resource, " ") {
		return &cmderror.Error{
			What: fmt.Sprintf("you may not %s %s%s", r.Verb, r.Resource, r.place()),
			Why:  "the API server says: " + err.Error(), Next: "ask for a Role that grants it", Cause: err,
		}
	}
	found := &cmderror.Error{
		What: fmt.Sprintf("you may not %s %s%s", r.Verb, r.Resource, r.place()),
		Next: fmt.Sprintf("ask for a Role that grants it (kubectl auth can-i %s %s -n %s)", r.Verb, r.Resource, r.Namespace),
		Why:  knownAs(err), Cause: err,
	}
	if r.Namespace == "" {
		found.What += " in all namespaces"
		found.Next = fmt.Sprintf("ask for a ClusterRole that grants it (kubectl auth can-i %s %s -A)", r.Verb, r.Resource)
	}
	return found
}

func (r Request) notFound(err error) *cmderror.Error {
	return &cmderror.Error{
		What:    fmt.Sprintf("%s %q not found%s", r.Resource, r.Name, r.place()),
		Next:    fmt.Sprintf("see kubectl get %s -n %s", r.Resource, r.Namespace),
		Missing: &cmderror.Object{Resource: r.Resource, Namespace: r.Namespace, Name: r.Name}, Cause: err,
	}
}

func unauthorized(err error) *cmderror.Error {
	return &cmderror.Error{What: "the API server does not accept your credentials",
		Why: "they are missing, wrong or expired", Next: "renew those of the kubeconfig, and try kubectl auth whoami",
		Cause: err}
}

// metricsGroups has the API groups that other servers serve, each with the name of its server.
var metricsGroups = map[string]string{
	"metrics.k8s.io":          "metrics-server",
	"custom.metrics.k8s.io":   "an adapter such as prometheus-adapter",
	"external.metrics.k8s.io": "an adapter such as prometheus-adapter or KEDA",
}

// definedBy has, for API groups, how to install their CustomResourceDefinitions.
var definedBy = map[string]string{
	"plimsoll.dev":       "kubectl apply --server-side -k config/horizontal",
	"autoscaling.k8s.io": "kubectl apply --server-side -k config/",
	"keda.sh":            "install KEDA",
}

// unserved returns the error about a resource that the API server does not know.
func unserved(resource string, err error) *cmderror.Error {
	found := &cmderror.Error{What: fmt.Sprintf("the cluster does not serve %s", resource), Cause: err,
		Next: "install the CRDs or the API that defines it"}
	_, group, _ := strings.Cut(resource, ".")
	if server := metricsGroups[group]; server != "" {
		found.Why = fmt.Sprintf("%s, which serves it, is not installed", server)
		found.Next = fmt.Sprintf("install %s; kubectl get apiservices | grep %s shows whether it is there", server, group)
	} else if command := definedBy[group]; command != "" {
		found.Next += ": " + command
	}
	return found
}

// isUnserved reports whether the path was not found, as opposed to an object at it.
func isUnserved(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details == nil || details.Name == ""
}

// connection returns an error about the connection to the API server; nil if it works.
func connection(err error) *cmderror.Error {
	server := "the API server"
	var at *url.Error
	if errors.As(err, &at) {
		if parsed, parseErr := url.Parse(at.URL); parseErr == nil && parsed.Host != "" {
			server += " at " + parsed.Host
		}
	}
	what, next := reason(err)
	if what == "" {
		return nil
	}
	return &cmderror.Error{What: server + " " + what, Next: next, Cause: err}
}

// reason returns why there was no response, and what to do; empty if the connection is not the cause.
func reason(err error) (what, next string) {
	var name *net.DNSError
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refuses the connection", "is the cluster running, and is the server of the kubeconfig right? " + showConfig
	case isCertificate(err):
		return "has a certificate that is not trusted", "compare certificate-authority-data and server of the " +
			"kubeconfig with the cluster's"
	case errors.As(err, &name):
		return "has a host name that cannot be resolved", "is the server of the kubeconfig right? " + showConfig
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "cannot be reached from this machine", "check the network, a VPN for example. " + showConfig
	case apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return "did not answer in time", "try again, and check the network if it stays so"
	case apierrors.IsServiceUnavailable(err), apierrors.IsTooManyRequests(err):
		return "cannot answer now", "try again"
	}
	return "", ""
}

// showConfig is a hint how to find the cluster in use.
const showConfig = "kubectl config view --minify shows which cluster is meant"

func isCertificate(err error) bool {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var verification *tls.CertificateVerificationError
	return errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid) ||
		errors.As(err, &verification) ||
		strings.Contains(err.Error(), "x509: ") // behind a transport that keeps the text alone
}
