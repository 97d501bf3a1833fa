package resource

import (
	"context"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// accessTimeout bounds the question.
const accessTimeout = 10 * time.Second

// Rights asks the API server whether it grants what scraping takes: the kubelets
// ask it the same.
func Rights(client authorizationclient.SelfSubjectAccessReviewInterface) func(context.Context) (missing string, err error) {
	return func(ctx context.Context) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, accessTimeout)
		defer cancel()
		for _, right := range []authorizationv1.ResourceAttributes{
			{Verb: "get", Resource: "nodes", Subresource: "metrics"},
			{Verb: "list", Resource: "nodes"},
			{Verb: "watch", Resource: "nodes"},
		} {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
			answer, err := client.Create(ctx, review, metav1.CreateOptions{})
			if err != nil {
				return "", fmt.Errorf("asking for rights on nodes: %w", err)
			}
			if !answer.Status.Allowed {
				return nameOf(&right), nil
			}
		}
		return "", nil
	}
}

func nameOf(right *authorizationv1.ResourceAttributes) string {
	name := right.Verb + " " + right.Resource
	if right.Subresource != "" {
		name += "/" + right.Subresource
	}
	return name
}
