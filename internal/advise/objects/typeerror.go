package objects

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// TypeError is a field of an object that holds something of another type than the kind has there.
type TypeError struct {
	Field   Field
	Problem string
}

var _ error = (*TypeError)(nil)

// Error implements error.
func (e *TypeError) Error() string { return e.Field.String() + ": " + e.Problem }

// typeError finds the first field of an object, by its name, that does not fit into the type; nil if all do.
func typeError(raw any, into any) *TypeError { return mismatch(raw, reflect.TypeOf(into), nil) }

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func mismatch(raw any, t reflect.Type, at Field) *TypeError {
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
			if found := mismatch(members[name], t.Elem(), at.In(name)); found != nil {
				return found
			}
		}
		return nil
	case reflect.Slice:
		return ofList(raw, t, at)
	}
	return ofScalar(raw, t, at)
}

func ofList(raw any, t reflect.Type, at Field) *TypeError {
	elements, ok := raw.([]any)
	if _, isText := raw.(string); isText && t.Elem().Kind() == reflect.Uint8 {
		return nil
	}
	if !ok {
		return wrong(raw, "a list", at)
	}
	for i := range elements {
		if found := mismatch(elements[i], t.Elem(), at.In(strconv.Itoa(i))); found != nil {
			return found
		}
	}
	return nil
}

func ofStruct(raw any, t reflect.Type, at Field) *TypeError {
	members, ok := raw.(map[string]any)
	if !ok {
		return wrong(raw, "an object", at)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" || strings.Contains(options, "inline") {
			if found := mismatch(raw, f.Type, at); found != nil {
				return found
			}
			continue
		}
		if inner, has := members[name]; has && name != "" && f.IsExported() {
			if found := mismatch(inner, f.Type, at.In(name)); found != nil {
				return found
			}
		}
	}
	return nil
}

// ofText asks a type that reads its own text, as a quantity or a time.
func ofText(raw any, t reflect.Type, at Field) *TypeError {
	text, err := json.Marshal(raw)
	if err == nil {
		err = json.Unmarshal(text, reflect.New(t).Interface())
	}
	if err == nil {
		return nil
	}
	return &TypeError{Field: at, Problem: fmt.Sprintf("%s is %s, which cannot be read as %s: %v", at, describe(raw),
		strings.ToLower(t.Name()), err)}
}

func ofScalar(raw any, t reflect.Type, at Field) *TypeError {
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
			return &TypeError{Field: at, Problem: fmt.Sprintf("%s is %d, which is too large", at, n)}
		}
	}
	return nil
}

// wrong says what is in a field, what should be, and how to write that.
func wrong(raw any, want string, at Field) *TypeError {
	problem := fmt.Sprintf("%s must be %s, and is %s", at, want, describe(raw))
	switch r := raw.(type) {
	case bool:
		if want == "a string" {
			problem += "; YAML reads on, off, yes, no, true and false without quotes as booleans: put the text in quotes"
			if !r && at[len(at)-1] == "updateMode" || !r && at[len(at)-1] == "mode" {
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
	return &TypeError{Field: at, Problem: problem}
}

// mostQuoted bounds what is repeated of a wrong text.
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
