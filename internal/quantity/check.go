package quantity

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Check finds a quantity beyond the bounds in a JSON text that is about to be decoded
// into something: an *Error that names its field, or nil. What decodes into another
// type, as a label or an argument does, may say what it likes. Whether the text is JSON
// at all, and fits, is for the decoder to say.
//
// Almost no text has a string or a number that looks like such a quantity. One that has is decoded token by token.
func Check(text []byte, into any) error {
	if !mayExceed(text) || !json.Valid(text) {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if beyond := (walk{decoder}).value(reflect.TypeOf(into), ""); beyond != nil {
		return beyond
	}
	return nil
}

// mayExceed reports whether a string or a number of the text may be a quantity beyond the bounds.
func mayExceed(text []byte) bool {
	for i := 0; i < len(text); i++ {
		from := i
		switch c := text[i]; {
		case c == '"':
			from++
			i = from + lengthOfString(text[from:])
		case isDigit(c) || c == '-':
			for i < len(text) && isOfNumber(text[i]) {
				i++
			}
		default:
			continue
		}
		if isSuspect(text[from:i]) {
			return true
		}
	}
	return false
}

// lengthOfString is how far it is to the quotation mark that ends the string.
func lengthOfString(text []byte) int {
	for from := 0; ; {
		at := bytes.IndexByte(text[from:], '"')
		if at < 0 {
			return len(text)
		}
		end, escapes := from+at, 0
		for end-escapes > from && text[end-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end
		}
		from = end + 1
	}
}

// isSuspect is true of all quantities beyond the bounds, however they are written: with spaces around, in other
// characters than ASCII too, and with escapes.
func isSuspect(value []byte) bool {
	begin := bytes.TrimLeft(value, " ")
	if len(begin) > 1 && (begin[0] == 'e' || begin[0] == 'E') {
		begin = begin[1:] // an exponent alone is read as 0e..., and a name goes on with a letter
	}
	if len(begin) == 0 || !isOfNumber(begin[0]) && begin[0] != '\\' && begin[0] < utf8.RuneSelf {
		return false
	}
	return len(value) > MaxLength || hasLongExponent(value) || bytes.IndexByte(value, '\\') >= 0
}

func isOfNumber(c byte) bool {
	return isDigit(c) || c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E'
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// walk goes through a valid text beside the type that it is decoded into. It sees what a decoder sees: also the first
// of two keys of the same name, and keys in other letters' case.
type walk struct{ decoder *json.Decoder }

// value checks the next value, which is decoded into that type, nil if it is into nothing. At names its field.
func (w walk) value(t reflect.Type, at string) *Error {
	t = pointee(t)
	token, _ := w.decoder.Token() // the text is valid
	opening, isComposite := token.(json.Delim)
	switch {
	case t == quantityType && !isComposite:
		return checkToken(token, at)
	case t == quantityType || t == nil:
	case opening == '{' && t.Kind() == reflect.Struct:
		return w.entries(func(key string) *Error {
			return w.value(fieldOf(t, key), strings.TrimPrefix(at+"."+key, "."))
		})
	case opening == '{' && t.Kind() == reflect.Map:
		return w.entries(func(key string) *Error { return w.value(t.Elem(), at+"["+key+"]") })
	case opening == '[' && t.Kind() == reflect.Slice:
		for i := 0; w.decoder.More(); i++ {
			if beyond := w.value(t.Elem(), at+"["+strconv.Itoa(i)+"]"); beyond != nil {
				return beyond
			}
		}
		isComposite = false
		_, _ = w.decoder.Token()
	}
	for depth := 1; isComposite && depth > 0; {
		switch token, _ := w.decoder.Token(); token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
	return nil
}

// entries checks those of an object that has just begun.
func (w walk) entries(check func(key string) *Error) *Error {
	for w.decoder.More() {
		token, _ := w.decoder.Token()
		key, _ := token.(string)
		if beyond := check(key); beyond != nil {
			return beyond
		}
	}
	_, _ = w.decoder.Token()
	return nil
}

func checkToken(token json.Token, at string) *Error {
	var text string
	switch scalar := token.(type) {
	case string:
		text = strings.TrimSpace(scalar)
	case json.Number:
		text = scalar.String()
	}
	beyond := checkText([]byte(text))
	if beyond != nil {
		beyond.Field = at
	}
	return beyond
}

// fieldOf is the type of the field that a key is decoded into; nil if there is none. Fields of a struct hide those of
// the structs that it embeds.
func fieldOf(t reflect.Type, key string) (found reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch inner := pointee(field.Type); {
		case name == "" && field.Anonymous && inner.Kind() == reflect.Struct:
			if found == nil {
				found = fieldOf(inner, key)
			}
		case name == "-":
		case cmp.Or(name, field.Name) == key:
			return field.Type
		case strings.EqualFold(cmp.Or(name, field.Name), key):
			found = field.Type
		}
	}
	return found
}

func pointee(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
