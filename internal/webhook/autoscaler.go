package webhook

import (
	"encoding/json"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
)

// reviewAutoscaler keeps out what is wrong, and gives what says nothing of how it
// updates the default.
func (h *Handler) reviewAutoscaler(request *admissionv1.AdmissionRequest) answer {
	vpa, err := parse(request.Object.Raw)
	if err != nil {
		return invalid(request, nil, field.ErrorList{field.InternalError(field.NewPath("."), err)})
	}
	var old *v1.VerticalPodAutoscaler
	if request.Operation == admissionv1.Update {
		if old, err = parse(request.OldObject.Raw); err != nil {
			return invalid(request, nil, field.ErrorList{field.InternalError(field.NewPath("."), err)})
		}
	}
	warnings, errs := validation.Validate(vpa, old, h.cfg.Features)
	if len(errs) > 0 {
		return invalid(request, warnings, errs)
	}
	var p patch
	if vpa.Spec.UpdatePolicy == nil {
		mode := v1.UpdateModeRecreate
		p.add("/spec/updatePolicy", v1.PodUpdatePolicy{UpdateMode: &mode})
	}
	if vpa.Namespace == "" {
		vpa.Namespace = request.Namespace
	}
	a := h.patched(request, p)
	a.response.Warnings = slices.Concat(warnings, h.cfg.Warnings(vpa))
	return a
}

func parse(raw []byte) (*v1.VerticalPodAutoscaler, error) {
	vpa := &v1.VerticalPodAutoscaler{}
	return vpa, json.Unmarshal(raw, vpa)
}

func invalid(request *admissionv1.AdmissionRequest, warnings []string, errs field.ErrorList) answer {
	kind := "VerticalPodAutoscaler"
	if request.RequestKind != nil {
		kind = request.RequestKind.Kind
	}
	refused := apierrors.NewInvalid(schema.GroupKind{Group: request.Resource.Group, Kind: kind}, request.Name, errs)
	return answer{
		response: &admissionv1.AdmissionResponse{UID: request.UID, Result: &refused.ErrStatus, Warnings: warnings},
		status:   statusSkipped, resource: resourceVPA,
	}
}
