package snapshot

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxDocumentBytes bounds one document: 100 000 pods fit.
const maxDocumentBytes = 512 << 20

var errTooLarge = fmt.Errorf("larger than %d MiB", maxDocumentBytes>>20)

// splitter cuts a stream into documents: YAML documents end at a line with ---
// or at the stream's end, JSON documents with their last brace.
type splitter struct {
	in *bufio.Reader
	// bounds is the reader under in.
	bounds *bounded
}

func newSplitter(r io.Reader) *splitter {
	b := &bounded{r: r}
	return &splitter{in: bufio.NewReader(b), bounds: b}
}

// next returns the next document that is not blank, or io.EOF.
func (s *splitter) next() ([]byte, error) {
	for {
		s.bounds.left = maxDocumentBytes
		first, err := s.skipBlank()
		if err != nil {
			return nil, err
		}
		if first == '{' {
			return s.braces()
		}
		document, err := s.lines()
		if err != nil || !isBlank(document) {
			return document, err
		}
	}
}

// skipBlank moves to the first byte of a document, past white space and separators, and returns it.
func (s *splitter) skipBlank() (byte, error) {
	for {
		ahead, err := s.in.Peek(1)
		if err != nil {
			return 0, err
		}
		switch {
		case bytes.IndexByte([]byte(" \t\r\n"), ahead[0]) >= 0:
			_, err = s.in.Discard(1)
		case s.atSeparator():
			err = s.skipSeparator()
		default:
			return ahead[0], nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// atSeparator reports whether the next line separates documents.
func (s *splitter) atSeparator() bool {
	dashes, _ := s.in.Peek(3)
	return string(dashes) == "---"
}

func (s *splitter) skipSeparator() error {
	line, err := s.in.ReadBytes('\n')
	if err != nil {
		return err
	}
	if rest := bytes.TrimSpace(line[3:]); len(rest) > 0 && rest[0] != '#' {
		return fmt.Errorf("%q: a separator stands on a line of its own", bytes.TrimSpace(line))
	}
	return nil
}

// lines reads up to the next separator, or the end.
func (s *splitter) lines() ([]byte, error) {
	var document []byte
	for {
		if s.atSeparator() {
			return document, nil
		}
		line, err := s.in.ReadBytes('\n')
		document = append(document, line...)
		if errors.Is(err, io.EOF) {
			return document, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// braces reads from an opening brace to its closing one.
func (s *splitter) braces() ([]byte, error) {
	var document []byte
	depth, quoted, escaped := 0, false, false
	for {
		c, err := s.in.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil, errors.New("ends before its last brace")
		}
		if err != nil {
			return nil, err
		}
		document = append(document, c)
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			depth--
		}
		if depth == 0 {
			return document, nil
		}
	}
}

// isBlank reports whether a document has only comments.
func isBlank(document []byte) bool {
	for line := range bytes.Lines(document) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// bounded is a reader that fails when a document gets too large.
type bounded struct {
	r    io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}
