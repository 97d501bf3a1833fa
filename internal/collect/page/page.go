package page

import (
	"errors"
	"fmt"
	"math"
)

// The bounds that Config has by default.
const (
	DefaultMaxBytes     = 4 << 20
	DefaultMaxLineBytes = 8 << 10
	DefaultMaxSeries    = 10_000
	// MaxWants is the maximum of metrics to read from a page.
	MaxWants = 100
	// few names are found faster one after another than by a search.
	few = 4
)

// Reasons for which a page is refused.
var (
	ErrTooLarge  = errors.New("too large")
	ErrTruncated = errors.New("the page is not whole")
	errName      = errors.New("no metric of a page can have that name")
)

// Error is a syntax error of a page, with its line.
type Error struct {
	Line int // from 1
	Err  error
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Err }

// Config has the bounds of a page; 0 means the default.
type Config struct {
	MaxBytes int
	// MaxLineBytes bounds the lines of wanted samples.
	MaxLineBytes int
	// MaxSeries bounds the series that are passed on, of all wanted metrics together.
	MaxSeries int
}

// Sample is a sample of a series.
type Sample struct {
	// Series is a hash of its labels.
	Series uint64
	Value  float64
	Time   Time
}

// Time is the timestamp of a sample, in milliseconds since 1970, if the page has one.
type Time struct {
	IsKnown bool
	Millis  int64
}

// timeOf converts a time in seconds. NaN is the earliest time.
func timeOf(seconds float64) Time {
	millis := math.Round(seconds * 1000)
	switch {
	case millis >= math.MaxInt64:
		return Time{IsKnown: true, Millis: math.MaxInt64}
	case !(millis >= math.MinInt64):
		return Time{IsKnown: true, Millis: math.MinInt64}
	}
	return Time{IsKnown: true, Millis: int64(millis)}
}

// Want is a wanted metric.
type Want struct {
	// Name is the name of the sample.
	Name string
	// Selector has the requirements on the labels; all must match.
	Selector []Requirement
}

// Parser reads one page after another. It is for one goroutine. It allocates only for errors, for numbers of unusual
// length and until its buffers are long enough.
type Parser struct {
	config Config
	lines  Lines

	want   []Want
	names  []string
	each   func(want int, s Sample)
	series int

	// The labels and series of the current sample.
	labels    []label
	unescaped []byte
}

// New makes a Parser.
func New(config Config) Parser {
	if config.MaxSeries <= 0 {
		config.MaxSeries = DefaultMaxSeries
	}
	lines := LinesConfig{MaxBytes: config.MaxBytes, MaxLineBytes: config.MaxLineBytes}
	return Parser{config: config, lines: NewLines(lines)}
}

// Read calls each for every wanted series of the page, with the index of the wanted metric.
func (p *Parser) Read(format Format, body []byte, want []Want, each func(want int, s Sample)) error {
	if err := p.begin(want); err != nil {
		return err
	}
	p.each = each
	// The page is the caller's again when this returns.
	defer p.end()
	for p.lines.Reset(format, body); p.lines.Next(""); {
		line := p.lines.Line()
		p.keep(line.Labels)
		if err := p.deliver(line); err != nil {
			p.lines.fail(err)
		}
	}
	return p.lines.Err()
}

func (p *Parser) begin(want []Want) error {
	if len(want) > MaxWants {
		return fmt.Errorf("%d wanted metrics, at most %d: %w", len(want), MaxWants, ErrTooLarge)
	}
	p.names = p.names[:0]
	for i := range want {
		if !isName(want[i].Name) {
			return errName
		}
		p.names = append(p.names, want[i].Name)
	}
	p.lines.want(p.names)
	p.want, p.series = want, 0
	return nil
}

func (p *Parser) end() {
	clear(p.labels[:cap(p.labels)])
	p.lines.Reset(Text, nil)
	p.want, p.each = nil, nil
}

func isName(name string) bool {
	if name == "" || isDigit(name[0]) {
		return false
	}
	for i := range len(name) {
		if !isNameByte(name[i]) {
			return false
		}
	}
	return true
}
