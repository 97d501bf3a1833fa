package apierror

import (
	"errors"
	"net/url"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
)

// Classify converts the errors of the API server and of connections to it to commands' errors, however they are
// wrapped. It returns other errors, and commands' errors, unchanged.
func Classify(err error) error {
	var own *cmderror.Error
	if err == nil || errors.As(err, &own) {
		return err
	}
	if errors.Is(err, rest.ErrNotInCluster) {
		return &cmderror.Error{What: "no cluster is configured", Why: "this process does not run in a pod of a cluster",
			Next: "name a cluster with --kubeconfig=FILE", Cause: err}
	}
	inner := innermost(err)
	if inner == nil {
		return err
	}
	found := classify(inner)
	if found == nil {
		return err
	}
	found.Cause = err
	// Keep the text about the operation in front.
	if before, isCut := strings.CutSuffix(err.Error(), inner.Error()); isCut {
		found.What = before + found.What
	}
	return cmderror.WithStatus(found, cmderror.ExitStatus(err))
}

// innermost returns the API server's own error, or that of the connection; nil without one.
func innermost(err error) error {
	var status apierrors.APIStatus
	var connection *url.Error
	switch {
	case errors.As(err, &status):
		own, _ := status.(error)
		return own
	case errors.As(err, &connection):
		return connection
	}
	return nil
}

func classify(err error) *cmderror.Error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return connection(err)
	}
	details := status.Status().Details
	resource, group, name := "", "", ""
	if details != nil {
		resource, group, name = details.Kind, details.Group, details.Name
	}
	if group != "" {
		resource += "." + group
	}
	switch {
	case apierrors.IsForbidden(err):
		return refused(err)
	case apierrors.IsUnauthorized(err):
		return unauthorized(err)
	case apierrors.IsNotFound(err) && name == "" && resource != "":
		return unserved(resource, err)
	case apierrors.IsNotFound(err) && name != "":
		return Request{Resource: resource, Name: name}.notFoundSomewhere(err)
	case apierrors.IsServiceUnavailable(err) && metricsGroups[group] != "":
		return &cmderror.Error{What: group + " does not answer",
			Why:  metricsGroups[group] + ", which serves it, is not ready",
			Next: "kubectl get apiservices | grep " + group + " says why", Cause: err}
	}
	return connection(err)
}

// notFoundSomewhere returns the error about an object whose namespace the API server does not name.
func (r Request) notFoundSomewhere(err error) *cmderror.Error {
	found := r.notFound(err)
	found.Next = "see kubectl get " + r.Resource + " -A"
	found.Missing = nil
	return found
}

// refusal matches RBAC's message about an object or a kind of objects.
var refusal = regexp.MustCompile(
	`cannot (\S+) (?:resource|path) "([^"]+)"(?: in API group "([^"]*)")?( in the namespace "([^"]*)")?`)

// refused returns an error about the missing permission, as the API server names it. Admission has other messages.
func refused(err error) *cmderror.Error {
	parts := refusal.FindStringSubmatch(err.Error())
	if parts == nil {
		return &cmderror.Error{What: "the API server refuses it", Why: err.Error(),
			Next: "ask whoever operates the cluster: a webhook or a policy may have refused", Cause: err}
	}
	verb, resource, group, namespace := parts[1], parts[2], parts[3], parts[5]
	right, command := verb+" "+resource, "kubectl auth can-i "+verb+" "+resource
	if !strings.HasPrefix(resource, "/") { // no path, such as /version
		right, command = resourceRight(verb, resource, group)
	}
	kind := "ClusterRole"
	switch {
	case namespace != "":
		kind = "Role"
		right += " in namespace " + namespace
		command += " -n " + namespace
	case strings.Contains(err.Error(), "at the cluster scope"):
		command += " -A"
	}
	return &cmderror.Error{What: "you may not " + right, Why: knownAs(err),
		Next: "ask for a " + kind + " that grants it (" + command + ")", Cause: err}
}

// resourceRight returns a permission as users write it, and the command that checks it.
func resourceRight(verb, resource, group string) (right, command string) {
	base, subresource, hasSubresource := strings.Cut(resource, "/")
	if group != "" {
		base += "." + group
	}
	right, command = verb+" "+base, "kubectl auth can-i "+verb+" "+base
	if hasSubresource {
		right += "/" + subresource
		command += " --subresource=" + subresource
	}
	return right, command
}

// user matches the caller's name in the API server's message.
var user = regexp.MustCompile(`User "([^"]+)" cannot`)

// knownAs returns a text with the caller's name in the API server's message; empty if it has none.
func knownAs(err error) string {
	if found := user.FindStringSubmatch(err.Error()); found != nil {
		return "no Role or ClusterRole grants it to " + found[1]
	}
	return ""
}
