package apierror

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestSentence: no error is printed as client-go has it, and each says what to do.
func TestSentence(t *testing.T) {
	of := schema.GroupResource{Group: "autoscaling", Resource: "horizontalpodautoscalers"}
	get := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://10.0.0.1:6443/apis?timeout=1s", Err: err}
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"permission": {apierrors.NewForbidden(of, "web", errors.New("no")),
			"you may not get horizontalpodautoscalers.autoscaling in namespace shop: ask for a Role that grants it " +
				"(kubectl auth can-i get horizontalpodautoscalers.autoscaling -n shop)"},
		"credentials": {apierrors.NewUnauthorized("no"), "does not accept your credentials"},
		"not found": {apierrors.NewNotFound(of, "web"),
			`horizontalpodautoscalers.autoscaling "web" not found in namespace shop: see kubectl get`},
		"not served": {&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonNotFound, Code: 404}},
			"does not serve horizontalpodautoscalers.autoscaling: install"},
		"refused": {get(fmt.Errorf("dial: %w", syscall.ECONNREFUSED)),
			"the API server at 10.0.0.1:6443 refuses the connection: is the cluster running"},
		"timeout":     {get(context.DeadlineExceeded), "the API server at 10.0.0.1:6443 did not answer in time: try again"},
		"certificate": {get(x509.UnknownAuthorityError{}), "has a certificate that is not trusted: compare"},
		"name":        {get(&net.DNSError{Err: "no such host"}), "has a host name that cannot be resolved"},
		"unavailable": {apierrors.NewServiceUnavailable("no"), "cannot answer now: try again"},
		"another":     {errors.New("boom"), "get horizontalpodautoscalers.autoscaling in namespace shop: boom"},
	} {
		got := Request{Verb: "get", Resource: of.String(), Namespace: "shop", Name: "web"}.Sentence(c.err)
		if got == nil || !strings.Contains(got.Error(), c.want) || !errors.Is(got, c.err) {
			t.Errorf("%s: %v, want %q", name, got, c.want)
		}
	}
	scale := schema.GroupResource{Group: "apps", Resource: "deployments/scale"}
	got := Request{Verb: "get", Resource: "scale of Deployment web", Namespace: "shop"}.Sentence(
		apierrors.NewForbidden(scale, "web", errors.New("no")))
	if text := got.Error(); strings.Contains(text, "can-i") || !strings.Contains(text, "deployments/scale.apps") {
		t.Errorf("a resource that is described: %s", text)
	}
	if err := (Request{}).Sentence(nil); err != nil {
		t.Errorf("no error: %v", err)
	}
}
