package podchange

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// No node can do a resize that the API server's own validation refuses. A policy, a webhook or a quota refuses with the
// same codes, but may permit it later.
func TestRefusedResizes(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	invalid := func(f *field.Error) *apierrors.StatusError {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "web-1", field.ErrorList{f})
	}
	spec := field.NewPath("spec")
	// As the API server's dispatchers of policies and of webhooks make them (v1.37).
	policy := apierrors.NewForbidden(pods, "web-1",
		errors.New("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no"))
	policy.ErrStatus.Reason, policy.ErrStatus.Code = metav1.StatusReasonInvalid, 422
	policy.ErrStatus.Details.Causes = append(policy.ErrStatus.Details.Causes, metav1.StatusCause{Message: "no"})
	hook := invalid(field.Forbidden(spec, "no"))
	hook.ErrStatus.Message = `admission webhook "w" denied the request: ` + hook.ErrStatus.Message
	small := apierrors.NewForbidden(pods, "web-1", errors.New("too small"))
	small.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: causeNodeCapacity}}
	for why, c := range map[string]struct {
		err  error
		want error
	}{
		"the class of service": {invalid(field.Invalid(spec,
			"Burstable", "Pod QOS Class may not change as a result of resizing")), ErrInfeasible},
		"a container's limit": {invalid(field.Forbidden(spec.Child("containers").Index(0).Child("resources"), "no")),
			ErrInfeasible},
		"a pod of Windows": {invalid(field.Forbidden(field.NewPath(""), "windows pods cannot be resized")),
			ErrInfeasible},
		"its annotations":          {invalid(field.Invalid(field.NewPath("metadata", "annotations"), "x", "no")), ErrRefused},
		"a node that is too small": {small, ErrInfeasible},
		"a policy":                 {policy, ErrRefused},
		"a webhook":                {hook, ErrRefused},
		"a quota":                  {apierrors.NewForbidden(pods, "web-1", errors.New("exceeded quota")), ErrRefused},
		"another pod": {apierrors.NewConflict(pods, "web-1", errors.New("the UID in the precondition")),
			ErrGone},
	} {
		if got := classify(fmt.Errorf("resizing: %w", c.err)); !errors.Is(got, c.want) {
			t.Errorf("%s: %v, want %v", why, got, c.want)
		}
	}
	if got := classify(apierrors.NewInternalError(errors.New("busy"))); errors.Is(got, ErrRefused) ||
		errors.Is(got, ErrInfeasible) {
		t.Errorf("trouble: %v", got)
	}
}
