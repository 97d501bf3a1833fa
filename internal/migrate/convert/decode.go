package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// Decode decodes a map, which is at that path of its object, and returns the fields that the type does not have.
// Quantities that take hours to decode are refused.
func Decode(at string, raw map[string]any, into any) (unknown []string, err error) {
	text, err := json.Marshal(raw)
	if err == nil {
		err = quantity.Check(text, into)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	// The converter cuts numbers that are too large: of 4294967298 it makes 2.
	if err := json.Unmarshal(text, reflect.New(reflect.TypeOf(into).Elem()).Interface()); err != nil {
		return nil, locate(at, raw, into, err)
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(raw, into, true)
	if strict, ok := runtime.AsStrictDecodingError(err); ok {
		for _, each := range strict.Errors() {
			unknown = append(unknown, strings.Trim(strings.TrimPrefix(each.Error(), "unknown field "), `"`))
		}
		return unknown, nil
	}
	if err != nil {
		return nil, locate(at, raw, into, err)
	}
	return nil, nil
}

// CheckMetadata returns an error if a label or an annotation is no text, as force-activation: true without quotes is. All
// the others would be lost with it.
func CheckMetadata(object *unstructured.Unstructured) error {
	raw, _ := object.Object["metadata"].(map[string]any)
	var into struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	}
	_, err := Decode("metadata", map[string]any{"labels": raw["labels"], "annotations": raw["annotations"]}, &into)
	return err
}

// locate is the error with the path of the first value that cannot be decoded even alone: the decoder does not name it.
func locate(at string, raw any, into any, err error) error {
	var found *json.UnmarshalTypeError
	path := culprit(raw, func(alone any) bool {
		text, err := json.Marshal(alone)
		if err == nil {
			err = json.Unmarshal(text, reflect.New(reflect.TypeOf(into).Elem()).Interface())
		}
		errors.As(err, &found)
		return err != nil
	})
	if found == nil {
		return fmt.Errorf("%s%s: %w", at, path, err)
	}
	hint := ""
	if found.Type.Kind() == reflect.String {
		hint = ": put it in quotes"
	}
	return fmt.Errorf("%s%s: must be of type %s, and is %s%s", at, path, word(found.Type), found.Value, hint)
}

// culprit is the path of the first value that fails in an object that has nothing else.
func culprit(value any, fails func(alone any) bool) string {
	switch v := value.(type) {
	case map[string]any:
		if fails(map[string]any{}) {
			return ""
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			inner := func(alone any) bool { return fails(map[string]any{key: alone}) }
			if inner(v[key]) {
				return "." + key + culprit(v[key], inner)
			}
		}
	case []any:
		if fails([]any{}) {
			return ""
		}
		inner := func(alone any) bool { return fails([]any{alone}) }
		for i := range v {
			if inner(v[i]) {
				return fmt.Sprintf("[%d]%s", i, culprit(v[i], inner))
			}
		}
	}
	return ""
}

// word is what the API calls a type.
func word(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int32, reflect.Int64:
		return "integer"
	case reflect.Slice:
		return "array"
	case reflect.Struct, reflect.Map:
		return "object"
	}
	return t.Kind().String()
}
