package page

import (
	"bytes"
	"errors"
	"fmt"
)

// LinesConfig selects the lines to read.
type LinesConfig struct {
	// Names are the names of the wanted samples. An empty one matches nothing.
	Names []string
	// IsStrict refuses lines that do not begin with a metric name, long lines of samples that are not wanted, and a last
	// line without an end.
	IsStrict bool
	// MaxBytes bounds the page; 0 means the default, as for MaxLineBytes, which bounds the lines of wanted samples.
	MaxBytes, MaxLineBytes int
}

// Line is the line of a wanted sample.
type Line struct {
	// Name is the index of the sample's name in Names; the first one of equal names.
	Name int
	// AsExpected is true if Labels are the labels that Next expected.
	AsExpected bool
	Labels     Labels
	Value      float64
	Time       Time
}

// Lines reads one page after another. It allocates only for errors, for numbers of unusual length and for a last line
// without an end.
type Lines struct {
	config LinesConfig
	// begins has the first bytes of lines whose name is read.
	begins [256]bool
	// byName has the first index of each name if they are not few.
	byName map[string]int

	isOpenMetrics bool
	// text ends with a line end, so that no loop over a line must check for the end of the text; tail is the rest.
	text, tail []byte
	// before counts the lines of the page before the text; start is the beginning of the line, pos the next byte to read.
	before, start, pos int
	line               Line
	err                error
	// name is the last name that was read: the lines of a metric are together.
	name     []byte
	index    int
	isWanted bool
	// last is the last line of a page, with a line end.
	last []byte
}

// NewLines makes a reader of the configured lines.
func NewLines(config LinesConfig) Lines {
	if config.MaxBytes <= 0 {
		config.MaxBytes = DefaultMaxBytes
	}
	if config.MaxLineBytes <= 0 {
		config.MaxLineBytes = DefaultMaxLineBytes
	}
	l := Lines{config: config, byName: map[string]int{}}
	l.want(config.Names)
	return l
}

// want sets the names. They must not change while a page is read.
func (l *Lines) want(names []string) {
	l.config.Names = names
	clear(l.byName)
	clear(l.begins[:])
	for i := 0; i < len(l.begins) && l.config.IsStrict; i++ {
		l.begins[i] = i != '#' && i != '\n'
	}
	for i := len(names) - 1; i >= 0; i-- {
		if names[i] == "" {
			continue
		}
		l.begins[names[i][0]] = true
		if len(names) > few {
			l.byName[names[i]] = i
		}
	}
}

// Reset starts a new page, which must not change while it is read.
func (l *Lines) Reset(format Format, body []byte) {
	l.isOpenMetrics = format == OpenMetrics
	l.text, l.tail, l.name, l.err = nil, nil, nil, nil
	l.before, l.start, l.pos = 0, 0, 0
	switch {
	case format == Unknown:
		l.err = errFormat
	case len(body) > l.config.MaxBytes:
		l.err = fmt.Errorf("page of %d bytes, at most %d: %w", len(body), l.config.MaxBytes, ErrTooLarge)
	case l.isOpenMetrics:
		text, isWhole := wholeOpenMetrics(body)
		if !isWhole {
			l.err = ErrTruncated
		}
		l.text = text
	default:
		end := bytes.LastIndexByte(body, '\n') + 1
		l.text, l.tail = body[:end], body[end:]
	}
}

// wholeOpenMetrics returns the page without its last line, which must be # EOF.
func wholeOpenMetrics(body []byte) ([]byte, bool) {
	text, ok := bytes.CutSuffix(bytes.TrimSuffix(body, []byte{'\n'}), []byte("# EOF"))
	return text, ok && (len(text) == 0 || text[len(text)-1] == '\n')
}

// Next moves to the next line of a wanted sample; false at the end of the page or at an error.
//
// Expected are the labels that probably come next, as Line.Labels had them earlier: the lines of a kubelet are in the
// same order from scrape to scrape and from family to family, and a comparison costs less than parsing them again. The
// result is the same with any guess that was once parsed, and with none.
func (l *Lines) Next(expected string) bool {
	for l.err == nil {
		if !l.toWanted() {
			if l.err == nil && l.takeLast() {
				continue
			}
			return false
		}
		end, err := l.readSample(expected)
		if err == nil {
			err = l.checkLength(end)
		}
		if err != nil {
			l.fail(err)
			return false
		}
		l.pos = end + 1
		return true
	}
	return false
}

// Line returns the line that Next found. It is valid until the next call.
func (l *Lines) Line() *Line { return &l.line }

// Err returns the error that ended the page early, or nil.
func (l *Lines) Err() error { return l.err }

// fail ends the page at its line.
func (l *Lines) fail(err error) {
	l.err = &Error{Line: 1 + l.before + bytes.Count(l.text[:l.start], []byte{'\n'}), Err: err}
}

// toWanted moves past the name on the next line of a wanted sample.
func (l *Lines) toWanted() bool {
	text, isStrict := l.text, l.config.IsStrict
	for i := l.pos; i < len(text); {
		start := i
		if c := text[i]; c == ' ' || c == '\t' {
			i = endOfBlanks(text, i)
		}
		if l.begins[text[i]] {
			n := l.readName(text[i:])
			if n > 0 && l.isWanted {
				l.start, l.pos = start, i+n
				return true
			}
			if n == 0 && isStrict {
				l.start = start
				l.fail(nameError(text[i:]))
				return false
			}
		}
		end := i + bytes.IndexByte(text[i:], '\n')
		if isStrict && end-start > l.config.MaxLineBytes {
			l.start = start
			l.fail(l.checkLength(end))
			return false
		}
		i = end + 1
	}
	l.pos = len(text)
	return false
}

func (l *Lines) checkLength(end int) error {
	if length := end - l.start; length > l.config.MaxLineBytes {
		return fmt.Errorf("line of %d bytes, at most %d: %w", length, l.config.MaxLineBytes, ErrTooLarge)
	}
	return nil
}

// takeLast moves to the last line of a page if it has no line end. The text format wants one, but Prometheus appends it
// (NewPromParser, model/textparse/promparse.go), and servers that are written by hand do leave it out.
func (l *Lines) takeLast() bool {
	tail := l.tail
	l.tail = nil
	if endOfBlanks(tail, 0) == len(tail) {
		return false
	}
	l.before = bytes.Count(l.text, []byte{'\n'})
	most := l.config.MaxLineBytes + 1
	l.last = append(append(l.last[:0], tail[:min(len(tail), most)]...), '\n')
	l.text, l.start, l.pos, l.name = l.last, 0, 0, nil
	if l.config.IsStrict {
		l.fail(ErrTruncated)
	}
	return l.err == nil
}

// readName reads a metric name and finds its index in the names. It returns 0 without a name.
func (l *Lines) readName(rest []byte) (length int) {
	if !l.config.IsStrict && len(l.config.Names) == 1 {
		return l.compare(rest)
	}
	n := len(l.name)
	if n > 0 && len(rest) > n && endsName(rest[n]) && bytes.Equal(rest[:n], l.name) {
		return n
	}
	for n = 0; isNameByte(rest[n]); {
		n++
	}
	if n == 0 || rest[n] == '"' || isDigit(rest[0]) {
		return 0
	}
	l.name = rest[:n]
	l.index, l.isWanted = l.find(l.name)
	return n
}

// compare compares with the only name: that takes less time than reading the line's. It returns 0 for another name too.
func (l *Lines) compare(rest []byte) (length int) {
	name := l.config.Names[0]
	n := len(name)
	if len(rest) <= n || string(rest[:n]) != name || !endsName(rest[n]) {
		return 0
	}
	l.name, l.index, l.isWanted = rest[:n], 0, true
	return n
}

// endsName reports whether a metric's name ends before the byte. A name that continues in quotes is another one.
func endsName(c byte) bool { return !isNameByte(c) && c != '"' }

func (l *Lines) find(name []byte) (index int, isWanted bool) {
	if len(l.byName) > 0 {
		index, isWanted = l.byName[string(name)]
		return index, isWanted
	}
	for i := range l.config.Names {
		if l.config.Names[i] == string(name) {
			return i, true
		}
	}
	return 0, false
}

// nameError explains why a line does not begin with a metric name.
func nameError(rest []byte) error {
	n := 0
	for isNameByte(rest[n]) {
		n++
	}
	if rest[n] == '"' || rest[0] == '{' {
		return ErrQuotedName
	}
	return errors.New("expected a metric name")
}

// readSample reads the rest of a line after the name. end is the line end.
func (l *Lines) readSample(expected string) (end int, err error) {
	text := l.text
	l.line = Line{Name: l.index}
	i := endOfBlanks(text, l.pos)
	if text[i] == '{' {
		if i, err = l.readOrMatchLabels(i+1, expected); err != nil {
			return i, err
		}
		i = endOfBlanks(text, i)
	}
	if l.line.Value, i, err = readValue(text, i); err != nil || text[i] == '\n' {
		return i, err
	}
	i = endOfBlanks(text, i)
	if l.isOpenMetrics {
		return l.readOpenMetricsEnd(i)
	}
	l.line.Time.IsKnown = true
	l.line.Time.Millis, i, err = readMillis(text, i)
	return i, err
}

// readOrMatchLabels compares the labels with the expected ones, and parses them only if they differ: equal text, up to
// the same brace, was parsed before with the same result.
func (l *Lines) readOrMatchLabels(i int, expected string) (end int, err error) {
	rest := l.text[i:]
	if n := len(expected); n > 0 && n < len(rest) && string(rest[:n]) == expected && rest[n] == '}' {
		l.line.Labels, l.line.AsExpected = Labels(rest[:n]), true
		return i + n + 1, nil
	}
	l.line.Labels, end, err = readLabels(l.text, i)
	if errors.Is(err, errTooManyLabels) {
		err = fmt.Errorf("a series of %s has %w: %w", l.name, err, ErrTooLarge)
	}
	return end, err
}

// readOpenMetricsEnd reads the rest after the value, at i: a timestamp in seconds, and an exemplar, which it skips.
func (l *Lines) readOpenMetricsEnd(i int) (end int, err error) {
	text := l.text
	if text[i] != '#' {
		var seconds float64
		if seconds, i, err = readValue(text, i); err != nil {
			return i, errTimestamp
		}
		l.line.Time = timeOf(seconds)
		if text[i] == '\n' {
			return i, nil
		}
		if i = endOfBlanks(text, i); text[i] != '#' {
			return i, errTimestamp
		}
	}
	return i + bytes.IndexByte(text[i:], '\n'), nil
}

var errTimestamp = errors.New("expected a timestamp, an exemplar or the end of the line after the value")
