package cluster

import (
	"context"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/keda"
)

// permission is a permission that a migration needs.
type permission struct{ verb, group, resource string }

// needs returns the permissions to migrate objects of the kind, or to migrate them back.
func (o *Originals) needs(isBack bool) []permission {
	own := func(verb string) permission {
		return permission{verb, plimsollv1alpha1.SchemeGroupVersion.Group, plimsollv1alpha1.WorkloadAutoscalers}
	}
	needs := []permission{{"get", hpas.Group, hpas.Resource}, own("get"), own("patch"), own("delete")}
	if !isBack {
		needs = append(needs, own("create"))
	}
	switch {
	case o.kind == keda.Kind && o.IsNative && !isBack:
		needs = append(needs, permission{"get", authentications.Group, authentications.Resource})
		fallthrough
	case o.kind == keda.Kind:
		return append(needs, permission{"get", scaledObjects.Group, scaledObjects.Resource},
			permission{"patch", scaledObjects.Group, scaledObjects.Resource})
	case isBack:
		return append(needs, permission{"create", hpas.Group, hpas.Resource})
	}
	return append(needs, permission{"delete", hpas.Group, hpas.Resource})
}

// CheckPermissions returns an error that names every permission that the user lacks to
// migrate in these namespaces, or to migrate back.
func (o *Originals) CheckPermissions(ctx context.Context, namespaces []string, isBack bool) error {
	var missing []error
	for _, p := range o.needs(isBack) {
		if len(namespaces) > 1 {
			// A permission for the whole cluster need not be checked for each namespace.
			everywhere, err := o.isAllowed(ctx, p, "")
			if err != nil {
				return err
			}
			if everywhere {
				continue
			}
		}
		for _, namespace := range namespaces {
			isAllowed, err := o.isAllowed(ctx, p, namespace)
			if err != nil {
				return err
			}
			if !isAllowed {
				missing = append(missing, p.missing(namespace))
			}
		}
	}
	return errors.Join(missing...)
}

// missing returns the error about a permission that the user lacks.
func (p *permission) missing(namespace string) error {
	right := fmt.Sprintf("%s %s.%s", p.verb, p.resource, p.group)
	return &cmderror.Error{
		What: fmt.Sprintf("you may not %s in namespace %s", right, namespace),
		Next: fmt.Sprintf("ask for a Role that grants it (kubectl auth can-i %s -n %s)", right, namespace),
	}
}

// isAllowed asks whether the user has a permission in a namespace, in all if it is empty.
func (c *Client) isAllowed(ctx context.Context, p permission, namespace string) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: p.verb, Group: p.group, Resource: p.resource,
		},
	}}
	answer, err := c.access.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("checking permissions: %w", err)
	}
	return answer.Status.Allowed, nil
}
