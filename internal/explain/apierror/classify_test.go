package apierror

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
)

// status returns an answer of the API server.
func status(reason metav1.StatusReason, code int32, message string, details *metav1.StatusDetails) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Reason: reason, Code: code, Message: message, Details: details}}
}

// TestClassify: the common errors have a reason and say what to do, with the right, the object or the server.
func TestClassify(t *testing.T) {
	forbidden := func(message string) error {
		return status(metav1.StatusReasonForbidden, http.StatusForbidden, message, nil)
	}
	metrics := &metav1.StatusDetails{Group: "metrics.k8s.io", Kind: "pods"}
	for name, tt := range map[string]struct {
		err             error
		what, why, next string
	}{
		"right in a namespace": {
			forbidden(`pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "shop"`),
			"you may not list pods in namespace shop", "no Role or ClusterRole grants it to jane",
			"ask for a Role that grants it (kubectl auth can-i list pods -n shop)"},
		"right in the cluster": {
			forbidden(`x is forbidden: User "jane" cannot list resource "deployments" in API group "apps" at the cluster scope`),
			"you may not list deployments.apps", "jane",
			"ask for a ClusterRole that grants it (kubectl auth can-i list deployments.apps -A)"},
		"subresource": {
			forbidden(`x is forbidden: User "jane" cannot create resource "pods/portforward" in API group "" in the namespace "a"`),
			"you may not create pods/portforward in namespace a", "jane",
			"(kubectl auth can-i create pods --subresource=portforward -n a)"},
		"path": {forbidden(`forbidden: User "jane" cannot get path "/version"`),
			"you may not get /version", "jane", "kubectl auth can-i get /version"},
		"policy": {forbidden("admission webhook \"deny.example.com\" denied the request: no"),
			"the API server refuses it", "deny.example.com", "a webhook or a policy"},
		"credentials": {apierrors.NewUnauthorized("no"), "does not accept your credentials", "expired", "kubeconfig"},
		"CRD": {status(metav1.StatusReasonNotFound, 404, "not found",
			&metav1.StatusDetails{Group: "plimsoll.dev", Kind: "workloadautoscalers"}),
			"does not serve workloadautoscalers.plimsoll.dev", "", "kubectl apply --server-side -k config/horizontal"},
		"no metrics API": {status(metav1.StatusReasonNotFound, 404, "not found", metrics),
			"does not serve pods.metrics.k8s.io", "metrics-server", "kubectl get apiservices | grep metrics.k8s.io"},
		"metrics API is down": {status(metav1.StatusReasonServiceUnavailable, 503, "no", metrics),
			"metrics.k8s.io does not answer", "metrics-server, which serves it, is not ready", "kubectl get apiservices"},
		"object": {apierrors.NewNotFound(schema.GroupResource{Group: "autoscaling", Resource: "horizontalpodautoscalers"}, "web"),
			`horizontalpodautoscalers.autoscaling "web" not found`, "", "kubectl get horizontalpodautoscalers.autoscaling -A"},
		"connection": {&url.Error{Op: "Get", URL: "https://10.0.0.1:6443/x", Err: syscall.ECONNREFUSED},
			"the API server at 10.0.0.1:6443 refuses the connection", "", "is the cluster running"},
		"network": {&url.Error{Op: "Get", URL: "https://10.0.0.1:6443/x", Err: syscall.EHOSTUNREACH},
			"the API server at 10.0.0.1:6443 cannot be reached", "", "VPN"},
	} {
		const before = "listing: "
		for prefix, wrapped := range map[string]error{"": tt.err, before: fmt.Errorf("%s%w", before, tt.err)} {
			var got *cmderror.Error
			err := Classify(wrapped)
			if !errors.As(err, &got) {
				t.Errorf("%s: %v has no form", name, err)
				continue
			}
			if !strings.HasPrefix(got.What, prefix) || !strings.Contains(got.What, tt.what) ||
				!strings.Contains(got.Why, tt.why) || !strings.Contains(got.Next, tt.next) || !errors.Is(err, tt.err) {
				t.Errorf("%s: %q, %q, %q", name, got.What, got.Why, got.Next)
			}
			if cmderror.ExitStatus(err) != cmderror.Failed {
				t.Errorf("%s: exit status %d", name, cmderror.ExitStatus(err))
			}
		}
	}
}

// TestNoPod: who starts a process of a cluster by hand sees how to name the cluster.
func TestNoPod(t *testing.T) {
	err := Classify(fmt.Errorf("--kubeconfig=: %w", rest.ErrNotInCluster))
	want := "no cluster is configured: this process does not run in a pod of a cluster: name a cluster with --kubeconfig=FILE"
	if err.Error() != want || !errors.Is(err, rest.ErrNotInCluster) {
		t.Error(err)
	}
}

// TestOthersStay: what is not of the API server, or has its form already, stays as it is; so do exit statuses.
func TestOthersStay(t *testing.T) {
	own := Request{Verb: "list", Resource: "pods"}.Sentence(apierrors.NewUnauthorized("no"))
	for _, err := range []error{nil, errors.New("boom"), own, fmt.Errorf("x: %w", own)} {
		if got := Classify(err); got != err { //nolint:errorlint // it is the same error
			t.Errorf("%v became %v", err, got)
		}
	}
	coded := cmderror.WithStatus(apierrors.NewUnauthorized("no"), cmderror.Misused)
	if got := Classify(coded); cmderror.ExitStatus(got) != cmderror.Misused {
		t.Errorf("%v: exit status %d", got, cmderror.ExitStatus(got))
	}
}
