package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// reviewAutoscaler refuses invalid objects, and sets the default update mode of those without one. It accepts an object
// that is being deleted, or whose spec does not change: an invalid one was stored before, and its finalizers must be
// removable.
func (h *Handler) reviewAutoscaler(request *admissionv1.AdmissionRequest) answer {
	isSettled := isDeleted(request.Object.Raw) || request.Operation == admissionv1.Update && isSameSpec(request)
	vpa, err := parse(request.Object.Raw)
	if err != nil && isSettled {
		return answer{response: admitted(request), status: statusSkipped, resource: resourceVPA}
	}
	if err != nil {
		return invalid(request, nil, field.ErrorList{unreadable(err)})
	}
	var old *vpav1.VerticalPodAutoscaler
	if request.Operation == admissionv1.Update {
		if old, err = parse(request.OldObject.Raw); err != nil {
			// Without an old object, none of its values may be kept.
			old = &vpav1.VerticalPodAutoscaler{}
		}
	}
	warnings, errs := validation.Validate(vpa, old, h.cfg.Features)
	if len(errs) > 0 && !isSettled {
		return invalid(request, warnings, errs)
	}
	var p patch
	if vpa.Spec.UpdatePolicy == nil && vpa.DeletionTimestamp == nil {
		mode := vpav1.UpdateModeRecreate
		p.add("/spec/updatePolicy", vpav1.PodUpdatePolicy{UpdateMode: &mode})
	}
	if vpa.Namespace == "" {
		vpa.Namespace = request.Namespace
	}
	a := h.patched(request, p)
	a.response.Warnings = slices.Concat(warnings, h.cfg.Warnings(vpa))
	return a
}

// maxValues is the maximum number of values in the spec of an object: a policy with ten for each container that a pod
// may have. A policy takes two bytes of text, and a thousand in memory with its errors.
const maxValues = 10 * maxEntries

// maxErrors is the maximum number of errors in a response: the memory for joining all of them grows with the square of
// their number.
const maxErrors = 20

// parts has the fields of an object that are read. Its status and the rest of its metadata are skipped in the text.
type parts struct {
	Metadata struct {
		Name              string       `json:"name"`
		Namespace         string       `json:"namespace"`
		DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec json.RawMessage `json:"spec"`
}

func parse(raw []byte) (*vpav1.VerticalPodAutoscaler, error) {
	var checked struct {
		Spec vpav1.VerticalPodAutoscalerSpec `json:"spec"`
	}
	if err := quantity.Check(raw, &checked); err != nil {
		return nil, err
	}
	var p parts
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, err
	}
	if n := countEntries(p.Spec, math.MaxInt); n > maxValues {
		return nil, field.TooMany(field.NewPath("spec"), n, maxValues)
	}
	vpa := &vpav1.VerticalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{
		Name: p.Metadata.Name, Namespace: p.Metadata.Namespace, DeletionTimestamp: p.Metadata.DeletionTimestamp,
	}}
	if len(p.Spec) == 0 {
		return vpa, nil
	}
	return vpa, json.Unmarshal(p.Spec, &vpa.Spec)
}

// isDeleted reports whether an object, possibly an unreadable one, is being deleted.
func isDeleted(raw []byte) bool {
	var p parts
	return json.Unmarshal(raw, &p) == nil && p.Metadata.DeletionTimestamp != nil
}

// isSameSpec compares the texts' meaning, so that it works for a spec that is not
// readable. Of many values the texts must be the same, as the API server's are.
func isSameSpec(request *admissionv1.AdmissionRequest) bool {
	var before, after parts
	if json.Unmarshal(request.OldObject.Raw, &before) != nil || json.Unmarshal(request.Object.Raw, &after) != nil {
		return false
	}
	if bytes.Equal(before.Spec, after.Spec) {
		return len(after.Spec) > 0
	}
	var specs [2]any
	for i, text := range [][]byte{before.Spec, after.Spec} {
		if countEntries(text, math.MaxInt) > maxValues {
			return false
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if decoder.Decode(&specs[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(specs[0], specs[1])
}

// unreadable is the error of an object that cannot be decoded.
func unreadable(err error) *field.Error {
	if beyond := (*quantity.Error)(nil); errors.As(err, &beyond) {
		return field.Invalid(field.NewPath(beyond.Field), beyond.Text, beyond.Detail())
	}
	if named := (*field.Error)(nil); errors.As(err, &named) {
		return named
	}
	return field.InternalError(field.NewPath("."), err)
}

func invalid(request *admissionv1.AdmissionRequest, warnings []string, errs field.ErrorList) answer {
	if more := len(errs) - maxErrors; more > 0 {
		errs, warnings = errs[:maxErrors], append(warnings, fmt.Sprintf("spec: %d more errors are not listed", more))
	}
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
