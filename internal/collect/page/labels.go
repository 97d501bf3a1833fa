package page

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxLabels bounds the work of finding a name that is there twice.
const maxLabels = 32

// Reasons for which labels are refused although Prometheus' library may take them.
var (
	errTooManyLabels = fmt.Errorf("more than %d labels", maxLabels)
	ErrQuotedName    = errors.New("quoted names are not supported")
)

// Labels are a sample's labels as they stand between the braces, already checked. They point into the text and are
// valid as long as it is.
type Labels []byte

// Label is one label of a sample.
type Label struct {
	Name []byte
	// Raw is the value as it stands in the text, with its escapes.
	Raw []byte
}

// Cut returns the first label and those behind it; false if there is none.
func (l Labels) Cut() (Label, Labels, bool) {
	i := endOfBlanks(l, 0)
	if i == len(l) {
		return Label{}, nil, false
	}
	end := i
	for isLabelByte(l[end]) {
		end++
	}
	name := l[i:end]
	value := bytes.IndexByte(l[end:], '"') + end + 1
	end = endOfValue(l, value)
	// After a value come blanks and at most one comma.
	rest := endOfBlanks(l, end+1)
	if rest < len(l) {
		rest++
	}
	return Label{Name: name, Raw: l[value:end]}, l[rest:], true
}

// IsPlain reports whether the value has no escapes, so that Raw is the value.
func (l Label) IsPlain() bool { return bytes.IndexByte(l.Raw, '\\') < 0 }

// AppendValue appends the value without escapes.
func (l Label) AppendValue(dst []byte) []byte {
	raw := l.Raw
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		if escaped := raw[i+1]; escaped == 'n' {
			dst = append(dst, '\n')
		} else {
			dst = append(dst, escaped)
		}
		raw = raw[i+2:]
	}
}

// readLabels reads the labels from after the opening brace at i to after the closing one, which is end.
func readLabels(text []byte, i int) (labels Labels, end int, err error) {
	start := i
	var names [maxLabels]struct{ from, to uint32 }
	for n := 0; ; n++ {
		i = endOfBlanks(text, i)
		if text[i] == '}' {
			break
		}
		if n == maxLabels {
			return nil, i, errTooManyLabels
		}
		from := i
		if i, err = endOfName(text, from); err != nil {
			return nil, i, err
		}
		for _, earlier := range names[:n] {
			if bytes.Equal(text[earlier.from:earlier.to], text[from:i]) {
				return nil, i, errors.New("a label occurs twice")
			}
		}
		names[n].from, names[n].to = uint32(from), uint32(i) //nolint:gosec // texts are far shorter
		if i, err = readAssigned(text, i); err != nil {
			return nil, i, err
		}
		if text[i] == '}' {
			break
		}
		if text[i] != ',' {
			return nil, i, errors.New("expected a comma or } after a label")
		}
		i++
	}
	return Labels(text[start:i]), i + 1, nil
}

func endOfName(text []byte, i int) (int, error) {
	start := i
	if isDigit(text[i]) {
		return i, errors.New("a label name begins with a digit")
	}
	for isLabelByte(text[i]) {
		i++
	}
	switch {
	case text[i] == '"':
		return i, ErrQuotedName
	case i == start:
		return i, errors.New("expected a label name")
	case string(text[start:i]) == "__name__":
		return i, errors.New("label __name__ is reserved")
	}
	return i, nil
}

// readAssigned reads the equals sign, the value in its quotes and the blanks behind it.
func readAssigned(text []byte, i int) (int, error) {
	i = endOfBlanks(text, i)
	if text[i] != '=' {
		return i, errors.New("expected = after a label name")
	}
	i = endOfBlanks(text, i+1)
	if text[i] != '"' {
		return i, errors.New("expected a label value in quotes")
	}
	start := i + 1
	end := endOfValue(text, start)
	raw := text[start:end]
	if text[end] == '\n' {
		return end, errors.New("a label value does not end on its line")
	}
	if !utf8.Valid(raw) {
		return end, errors.New("a label value is not UTF-8")
	}
	return endOfBlanks(text, end+1), checkEscapes(raw)
}

// checkEscapes checks a value that ended with a quote: its last byte is not an unescaped backslash, which would have
// escaped that quote.
func checkEscapes(raw []byte) error {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return nil
		}
		if c := raw[i+1]; c != '\\' && c != '"' && c != 'n' {
			return errors.New("unknown escape in a label value")
		}
		raw = raw[i+2:]
	}
}

// endOfValue returns the end of the value that begins at i: its closing quote, or the end of the line, which must
// exist.
func endOfValue(text []byte, i int) int {
	for {
		for text[i] != '"' && text[i] != '\\' && text[i] != '\n' {
			i++
		}
		switch {
		case text[i] != '\\':
			return i
		case text[i+1] == '\n':
			return i + 1
		}
		i += 2
	}
}

// endOfBlanks returns the index of the first byte from i on that is neither a blank nor a tab.
func endOfBlanks(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	return i
}

func isLabelByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

func isNameByte(c byte) bool { return isLabelByte(c) || c == ':' }
