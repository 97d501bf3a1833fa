// Package typed decodes maps, as manifests and API servers have them, into types, and names what does not fit.
package typed

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// Decode decodes a map, which is at that path of its object, and returns the fields below it that the type lacks. A
// value of another type is an *Error. Quantities that take hours to decode are refused.
func Decode(raw map[string]any, into any, at *field.Path) (unknown []string, err error) {
	text, err := json.Marshal(raw)
	if err == nil {
		err = quantity.Check(text, into)
	}
	if err != nil {
		return nil, err
	}
	// The converter names no field, and cuts numbers that are too large, which an API server refuses.
	if wrong := mismatch(raw, into, at); wrong != nil {
		return nil, wrong
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(raw, into, true)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		for _, each := range strict.Errors() {
			_, name, _ := strings.Cut(each.Error(), "unknown field ")
			unknown = append(unknown, strings.Trim(name, `"`))
		}
		return unknown, nil
	}
	return nil, err
}

// Spec returns a copy of an object's spec; nil if it has none.
func Spec(object map[string]any) (map[string]any, error) {
	spec, ok := object["spec"].(map[string]any)
	if !ok && object["spec"] != nil {
		return nil, wrong(object["spec"], "an object", field.NewPath("spec"))
	}
	return runtime.DeepCopyJSON(spec), nil
}

// CheckMetadata returns an error if a name, a label or an annotation is no text, as force-activation: true without
// quotes is. A name would be empty, and all the other labels or annotations would be lost with the one.
func CheckMetadata(object map[string]any) error {
	raw, _ := object["metadata"].(map[string]any)
	var into struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	}
	texts := map[string]any{"name": raw["name"], "namespace": raw["namespace"], "labels": raw["labels"],
		"annotations": raw["annotations"]}
	_, err := Decode(texts, &into, field.NewPath("metadata"))
	return err
}
