package typed

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Error is the error of a field with a value of another type than the kind has there.
type Error struct {
	Field   *field.Path
	Problem string
}

var _ error = (*Error)(nil)

// Error implements error.
func (e *Error) Error() string { return e.Field.String() + " " + e.Problem }

// mismatch returns the first field of an object, by its name, that does not fit into the type; nil if all do.
func mismatch(raw any, into any, at *field.Path) *Error { return ofType(raw, reflect.TypeOf(into), at) }

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func ofType(raw any, t reflect.Type, at *field.Path) *Error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if raw == nil || t.Kind() == reflect.Interface {
		return nil
	}
	if reflect.PointerTo(t).Implements(unmarshaler) {
		return ofText(raw, t, at)
	}
	switch t.Kind() {
	case reflect.Struct:
		return ofStruct(raw, t, at)
	case reflect.Map:
		members, ok := raw.(map[string]any)
		if !ok {
			return wrong(raw, "an object", at)
		}
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if found := ofType(members[name], t.Elem(), at.Key(name)); found != nil {
				return found
			}
		}
		return nil
	case reflect.Slice:
		return ofList(raw, t, at)
	}
	return ofScalar(raw, t, at)
}

func ofList(raw any, t reflect.Type, at *field.Path) *Error {
	elements, ok := raw.([]any)
	if _, isText := raw.(string); isText && t.Elem().Kind() == reflect.Uint8 {
		return nil
	}
	if !ok {
		return wrong(raw, "a list", at)
	}
	for i := range elements {
		if found := ofType(elements[i], t.Elem(), at.Index(i)); found != nil {
			return found
		}
	}
	return nil
}

func ofStruct(raw any, t reflect.Type, at *field.Path) *Error {
	members, ok := raw.(map[string]any)
	if !ok {
		return wrong(raw, "an object", at)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" || strings.Contains(options, "inline") {
			if found := ofType(raw, f.Type, at); found != nil {
				return found
			}
			continue
		}
		if inner, has := members[name]; has && name != "" && f.IsExported() {
			if found := ofType(inner, f.Type, at.Child(name)); found != nil {
				return found
			}
		}
	}
	return nil
}

// ofText tries a type that parses its own text, such as a quantity or a time.
func ofText(raw any, t reflect.Type, at *field.Path) *Error {
	text, err := json.Marshal(raw)
	if err == nil {
		err = json.Unmarshal(text, reflect.New(t).Interface())
	}
	if err == nil {
		return nil
	}
	return &Error{Field: at, Problem: fmt.Sprintf("is %s, which cannot be read as %s: %v", describe(raw),
		strings.ToLower(t.Name()), err)}
}

func ofScalar(raw any, t reflect.Type, at *field.Path) *Error {
	switch t.Kind() {
	case reflect.String:
		if _, ok := raw.(string); !ok {
			return wrong(raw, "a string", at)
		}
	case reflect.Bool:
		if _, ok := raw.(bool); !ok {
			return wrong(raw, "true or false", at)
		}
	case reflect.Float32, reflect.Float64:
		switch raw.(type) {
		case float64, int64:
		default:
			return wrong(raw, "a number", at)
		}
	default:
		n, ok := raw.(int64)
		if !ok {
			return wrong(raw, "a whole number", at)
		}
		if reflect.New(t).Elem().OverflowInt(n) {
			return &Error{Field: at, Problem: fmt.Sprintf("is %d, which is too large", n)}
		}
	}
	return nil
}

// wrong describes the value of a field, the type it should have, and how to write that.
func wrong(raw any, want string, at *field.Path) *Error {
	problem := fmt.Sprintf("must be %s, and is %s", want, describe(raw))
	switch r := raw.(type) {
	case bool:
		if want == "a string" {
			problem += "; YAML reads on, off, yes, no, true and false without quotes as booleans: put the text in quotes"
			if name := at.String(); !r && (strings.HasSuffix(name, ".updateMode") || strings.HasSuffix(name, ".mode")) {
				problem += ", as in \"Off\""
			}
		}
	case int64, float64:
		if want == "a string" {
			problem += fmt.Sprintf("; write it in quotes: \"%v\"", r)
		}
	case string:
		if _, err := strconv.ParseInt(r, 10, 64); err == nil && want == "a whole number" {
			problem += "; write it without quotes"
		}
		if (r == "true" || r == "false") && want == "true or false" {
			problem += "; write it without quotes"
		}
	}
	return &Error{Field: at, Problem: problem}
}

// mostQuoted bounds the quoted part of a wrong text.
const mostQuoted = 40

func describe(raw any) string {
	switch r := raw.(type) {
	case string:
		if len(r) > mostQuoted {
			r = strings.ToValidUTF8(r[:mostQuoted], "") + "..."
		}
		return "the string " + strconv.Quote(r)
	case bool:
		return fmt.Sprintf("the boolean %t", r)
	case int64, float64:
		return fmt.Sprintf("the number %v", r)
	case []any:
		return "a list"
	}
	return "an object"
}
