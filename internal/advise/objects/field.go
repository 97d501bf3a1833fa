package objects

import (
	"slices"
	"strconv"
	"strings"
)

// Field is the way to a field of an object: names, and numbers in lists.
type Field []string

// In is a field inside this one.
func (f Field) In(names ...string) Field { return append(slices.Clone(f), names...) }

// ParseField reads a field as API servers write it: spec.containers[0].resources.requests[cpu].
func ParseField(text string) Field {
	var f Field
	for text != "" {
		end := strings.IndexAny(text, ".[")
		if rest, isKey := strings.CutPrefix(text, "["); isKey {
			key, after, _ := strings.Cut(rest, "]")
			f, text = append(f, key), strings.TrimPrefix(after, ".")
			continue
		}
		if end < 0 {
			return append(f, text)
		}
		f, text = append(f, text[:end]), strings.TrimPrefix(text[end:], ".")
	}
	return f
}

// String writes the field as people do: spec.containers[0].resources.
func (f Field) String() string {
	var text strings.Builder
	for i, name := range f {
		_, err := strconv.Atoi(name)
		switch {
		case err == nil:
			text.WriteString("[" + name + "]")
		case strings.ContainsAny(name, "./"):
			text.WriteString("[" + strconv.Quote(name) + "]")
		default:
			if i > 0 {
				text.WriteByte('.')
			}
			text.WriteString(name)
		}
	}
	return text.String()
}

// escape is RFC 6901's.
var escape = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer writes the field as JSON patches do.
func (f Field) Pointer() string {
	var text strings.Builder
	for _, name := range f {
		text.WriteByte('/')
		text.WriteString(escape.Replace(name))
	}
	return text.String()
}

// Has reports whether the field is in the object.
func (o *Object) Has(f Field) bool { return o.depth(f) == len(f) }

// depth is how many of the field's names lead to something in the object.
func (o *Object) depth(f Field) int {
	var at any = o.Raw
	for i, name := range f {
		switch inner := at.(type) {
		case map[string]any:
			next, ok := inner[name]
			if !ok || next == nil {
				return i
			}
			at = next
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(inner) {
				return i
			}
			at = inner[n]
		default:
			return i
		}
	}
	return len(f)
}

// Missing is the first name on the way to a field that leads nowhere: what has to be
// added so that the field can be. It is the field's last if only that one is missing.
func (o *Object) Missing(f Field) int { return min(o.depth(f), len(f)-1) }

// Value is the map in the field; nil if there is none.
func (o *Object) Value(f Field) map[string]any {
	var at any = o.Raw
	for _, name := range f {
		switch inner := at.(type) {
		case map[string]any:
			at = inner[name]
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(inner) {
				return nil
			}
			at = inner[n]
		}
	}
	found, _ := at.(map[string]any)
	return found
}
