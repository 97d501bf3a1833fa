package snapshot

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Encode writes the objects of a step as a YAML document for Reader. The scheme must have their kinds.
func Encode(w io.Writer, known *runtime.Scheme, objects []runtime.Object) error {
	list := map[string]any{"apiVersion": corev1.SchemeGroupVersion.String(), "kind": "List"}
	items := make([]any, len(objects))
	for i, object := range objects {
		item, err := encodeObject(known, object)
		if err != nil {
			return fmt.Errorf("encode %T: %w", object, err)
		}
		items[i] = item
	}
	list["items"] = items
	document, err := yaml.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	_, err = w.Write(append([]byte("---\n"), document...))
	return err
}

// encodeObject returns the object in JSON, with its kind, which objects from a cache lack.
func encodeObject(known *runtime.Scheme, object runtime.Object) (map[string]any, error) {
	kinds, _, err := known.ObjectKinds(object)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var item map[string]any
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.UseNumber()
	if err := decoder.Decode(&item); err != nil {
		return nil, err
	}
	item["apiVersion"], item["kind"] = kinds[0].GroupVersion().String(), kinds[0].Kind
	refine(reflect.ValueOf(object), item)
	return item, nil
}

var timeType = reflect.TypeFor[metav1.Time]()

// refine restores the nanoseconds of the times in item, which is v as JSON: the API's types print whole seconds, and a
// replay must not decide otherwise.
func refine(v reflect.Value, item any) any {
	for v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			return item
		}
		v = v.Elem()
	}
	if v.Type() == timeType {
		t, _ := v.Interface().(metav1.Time)
		if t.Nanosecond() == 0 {
			return item
		}
		return t.UTC().Format(time.RFC3339Nano)
	}
	switch node := item.(type) {
	case map[string]any:
		if v.Kind() == reflect.Struct {
			refineStruct(v, node)
		}
	case []any:
		for i := range min(v.Len(), len(node)) {
			node[i] = refine(v.Index(i), node[i])
		}
	}
	return item
}

func refineStruct(v reflect.Value, node map[string]any) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case !field.IsExported():
		case name == "" && field.Anonymous:
			refine(v.Field(i), node)
		case node[name] != nil:
			node[name] = refine(v.Field(i), node[name])
		}
	}
}
