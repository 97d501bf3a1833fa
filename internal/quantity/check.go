package quantity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Check finds a quantity beyond the bounds in a JSON text that is about to be decoded
// into something: an *Error that names its field, or nil. What decodes into another
// type, as a label or an argument does, may say what it likes. Whether the text is JSON
// at all, and fits, is for the decoder to say.
func Check(text []byte, into any) error {
	if !mayHold(text) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	w := &walk{decoder: decoder}
	err := w.value(reflect.TypeOf(into), "")
	if beyond := (*Error)(nil); errors.As(err, &beyond) {
		return beyond
	}
	return nil
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// walk goes through a text beside the type that it is meant for. It sees what a
// decoder into that type sees: also the first of two keys of the same name, and keys
// in other letters' case.
type walk struct{ decoder *json.Decoder }

func (w *walk) value(t reflect.Type, at string) error {
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
		return checkScalar(t, token, at)
	case t == nil || t == quantityType:
		return w.skip()
	case opening == '{' && t.Kind() == reflect.Struct:
		return w.members(func(key string) (reflect.Type, string) {
			return fieldOf(t, key), strings.TrimPrefix(at+"."+key, ".")
		})
	case opening == '{' && t.Kind() == reflect.Map:
		return w.members(func(key string) (reflect.Type, string) { return t.Elem(), at + "[" + key + "]" })
	case opening == '[' && t.Kind() == reflect.Slice:
		return w.elements(t.Elem(), at)
	}
	return w.skip()
}

func checkScalar(t reflect.Type, token json.Token, at string) error {
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
	err := checkText(text)
	if beyond := (*Error)(nil); errors.As(err, &beyond) {
		beyond.Field = at
	}
	return err
}

// members goes through an object; of says of a key which type its value has, and where
// it stands.
func (w *walk) members(of func(key string) (reflect.Type, string)) error {
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

func (w *walk) elements(t reflect.Type, at string) error {
	for i := 0; w.decoder.More(); i++ {
		if err := w.value(t, fmt.Sprintf("%s[%d]", at, i)); err != nil {
			return err
		}
	}
	_, err := w.decoder.Token()
	return err
}

// skip goes to the end of what has just begun.
func (w *walk) skip() error {
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

// fieldOf is the type of the field that a key is decoded into; nil if there is none.
func fieldOf(t reflect.Type, key string) reflect.Type {
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
			if found := fieldOf(inner, key); found != nil {
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
