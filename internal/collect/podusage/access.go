package podusage

import (
	"context"
	"fmt"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

const accessTimeout = 10 * time.Second

// Reviews checks permissions of the identity that its client uses.
type Reviews = authorizationclient.SelfSubjectAccessReviewInterface

// Rights checks with SelfSubjectAccessReviews that scraping is permitted: Plimsoll itself must list and watch nodes,
// and the identity that Plimsoll presents to the kubelets must read nodes/metrics, which is the check that the kubelets
// make. Reader returns the reviews of that identity; nil skips its check, where only the kubelets can resolve the
// identity.
func Rights(
	own Reviews, reader func(context.Context) (Reviews, error),
) func(context.Context) (missing string, err error) {
	return func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, accessTimeout)
		defer cancel()
		missing, err := lacks(ctx, own, "list nodes", "watch nodes")
		if missing != "" || err != nil || reader == nil {
			return missing, err
		}
		reviews, err := reader(ctx)
		if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
			return err.Error(), nil
		}
		if err != nil {
			return "", err
		}
		return lacks(ctx, reviews, "get nodes/metrics")
	}
}

// lacks returns the first of the rights that is not granted.
func lacks(ctx context.Context, reviews Reviews, rights ...string) (string, error) {
	for _, right := range rights {
		verb, what, _ := strings.Cut(right, " ")
		resource, subresource, _ := strings.Cut(what, "/")
		answer, err := reviews.Create(ctx,
			&authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: resource, Subresource: subresource},
			}}, metav1.CreateOptions{})
		if err != nil {
			return "", fmt.Errorf("asking for rights on nodes: %w", err)
		}
		if !answer.Status.Allowed {
			return right, nil
		}
	}
	return "", nil
}
