package quantity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// recursive has itself for a part, embeds a struct, and hides a field of it.
type recursive struct {
	inner `json:",inline"`

	Quantity resource.Quantity              `json:"quantity"`
	Hidden   string                         `json:"hidden"`
	Parts    map[string][]*recursive        `json:"parts"`
	Lists    []map[string]resource.Quantity `json:"lists"`
	Omitted  resource.Quantity              `json:"-"`
}

type inner struct {
	Embedded *resource.Quantity `json:"embedded"`
	Hidden   string             `json:"hidden"`
}

// FuzzCheckAgreesWithADecoder compares the walk over the text with one that decodes it token by token.
func FuzzCheckAgreesWithADecoder(f *testing.F) {
	for _, text := range []string{
		`{"spec":{"containers":[{"name":"a","args":["1e1000"]},{"resources":{"limits":{"a\u0031":"1E-1000"}}}]}}`,
		`{"Spec":{"CONTAINERS":[null,7,"a",[],{"resources":{"limits":{"a":1e-1000 ,"a":"1"}}}]}}`,
		` { "spec" : { "overhead" : { "cpu" : "\u0031e1000" } } } `,
		`{"quantity":{"quantity":"1e1000"},"hidden":"1e1000","embedded":" 1e1000","omitted":"1e1000"}`,
		`{"parts":{"a\"b":[{},{"parts":{"":[{"quantity":1e1000}]}}]}}`,
		`{"lists":[{},{"a":"1"},{"b":"1e1000"}]}`, `{"lists":{"a":"1e1000"}}`, `{"quantity":["1e1000"],"embedded":-1e1000}`,
		`[{"quantity":"1e1000"}]`, `"1e1000"`, `1e1000`, `null`, `{"a\\":"\\\"","quantity":"1e1000"}`, `{"quantity":"\""}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) || !utf8.ValidString(text) {
			for _, into := range []any{&corev1.Pod{}, &recursive{}} {
				_ = Check([]byte(text), into)
			}
			return
		}
		for _, into := range []any{&corev1.Pod{}, &recursive{}, []recursive{}, resource.Quantity{}} {
			got, want := Check([]byte(text), into), naiveCheck([]byte(text), into)
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s into %T: %v, want %v", text, into, got, want)
			}
		}
	})
}

// TestCheckMakesNoObjects: what reading a text allocates does not grow with it.
func TestCheckMakesNoObjects(t *testing.T) {
	var many strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&many, `"%d":"1e10",`, i)
	}
	text := []byte(`{"metadata":{"labels":{"commit":"4531e203","digits":"` + strings.Repeat("9", 1<<16) + `"}},
		"spec":{"containers":[{"resources":{"limits":{` + many.String() + `"cpu":"1"}}}]}}`)
	if n := testing.AllocsPerRun(5, func() {
		if err := Check(text, &corev1.Pod{}); err != nil {
			t.Error(err)
		}
	}); n > 400 {
		t.Errorf("%v allocations for a text of %d bytes", n, len(text))
	}
	long := []byte(`{"spec":{"overhead":{"cpu":"` + strings.Repeat("9", 1<<20) + `"}}}`)
	if n := testing.AllocsPerRun(5, func() { _ = Check(long, &corev1.Pod{}) }); n > 400 {
		t.Errorf("%v allocations for a quantity of a megabyte", n)
	}
}

func naiveCheck(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	w := &naiveWalk{decoder: decoder}
	err := w.value(reflect.TypeOf(into), "")
	if beyond := (*Error)(nil); errors.As(err, &beyond) {
		return beyond
	}
	return nil
}

// naiveWalk is written otherwise than walk: it decodes each token.
type naiveWalk struct{ decoder *json.Decoder }

func (w *naiveWalk) value(t reflect.Type, at string) error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	token, err := w.decoder.Token()
	if err != nil {
		return err
	}
	opening, isComposite := token.(json.Delim)
	switch {
	case !isComposite:
		return naiveScalar(t, token, at)
	case t == nil || t == quantityType:
		return w.skip()
	case opening == '{' && t.Kind() == reflect.Struct:
		return w.members(func(key string) (reflect.Type, string) {
			return naiveFieldOf(t, key), strings.TrimPrefix(at+"."+key, ".")
		})
	case opening == '{' && t.Kind() == reflect.Map:
		return w.members(func(key string) (reflect.Type, string) { return t.Elem(), at + "[" + key + "]" })
	case opening == '[' && t.Kind() == reflect.Slice:
		return w.elements(t.Elem(), at)
	}
	return w.skip()
}

func naiveScalar(t reflect.Type, token json.Token, at string) error {
	if t != quantityType {
		return nil
	}
	text := ""
	switch scalar := token.(type) {
	case string:
		text = strings.TrimSpace(scalar)
	case json.Number:
		text = scalar.String()
	}
	if !hasBeyond(text) {
		return nil
	}
	return newError(at, text)
}

// members goes through an object; of says of a key which type its value has, and where
// it stands.
func (w *naiveWalk) members(of func(key string) (reflect.Type, string)) error {
	for w.decoder.More() {
		token, err := w.decoder.Token()
		if err != nil {
			return err
		}
		key, _ := token.(string)
		t, at := of(key)
		if err := w.value(t, at); err != nil {
			return err
		}
	}
	_, err := w.decoder.Token()
	return err
}

func (w *naiveWalk) elements(t reflect.Type, at string) error {
	for i := 0; w.decoder.More(); i++ {
		if err := w.value(t, fmt.Sprintf("%s[%d]", at, i)); err != nil {
			return err
		}
	}
	_, err := w.decoder.Token()
	return err
}

// skip goes to the end of what has just begun.
func (w *naiveWalk) skip() error {
	for depth := 1; depth > 0; {
		token, err := w.decoder.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return nil
}

// naiveFieldOf is the type of the field that a key is decoded into; nil if there is none.
func naiveFieldOf(t reflect.Type, key string) reflect.Type {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && field.Anonymous {
			inner := field.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			if inner.Kind() != reflect.Struct {
				continue
			}
			if found := naiveFieldOf(inner, key); found != nil {
				return found
			}
			continue
		}
		if name == "" {
			name = field.Name
		}
		if name != "-" && strings.EqualFold(name, key) {
			return field.Type
		}
	}
	return nil
}
