package podusage

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// grantsOf grants these rights.
func grantsOf(rights ...string) Reviews {
	client := fake.NewClientset()
	client.PrependReactor("create", "selfsubjectaccessreviews",
		func(action clienttesting.Action) (bool, runtime.Object, error) {
			create, ok := action.(clienttesting.CreateAction)
			if !ok {
				return false, nil, nil
			}
			review := create.GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
			asked := review.Spec.ResourceAttributes
			right := strings.TrimSuffix(asked.Verb+" "+asked.Resource+"/"+asked.Subresource, "/")
			review.Status.Allowed = slices.Contains(rights, right)
			return true, review, nil
		})
	return client.AuthorizationV1().SelfSubjectAccessReviews()
}

// TestRightsByIdentity: Plimsoll watches the nodes under its own identity, and reads the kubelets under the
// one that it presents to them.
func TestRightsByIdentity(t *testing.T) {
	watcher, reader := []string{"list nodes", "watch nodes"}, []string{"get nodes/metrics"}
	forbidden := apierrors.NewForbidden(corev1.Resource("serviceaccounts/token"), "reader", errors.New("RBAC"))
	for name, c := range map[string]struct {
		own, reader []string
		tokenErr    error
		missing     string
		fails       bool
	}{
		"both have what they need":     {own: watcher, reader: reader},
		"one of them has everything":   {own: append(reader, watcher...), missing: "get nodes/metrics"},
		"the other one has everything": {reader: append(watcher, reader...), missing: "list nodes"},
		"no watch":                     {own: watcher[:1], reader: reader, missing: "watch nodes"},
		"no right to a token":          {own: watcher, tokenErr: forbidden, missing: "serviceaccounts/token"},
		"no such account": {own: watcher,
			tokenErr: apierrors.NewNotFound(corev1.Resource("serviceaccounts"), "reader"), missing: "not found"},
		"the API server does not answer": {own: watcher, tokenErr: context.DeadlineExceeded, fails: true},
		"a client certificate":           {own: watcher},
	} {
		identity := func(context.Context) (Reviews, error) { return grantsOf(c.reader...), c.tokenErr }
		if name == "a client certificate" {
			identity = nil
		}
		missing, err := Rights(grantsOf(c.own...), identity)(t.Context())
		if (err != nil) != c.fails || !strings.Contains(missing, c.missing) || (missing == "") != (c.missing == "") {
			t.Errorf("%s: %q is missing, %v; want %q, fails %v", name, missing, err, c.missing, c.fails)
		}
	}
}
