package quantity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Check finds a quantity beyond the bounds in a JSON text that is about to be decoded
// into something: an *Error that names its field, or nil. What decodes into another
// type, as a label or an argument does, may say what it likes. Whether the text is JSON
// at all, and fits, is for the decoder to say.
//
// It makes no objects of what is in the text.
func Check(text []byte, into any) error {
	if !hasBeyond(text) || !json.Valid(text) {
		return nil
	}
	w := walk{text: text, fields: map[reflect.Type]map[string]reflect.Type{}}
	if beyond := w.value(reflect.TypeOf(into)); beyond != nil {
		beyond.Field = strings.TrimPrefix(beyond.Field, ".")
		return beyond
	}
	return nil
}

// walk goes through a valid text beside the type that it is meant for. It sees what a
// decoder into that type sees: also the first of two keys of the same name, and keys in
// other letters' case.
type walk struct {
	text []byte
	// at is how far it is.
	at int
	// fields has the fields of a struct, by their names in the text.
	fields map[reflect.Type]map[string]reflect.Type
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// value goes through a value, which is decoded into the type; nil if it is not decoded.
func (w *walk) value(t reflect.Type) *Error {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if c := w.next(); c == '{' || c == '[' {
		return w.members(t, c)
	}
	text := w.scalar()
	if t != quantityType {
		return nil
	}
	if text = bytes.TrimSpace(unquoted(text)); hasBeyond(text) {
		return newError("", string(text))
	}
	return nil
}

// members goes through an object or a list.
func (w *walk) members(t reflect.Type, opening byte) *Error {
	closing := opening + 2
	w.at++
	for i := 0; w.next() != closing; i++ {
		if w.text[w.at] == ',' {
			w.at++
		}
		var key []byte
		if opening == '{' {
			w.next()
			key = unquoted(w.scalar())
			w.next()
			w.at++ // the colon
		}
		if beyond := w.value(w.member(t, opening, key)); beyond != nil {
			beyond.Field = step(t, key, i) + beyond.Field
			return beyond
		}
	}
	w.at++
	return nil
}

// member is the type of what an object or a list has under a key; nil if it is not decoded.
func (w *walk) member(t reflect.Type, opening byte, key []byte) reflect.Type {
	switch {
	case t == nil || t == quantityType:
	case opening == '[' && t.Kind() == reflect.Slice, opening == '{' && t.Kind() == reflect.Map:
		return t.Elem()
	case opening == '{' && t.Kind() == reflect.Struct:
		return w.field(t, key)
	}
	return nil
}

// step leads from an object or a list to what it has under a key.
func step(t reflect.Type, key []byte, index int) string {
	switch t.Kind() {
	case reflect.Slice:
		return "[" + strconv.Itoa(index) + "]"
	case reflect.Map:
		return "[" + string(key) + "]"
	default:
		return "." + string(key)
	}
}

func (w *walk) field(t reflect.Type, key []byte) reflect.Type {
	fields, ok := w.fields[t]
	if !ok {
		fields = map[string]reflect.Type{}
		for _, field := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name = cmp.Or(name, field.Name); name != "-" {
				fields[name] = field.Type
			}
		}
		w.fields[t] = fields
	}
	name := string(key)
	if field, ok := fields[name]; ok {
		return field
	}
	for other, field := range fields {
		if strings.EqualFold(name, other) {
			return field
		}
	}
	return nil
}

// next goes to the next character that is no space.
func (w *walk) next() byte {
	for strings.IndexByte(" \t\r\n", w.text[w.at]) >= 0 {
		w.at++
	}
	return w.text[w.at]
}

// scalar goes to the end of what is no object and no list.
func (w *walk) scalar() []byte {
	from := w.at
	if w.text[from] != '"' {
		for w.at < len(w.text) && strings.IndexByte(",]} \t\r\n", w.text[w.at]) < 0 {
			w.at++
		}
		return w.text[from:w.at]
	}
	for w.at++; w.text[w.at] != '"'; w.at++ {
		if w.text[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	return w.text[from:w.at]
}

// unquoted returns the content of a string, and a number unchanged.
func unquoted(text []byte) []byte {
	if text[0] != '"' {
		return text
	}
	inner := text[1 : len(text)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var decoded string
	_ = json.Unmarshal(text, &decoded) // it is valid
	return []byte(decoded)
}
