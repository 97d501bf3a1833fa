package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// reviewAutoscaler keeps out what is wrong, and gives what says nothing of how it
// updates the default. One that is being deleted, or whose spec stays what it is, is let
// through: whatever is wrong with it was stored before, and its finalizers must go.
func (h *Handler) reviewAutoscaler(request *admissionv1.AdmissionRequest) answer {
	isSettled := isDeleted(request.Object.Raw) || request.Operation == admissionv1.Update && isSameSpec(request)
	vpa, err := parse(request.Object.Raw)
	if err != nil && isSettled {
		return answer{response: admitted(request), status: statusSkipped, resource: resourceVPA}
	}
	if err != nil {
		return invalid(request, nil, field.ErrorList{unreadable(err)})
	}
	var old *v1.VerticalPodAutoscaler
	if request.Operation == admissionv1.Update {
		if old, err = parse(request.OldObject.Raw); err != nil {
			// It asks for nothing that the new one may keep.
			old = &v1.VerticalPodAutoscaler{}
		}
	}
	warnings, errs := validation.Validate(vpa, old, h.cfg.Features)
	if len(errs) > 0 && !isSettled {
		return invalid(request, warnings, errs)
	}
	var p patch
	if vpa.Spec.UpdatePolicy == nil && vpa.DeletionTimestamp == nil {
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
	if err := quantity.Check(raw, vpa); err != nil {
		return nil, err
	}
	return vpa, json.Unmarshal(raw, vpa)
}

// isDeleted tells whether an object is being deleted, of one that may not be readable.
func isDeleted(raw []byte) bool {
	var object struct {
		metav1.ObjectMeta `json:"metadata"`
	}
	return json.Unmarshal(raw, &object) == nil && object.DeletionTimestamp != nil
}

// isSameSpec compares the texts' meaning, so that it works for a spec that is not
// readable.
func isSameSpec(request *admissionv1.AdmissionRequest) bool {
	var specs [2]any
	for i, raw := range [][]byte{request.OldObject.Raw, request.Object.Raw} {
		var object struct {
			Spec json.RawMessage `json:"spec"`
		}
		if json.Unmarshal(raw, &object) != nil {
			return false
		}
		decoder := json.NewDecoder(bytes.NewReader(object.Spec))
		decoder.UseNumber()
		if decoder.Decode(&specs[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(specs[0], specs[1])
}

// unreadable says what is wrong with an object that cannot be read.
func unreadable(err error) *field.Error {
	if beyond := (*quantity.Error)(nil); errors.As(err, &beyond) {
		return field.Invalid(field.NewPath(beyond.Field), beyond.Text, beyond.Detail())
	}
	return field.InternalError(field.NewPath("."), err)
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
