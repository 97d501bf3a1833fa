package text

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// maxLabels bounds the work of looking for a name that stands there twice.
// Those of the kubelet have three.
const maxLabels = 16

// Labels are a sample's labels as they stand between the braces, already
// checked. They point into the text and are valid as long as it is.
type Labels []byte

// Label is one of them.
type Label struct {
	Name []byte
	// Raw is the value as it stands in the text, escapes in their place.
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
	// Behind a value stand blanks and at most one comma.
	rest := endOfBlanks(l, end+1)
	if rest < len(l) {
		rest++
	}
	return Label{Name: name, Raw: l[value:end]}, l[rest:], true
}

// IsPlain tells that the value has no escapes, so that Raw is the value.
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

// readLabels reads from behind the opening brace to behind the closing one.
func (p *Parser) readLabels() (Labels, error) {
	start := p.pos
	var seen [maxLabels][]byte
	for n := 0; ; n++ {
		p.pos = endOfBlanks(p.text, p.pos)
		if p.text[p.pos] == '}' {
			break
		}
		if n == maxLabels {
			return nil, fmt.Errorf("more than %d labels: %w", maxLabels, ErrTooLarge)
		}
		name, err := p.labelName()
		if err != nil {
			return nil, err
		}
		for _, earlier := range seen[:n] {
			if bytes.Equal(earlier, name) {
				return nil, fmt.Errorf("label %q stands there twice", excerpt(name))
			}
		}
		seen[n] = name
		if err := p.labelValue(); err != nil {
			return nil, err
		}
		p.pos = endOfBlanks(p.text, p.pos)
		if p.text[p.pos] == '}' {
			break
		}
		if p.text[p.pos] != ',' {
			return nil, fmt.Errorf("expected a comma or } behind a label, found %q", p.text[p.pos])
		}
		p.pos++
	}
	p.pos++
	return Labels(p.text[start : p.pos-1]), nil
}

// labelName reads the name and the equals sign.
func (p *Parser) labelName() ([]byte, error) {
	start := p.pos
	if c := p.text[p.pos]; c >= '0' && c <= '9' {
		return nil, fmt.Errorf("expected a label name, found %q", c)
	}
	for isLabelByte(p.text[p.pos]) {
		p.pos++
	}
	name := p.text[start:p.pos]
	if p.text[p.pos] == '"' {
		return nil, ErrQuotedName
	}
	p.pos = endOfBlanks(p.text, p.pos)
	switch {
	case len(name) == 0:
		return nil, fmt.Errorf("expected a label name, found %q", p.text[p.pos])
	case string(name) == "__name__":
		return nil, errors.New("label __name__ is reserved")
	case p.text[p.pos] != '=':
		return nil, fmt.Errorf("expected = behind label %q, found %q", excerpt(name), p.text[p.pos])
	}
	p.pos++
	return name, nil
}

// labelValue reads the value in its quotes.
func (p *Parser) labelValue() error {
	p.pos = endOfBlanks(p.text, p.pos)
	if p.text[p.pos] != '"' {
		return fmt.Errorf("expected a label value in quotes, found %q", p.text[p.pos])
	}
	start := p.pos + 1
	end := endOfValue(p.text, start)
	raw := p.text[start:end]
	if p.text[end] == '\n' {
		return errors.New("a label value does not end on its line")
	}
	if !utf8.Valid(raw) {
		return fmt.Errorf("label value %q is no UTF-8", excerpt(raw))
	}
	p.pos = end + 1
	return checkEscapes(raw)
}

// checkEscapes looks at a value that ended with a quote: its last byte is no
// backslash of its own, which would have escaped that quote.
func checkEscapes(raw []byte) error {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return nil
		}
		if c := raw[i+1]; c != '\\' && c != '"' && c != 'n' {
			return fmt.Errorf("unknown escape \\ and %q in a label value", c)
		}
		raw = raw[i+2:]
	}
}

// endOfValue is where the value that begins at i ends: at its closing quote, or
// at the end of the line, which must exist.
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

func endOfBlanks(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	return i
}

func isLabelByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}
