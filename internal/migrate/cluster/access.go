package cluster

import (
	"context"
	"errors"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// permission is what a migration needs.
type permission struct{ verb, group, resource string }

// The permissions of both directions.
var (
	forward = []permission{
		{"get", hpas.Group, hpas.Resource}, {"delete", hpas.Group, hpas.Resource},
		{"get", plimsollv1alpha1.SchemeGroupVersion.Group, plimsollv1alpha1.WorkloadAutoscalers},
		{"create", plimsollv1alpha1.SchemeGroupVersion.Group, plimsollv1alpha1.WorkloadAutoscalers},
		{"patch", plimsollv1alpha1.SchemeGroupVersion.Group, plimsollv1alpha1.WorkloadAutoscalers},
		{"delete", plimsollv1alpha1.SchemeGroupVersion.Group, plimsollv1alpha1.WorkloadAutoscalers},
	}
	back = []permission{
		{"get", hpas.Group, hpas.Resource}, {"create", hpas.Group, hpas.Resource},
		{"get", plimsollv1alpha1.SchemeGroupVersion.Group, plimsollv1alpha1.WorkloadAutoscalers},
		{"patch", plimsollv1alpha1.SchemeGroupVersion.Group, plimsollv1alpha1.WorkloadAutoscalers},
		{"delete", plimsollv1alpha1.SchemeGroupVersion.Group, plimsollv1alpha1.WorkloadAutoscalers},
	}
)

// CheckPermissions returns an error that names every permission that the user lacks to
// migrate in these namespaces, or to migrate back.
func (c *Client) CheckPermissions(ctx context.Context, namespaces []string, isBack bool) error {
	needed := forward
	if isBack {
		needed = back
	}
	var missing []error
	for _, namespace := range namespaces {
		for _, p := range needed {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: namespace, Verb: p.verb, Group: p.group, Resource: p.resource,
				},
			}}
			answer, err := c.access.AuthorizationV1().SelfSubjectAccessReviews().
				Create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("checking permissions: %w", err)
			}
			if !answer.Status.Allowed {
				missing = append(missing, fmt.Errorf("you may not %s %s.%s in namespace %s",
					p.verb, p.resource, p.group, namespace))
			}
		}
	}
	return errors.Join(missing...)
}
