package quantity

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// Check finds a quantity beyond the bounds in a JSON text that is about to be decoded
// into something: an *Error that names its field, or nil. What decodes into another
// type, as a label or an argument does, may say what it likes. Whether the text is JSON
// at all, and fits, is for the decoder to say.
//
// It reads the text once, whatever is in it, and makes no objects of it.
func Check(text []byte, into any) error {
	s := schemaOf(reflect.TypeOf(into))
	if s == nil {
		return nil
	}
	w := walk{text: text, path: make([]step, 0, 16)}
	if beyond := w.value(s); beyond != nil {
		return beyond
	}
	return nil
}

// deepest is how deep a decoder follows a text.
const deepest = 10000

// walk goes through a text beside the schema of the type that it is meant for. It sees
// what a decoder into that type sees: also the first of two keys of the same name, and
// keys in other letters' case. Of a text that is no JSON it says anything.
type walk struct {
	text []byte
	// at is how far it is.
	at   int
	path []step
}

// step is one on the way to a value: into a field, an entry of a map, or of a list.
type step struct {
	key    []byte
	index  int
	parent *schema
}

func (w *walk) value(s *schema) *Error {
	c := w.next()
	switch {
	case s == nil:
		w.skip()
	case s.isQuantity:
		return w.quantity()
	case c == '{' && (s.fields != nil || s.isMap):
		return w.members(s)
	case c == '[' && s.isList:
		return w.elements(s)
	default:
		w.skip()
	}
	return nil
}

func (w *walk) quantity() *Error {
	from := w.at
	w.skip()
	text := w.text[from:w.at]
	switch {
	case len(text) == 0 || text[0] == '{' || text[0] == '[':
		return nil
	case text[0] == '"':
		text = unquoted(text)
	}
	beyond := checkText(bytes.TrimSpace(text))
	if beyond != nil {
		beyond.Field = w.field()
	}
	return beyond
}

// unquoted is what a string says.
func unquoted(text []byte) []byte {
	inner := bytes.TrimSuffix(text[1:], []byte{'"'})
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var decoded string
	if json.Unmarshal(text, &decoded) != nil {
		return nil
	}
	return []byte(decoded)
}

// members goes through an object.
func (w *walk) members(s *schema) *Error {
	w.at++
	for {
		switch w.next() {
		case '"':
		case ',':
			w.at++
			continue
		case '}':
			w.at++
			return nil
		default:
			w.stop()
			return nil
		}
		from := w.at
		w.skip()
		key := unquoted(w.text[from:w.at])
		if w.next() != ':' {
			w.stop()
			return nil
		}
		w.at++
		if beyond := w.enter(step{key: key, parent: s}, s.of(key)); beyond != nil {
			return beyond
		}
	}
}

func (w *walk) elements(s *schema) *Error {
	w.at++
	for i := 0; ; {
		switch w.next() {
		case ',':
			w.at++
			i++
			continue
		case ']':
			w.at++
			return nil
		}
		before := w.at
		if beyond := w.enter(step{index: i, parent: s}, s.element); beyond != nil {
			return beyond
		}
		if w.at == before {
			w.stop()
			return nil
		}
	}
}

// enter looks at the value that a step leads to.
func (w *walk) enter(to step, s *schema) *Error {
	if len(w.path) == deepest {
		w.stop()
		return nil
	}
	w.path = append(w.path, to)
	beyond := w.value(s)
	w.path = w.path[:len(w.path)-1]
	return beyond
}

// field names the value that the walk is at.
func (w *walk) field() string {
	var name strings.Builder
	for _, s := range w.path {
		switch {
		case s.parent.isList:
			name.WriteString("[" + strconv.Itoa(s.index) + "]")
		case s.parent.isMap:
			name.WriteString("[" + string(s.key) + "]")
		case name.Len() > 0:
			name.WriteString("." + string(s.key))
		default:
			name.Write(s.key)
		}
	}
	return name.String()
}

// next goes to the next character that is no space; 0 at the end.
func (w *walk) next() byte {
	for ; w.at < len(w.text); w.at++ {
		switch c := w.text[w.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// stop ends the walk.
func (w *walk) stop() { w.at = len(w.text) }

// skip goes to the end of a value, whatever is in it.
func (w *walk) skip() {
	switch w.next() {
	case '"':
		w.skipString()
	case '{', '[':
		w.skipComposite()
	default:
		for w.at < len(w.text) && !isDelimiter(w.text[w.at]) {
			w.at++
		}
	}
}

func (w *walk) skipString() { w.at = min(w.at+lengthOfString(w.text[w.at+1:])+2, len(w.text)) }

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

func (w *walk) skipComposite() {
	for depth := 0; w.at < len(w.text); {
		switch w.text[w.at] {
		case '"':
			w.skipString()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if w.at++; depth == 0 {
			return
		}
	}
}

func isDelimiter(c byte) bool {
	switch c {
	case ',', ':', '{', '}', '[', ']', '"', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}
