package page

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/collect/page/syntax"
)

// readText reads both text formats.
func (p *Parser) readText(body []byte, isOpenMetrics bool) error {
	if isOpenMetrics {
		text, ok := wholeOpenMetrics(body)
		if !ok {
			return ErrTruncated
		}
		return p.readLines(text, 0, true)
	}
	end := bytes.LastIndexByte(body, '\n') + 1
	if err := p.readLines(body[:end], 0, false); err != nil || syntax.EndOfBlanks(body, end) == len(body) {
		return err
	}
	return p.readLast(body, end)
}

// readLast reads a last line without a line end. The format wants one, but Prometheus appends
// it (NewPromParser, model/textparse/promparse.go), and servers that are written by hand do
// leave it out.
func (p *Parser) readLast(body []byte, start int) error {
	most := p.config.MaxLineBytes + 1
	p.tail = append(append(p.tail[:0], body[start:min(len(body), start+most)]...), '\n')
	return p.readLines(p.tail, bytes.Count(body[:start], []byte{'\n'}), false)
}

// readLines reads lines, each of which ends, behind so many others.
func (p *Parser) readLines(text []byte, before int, isOpenMetrics bool) error {
	for i := 0; i < len(text); {
		start := i
		if c := text[i]; c == ' ' || c == '\t' {
			i = syntax.EndOfBlanks(text, i)
		}
		want, ok := 0, p.begins[text[i]]
		if ok {
			want, ok = p.find(text[i:])
		}
		if !ok {
			i += bytes.IndexByte(text[i:], '\n') + 1
			continue
		}
		end, err := p.readSample(text, i, want, isOpenMetrics)
		if length := end - start; err == nil && length > p.config.MaxLineBytes {
			err = fmt.Errorf("line of %d bytes, at most %d: %w", length, p.config.MaxLineBytes, ErrTooLarge)
		}
		if err != nil {
			return &Error{Line: 1 + before + bytes.Count(text[:start], []byte{'\n'}), Err: err}
		}
		i = end + 1
	}
	return nil
}

// wholeOpenMetrics is the page without its last line, which must be # EOF.
func wholeOpenMetrics(body []byte) ([]byte, bool) {
	text, ok := bytes.CutSuffix(bytes.TrimSuffix(body, []byte{'\n'}), []byte("# EOF"))
	return text, ok && (len(text) == 0 || text[len(text)-1] == '\n')
}

// find is the first wanted metric whose sample this line has, which begins with its name.
func (p *Parser) find(line []byte) (int, bool) {
	if len(p.byName) > 0 {
		return p.findAmongMany(line)
	}
	for w := range p.want {
		name := p.want[w].Name
		if n := len(name); len(line) > n && string(line[:n]) == name && endsName(line[n]) {
			return w, true
		}
	}
	return 0, false
}

// findAmongMany reads the name first, which often is the one of the line before.
func (p *Parser) findAmongMany(line []byte) (want int, ok bool) {
	n := len(p.last)
	if n > 0 && len(line) > n && endsName(line[n]) && bytes.Equal(line[:n], p.last) {
		return p.lastWant, p.isLastWanted
	}
	for n = 0; !endsName(line[n]); {
		n++
	}
	p.last = line[:n]
	p.lastWant, p.isLastWanted = p.byName[string(p.last)]
	return p.lastWant, p.isLastWanted
}

// endsName reports whether a metric's name ends before the byte. A name that goes on in
// quotes is another one.
func endsName(c byte) bool { return !syntax.IsNameByte(c) && c != '"' }

// readSample reads the line whose metric name is at i. End is its line end.
func (p *Parser) readSample(text []byte, i, want int, isOpenMetrics bool) (end int, err error) {
	i = syntax.EndOfBlanks(text, i+len(p.want[want].Name))
	var labels syntax.Labels
	if text[i] == '{' {
		labels, i, err = syntax.ReadLabels(text, i+1)
		if errors.Is(err, syntax.ErrTooManyLabels) {
			err = fmt.Errorf("a series of %s has %w: %w", p.want[want].Name, err, ErrTooLarge)
		}
		if err != nil {
			return i, err
		}
		i = syntax.EndOfBlanks(text, i)
	}
	p.time = Time{}
	value, end, err := syntax.ReadValue(text, i)
	if err == nil && text[end] != '\n' {
		end, err = p.readEnd(text, syntax.EndOfBlanks(text, end), isOpenMetrics)
	}
	if err != nil {
		return end, err
	}
	p.keep(labels)
	return end, p.deliver(want, value)
}

// readEnd reads what is at i, behind the value: a timestamp, in milliseconds, or in
// OpenMetrics in seconds, and there an exemplar, which it passes over.
func (p *Parser) readEnd(text []byte, i int, isOpenMetrics bool) (end int, err error) {
	if !isOpenMetrics {
		p.time.IsKnown = true
		p.time.Millis, end, err = syntax.ReadMillis(text, i)
		return end, err
	}
	if text[i] != '#' {
		var seconds float64
		if seconds, i, err = syntax.ReadValue(text, i); err != nil {
			return i, errTimestamp
		}
		p.time = timeOf(seconds)
		if text[i] == '\n' {
			return i, nil
		}
		if i = syntax.EndOfBlanks(text, i); text[i] != '#' {
			return i, errTimestamp
		}
	}
	return i + bytes.IndexByte(text[i:], '\n'), nil
}

var errTimestamp = errors.New("expected a timestamp, an exemplar or the end of the line after the value")
