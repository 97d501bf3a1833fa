package read

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
	"github.com/plimsoll-dev/plimsoll/internal/explain/apierror"
)

// request describes a request in the terms of RBAC.
type request struct {
	verb, group, resource string
	// namespace is empty for all namespaces and for objects that have none.
	namespace, name string
	// isOfCluster says that the objects have no namespace.
	isOfCluster bool
}

// kind is the resource with its group, without a subresource.
func (r *request) kind() (resource, subresource string) {
	resource, subresource, _ = strings.Cut(r.resource, "/")
	if r.group != "" {
		resource += "." + r.group
	}
	return resource, subresource
}

// right is as "list nodes" or "get leases.coordination.k8s.io in namespace kube-system".
func (r *request) right() string {
	resource, subresource := r.kind()
	if subresource != "" {
		resource += "/" + subresource
	}
	text := r.verb + " " + resource
	switch {
	case r.namespace != "":
		text += " in namespace " + r.namespace
	case !r.isOfCluster:
		text += " in all namespaces"
	}
	return text
}

// command asks whether the caller has the right.
func (r *request) command() string {
	resource, subresource := r.kind()
	command := fmt.Sprintf("kubectl auth can-i %s %s", r.verb, resource)
	if subresource != "" {
		command += " --subresource=" + subresource
	}
	switch {
	case r.namespace != "":
		command += " -n " + r.namespace
	case !r.isOfCluster:
		command += " -A"
	}
	return command
}

// unread says why something was not read; nil for no error.
func (r *request) unread(err error) *doctor.Unread {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return &doctor.Unread{Right: r.right(), Command: r.command(), Why: err.Error()}
	case isAnswer(err) && !apierrors.IsTimeout(err):
		return &doctor.Unread{Why: err.Error()}
	}
	return &doctor.Unread{Why: r.sentence(err).Error()}
}

// sentence is the error in the form of commands' errors.
func (r *request) sentence(err error) error {
	resource, _ := r.kind()
	return apierror.Request{Verb: r.verb, Resource: resource, Namespace: r.namespace, Name: r.name}.Sentence(err)
}
