package text

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/collect/page/syntax"
)

// The bounds that Config has by default. A node with 250 pods of four containers
// has some 900 kB, and what a text may say bounds what a hostile kubelet can make
// others remember. A line of the kubelet has at most some 500 bytes.
const (
	DefaultMaxBytes     = 4 << 20
	DefaultMaxLineBytes = 8 << 10
)

// Reasons for which a text is refused although Prometheus' library may take it.
var (
	ErrTooLarge   = errors.New("too large")
	ErrQuotedName = syntax.ErrQuotedName
	ErrTruncated  = errors.New("the text ends in the middle of a line")
)

// Error is what Parser.Err returns: what was wrong, and on which line.
type Error struct {
	Line int // from 1
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Config says what to read.
type Config struct {
	// Families are handed out; others are passed over. None means all.
	Families Families
	// MaxBytes bounds the text, MaxLineBytes each line; 0 means the default.
	MaxBytes, MaxLineBytes int
}

// Sample is one value.
type Sample struct {
	Family       Family
	HasTimestamp bool
	// AsExpected tells that Labels are those that Next was told to expect.
	AsExpected bool
	Labels     syntax.Labels
	// Value is in the family's unit.
	Value float64
	// TimestampMillis is in milliseconds since 1970, 0 without HasTimestamp.
	TimestampMillis int64
}

// Parser goes through one text after another. It allocates only for errors and
// for numbers longer than any that the kubelet writes.
type Parser struct {
	config Config
	// text ends with a line end, so that no loop over a line has to look for the
	// end of the text; tail is what stands behind it.
	text, tail []byte
	pos, line  int
	sample     Sample
	err        error

	// The name on the line before: the lines of a family stand together.
	lastName   []byte
	lastFamily Family
}

// New makes a parser.
func New(config Config) Parser {
	if config.Families == 0 {
		config.Families = All
	}
	if config.MaxBytes <= 0 {
		config.MaxBytes = DefaultMaxBytes
	}
	if config.MaxLineBytes <= 0 {
		config.MaxLineBytes = DefaultMaxLineBytes
	}
	return Parser{config: config}
}

// Reset begins with a new text, which must not change while it is read.
func (p *Parser) Reset(text []byte) {
	*p = Parser{config: p.config}
	if len(text) > p.config.MaxBytes {
		p.err = &Error{
			Line: 1, Err: fmt.Errorf("text of %d bytes, at most %d: %w", len(text), p.config.MaxBytes, ErrTooLarge),
		}
		return
	}
	end := bytes.LastIndexByte(text, '\n') + 1
	p.text, p.tail = text[:end], text[end:]
}

// Next goes to the next sample; false at the end of the text or at an error.
//
// Expected are the labels that probably come next, as Sample.Labels had them
// earlier: the lines of a kubelet stand in the same order from scrape to scrape
// and from family to family, and a comparison costs less than reading them again.
// The samples are the same with any guess that was once read, and with none.
func (p *Parser) Next(expected string) bool {
	for p.err == nil {
		if p.pos == len(p.text) {
			p.finish()
			return false
		}
		p.line++
		start := p.pos
		found, err := p.readLine(expected)
		if length := p.pos - start; err == nil && length > p.config.MaxLineBytes+1 {
			err = fmt.Errorf("line of %d bytes, at most %d: %w", length-1, p.config.MaxLineBytes, ErrTooLarge)
		}
		if err != nil {
			p.err = &Error{Line: p.line, Err: err}
			return false
		}
		if found {
			return true
		}
	}
	return false
}

// Sample is the one that Next found. It is valid until the next call.
func (p *Parser) Sample() *Sample { return &p.sample }

// Err is what ended the text early, an *Error, or nil.
func (p *Parser) Err() error { return p.err }

// finish looks at what stands behind the last line end: blanks, or half a line.
func (p *Parser) finish() {
	if syntax.EndOfBlanks(p.tail, 0) < len(p.tail) {
		p.err = &Error{Line: p.line + 1, Err: ErrTruncated}
	}
}

// readLine reads one line and tells whether there was a sample that is wanted.
func (p *Parser) readLine(expected string) (bool, error) {
	p.pos = syntax.EndOfBlanks(p.text, p.pos)
	switch p.text[p.pos] {
	case '\n':
		p.pos++
		return false, nil
	case '#':
		p.skipLine()
		return false, nil
	}
	family, err := p.readName()
	if err != nil {
		return false, err
	}
	if !p.config.Families.Has(family) || family == other {
		p.skipLine()
		return false, nil
	}
	p.sample = Sample{Family: family}
	return true, p.readSample(expected)
}

func (p *Parser) skipLine() {
	p.pos += bytes.IndexByte(p.text[p.pos:], '\n') + 1
}

// readName reads a metric name.
func (p *Parser) readName() (Family, error) {
	rest := p.text[p.pos:]
	if n := len(p.lastName); n > 0 && bytes.HasPrefix(rest, p.lastName) && !syntax.IsNameByte(rest[n]) && rest[n] != '"' {
		p.pos += n
		return p.lastFamily, nil
	}
	n := 0
	for syntax.IsNameByte(rest[n]) {
		n++
	}
	switch {
	case rest[n] == '"' || rest[0] == '{':
		return other, ErrQuotedName
	case n == 0 || rest[0] >= '0' && rest[0] <= '9':
		return other, fmt.Errorf("expected a metric name, found %q", rest[0])
	}
	p.lastName, p.lastFamily = rest[:n], familyOf(rest[:n])
	p.pos += n
	return p.lastFamily, nil
}

// readSample reads what stands behind the name, the line end included.
func (p *Parser) readSample(expected string) error {
	p.pos = syntax.EndOfBlanks(p.text, p.pos)
	if p.text[p.pos] == '{' {
		p.pos++
		if err := p.readOrMatchLabels(expected); err != nil {
			return err
		}
		p.pos = syntax.EndOfBlanks(p.text, p.pos)
	}
	var err error
	if p.sample.Value, p.pos, err = syntax.ReadValue(p.text, p.pos); err != nil {
		return err
	}
	if p.text[p.pos] != '\n' {
		p.pos = syntax.EndOfBlanks(p.text, p.pos)
		p.sample.HasTimestamp = true
		if p.sample.TimestampMillis, p.pos, err = syntax.ReadMillis(p.text, p.pos); err != nil {
			return err
		}
	}
	p.pos++
	return nil
}

// readOrMatchLabels skips the reading if the labels are the expected ones: these
// were read before, and reading them again, up to the same brace, would say the
// same.
func (p *Parser) readOrMatchLabels(expected string) error {
	rest := p.text[p.pos:]
	if n := len(expected); n > 0 && n < len(rest) && string(rest[:n]) == expected && rest[n] == '}' {
		p.sample.Labels = syntax.Labels(rest[:n])
		p.sample.AsExpected = true
		p.pos += n + 1
		return nil
	}
	var err error
	p.sample.Labels, p.pos, err = syntax.ReadLabels(p.text, p.pos)
	if errors.Is(err, syntax.ErrTooManyLabels) {
		return fmt.Errorf("a series of %s has %w: %w", p.lastName, err, ErrTooLarge)
	}
	return err
}
