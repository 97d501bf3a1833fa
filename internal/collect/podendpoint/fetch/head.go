package fetch

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
)

// head has the relevant fields of a response's head.
type head struct {
	status                int
	contentType, encoding string
	// length is the body's; -1 if the head lacks it, as in http.Response.
	length int64
	// isOpenEnded reports that only the end of the connection marks the end of the body.
	isOpenEnded bool
	// isLast reports that the connection ends with the response.
	isLast bool
	body   io.Reader
}

// get is the method, on which the presence of a body depends.
var get = &http.Request{Method: http.MethodGet}

// maxInterim is the maximum of interim heads before the final one.
const maxInterim = 8

// final reads the head of the response, after interim ones such as 103 Early Hints. 101 Switching Protocols counts as
// final: no other protocol was requested.
func (r *reader) final() (h head, err error) {
	for range maxInterim {
		h, err = r.head()
		if err != nil || h.status >= http.StatusOK || h.status == http.StatusSwitchingProtocols {
			return h, err
		}
	}
	return h, err
}

// head reads the head. Heads that are not plain are parsed by net/http, whose function accepts every valid head, and
// allocates a kilobyte.
func (r *reader) head() (head, error) {
	if _, err := r.buffered.Peek(1); err != nil {
		return head{}, unanswered(err)
	}
	there, _ := r.buffered.Peek(r.buffered.Buffered())
	if p, isPlain := parsePlain(there); isPlain {
		_, _ = r.buffered.Discard(p.bytes)
		return r.plain(&p), nil
	}
	response, err := http.ReadResponse(r.buffered, get) //nolint:bodyclose // closing reads the rest, which may have no end
	if err != nil {
		return head{}, plain("reading the head of the response", cmp.Or(r.failed, err))
	}
	return head{
		status: response.StatusCode, contentType: response.Header.Get("Content-Type"),
		encoding: response.Header.Get("Content-Encoding"), length: response.ContentLength,
		isOpenEnded: response.ContentLength < 0 && len(response.TransferEncoding) == 0,
		isLast:      response.Close, body: response.Body,
	}, nil
}

// plain makes a plain head the current one.
func (r *reader) plain(p *plainHead) head {
	if r.contentType != string(p.contentType) {
		r.contentType = string(p.contentType)
	}
	h := head{status: http.StatusOK, contentType: r.contentType, length: p.length}
	if p.isChunked {
		h.length = -1
		h.body = &chunks{from: r.buffered, chunks: httputil.NewChunkedReader(r.buffered)}
		return h
	}
	r.fixed = fixed{from: r.buffered, left: p.length}
	h.body = &r.fixed
	return h
}

// plainHead is the most common kind of head: of HTTP/1.1, with the status 200 and either a length or chunks. It refers
// to the bytes that it was parsed from.
type plainHead struct {
	// bytes is its length.
	bytes       int
	contentType []byte
	length      int64
	isChunked   bool
}

const statusOK = "HTTP/1.1 200 "

// parsePlain parses the head at the beginning of the bytes. It returns false for a head that is incomplete or not
// plain: any ambiguous head.
func parsePlain(from []byte) (h plainHead, isPlain bool) {
	if !bytes.HasPrefix(from, []byte(statusOK)) {
		return h, false
	}
	h.length = -1
	line, n := cutLine(from[len(statusOK):])
	if n == 0 || !isText(line) {
		return h, false
	}
	for h.bytes = len(statusOK) + n; ; h.bytes += n {
		if line, n = cutLine(from[h.bytes:]); n == 0 {
			return h, false
		}
		if len(line) == 0 {
			h.bytes += n
			return h, h.isChunked != (h.length >= 0)
		}
		if !h.field(line) {
			return h, false
		}
	}
}

// cutLine returns the first line without its end, and its length with the end; 0 without an end.
func cutLine(from []byte) (line []byte, n int) {
	end := bytes.IndexByte(from, '\n')
	if end < 1 || from[end-1] != '\r' {
		return nil, 0
	}
	return from[:end-1], end + 1
}

// field records a header. It returns false for a header that is not plain.
func (h *plainHead) field(line []byte) bool {
	colon := bytes.IndexByte(line, ':')
	if colon < 1 || !isName(line[:colon]) || !isText(line[colon+1:]) {
		return false
	}
	name, value := line[:colon], bytes.Trim(line[colon+1:], " \t")
	switch {
	case is(name, "content-type"):
		isFirst := h.contentType == nil
		h.contentType = value
		return isFirst && len(value) > 0
	case is(name, "content-length"):
		return h.setLength(value)
	case is(name, "transfer-encoding"):
		isFirst := !h.isChunked
		h.isChunked = true
		return isFirst && is(value, "chunked")
	case is(name, "connection"):
		return is(value, "keep-alive")
	}
	return !is(name, "upgrade") && !is(name, "trailer") && !is(name, "content-encoding")
}

func (h *plainHead) setLength(value []byte) bool {
	if h.length >= 0 || len(value) == 0 || len(value) > 15 {
		return false
	}
	h.length = 0
	for _, digit := range value {
		if digit < '0' || digit > '9' {
			return false
		}
		h.length = 10*h.length + int64(digit-'0')
	}
	return true
}

// is compares with a text of lower case.
func is(text []byte, lower string) bool {
	if len(text) != len(lower) {
		return false
	}
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

func isName(name []byte) bool {
	for _, c := range name {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// isText reports whether all of it is printable.
func isText(text []byte) bool {
	for _, c := range text {
		if (c < ' ' || c > '~') && c != '\t' {
			return false
		}
	}
	return true
}

// fixed is a body with a length.
type fixed struct {
	from *bufio.Reader
	left int64
}

// Read implements io.Reader. It returns io.EOF with the last byte.
func (f *fixed) Read(p []byte) (int, error) {
	if f.left == 0 {
		return 0, io.EOF
	}
	n, err := f.from.Read(p[:min(int64(len(p)), f.left)])
	f.left -= int64(n)
	switch {
	case f.left == 0:
		return n, io.EOF
	case errors.Is(err, io.EOF):
		return n, io.ErrUnexpectedEOF
	}
	return n, err
}

// chunks is a body of chunks.
type chunks struct {
	from   *bufio.Reader
	chunks io.Reader
}

// Read implements io.Reader.
func (c *chunks) Read(p []byte) (int, error) {
	n, err := c.chunks.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	return n, cmp.Or(c.skipTrailers(), err)
}

// skipTrailers reads the rest after the last chunk: an empty line, or headers and an empty line.
func (c *chunks) skipTrailers() error {
	end, err := c.from.Peek(2)
	if err != nil {
		return cmp.Or(asUnexpected(err), err)
	}
	if string(end) == "\r\n" {
		_, _ = c.from.Discard(2)
		return nil
	}
	const empty = "\r\n\r\n"
	for n := len(empty); n <= c.from.Size(); n = max(n+1, c.from.Buffered()) {
		there, err := c.from.Peek(n)
		if at := bytes.Index(there, []byte(empty)); at >= 0 {
			_, _ = c.from.Discard(at + len(empty))
			return nil
		}
		if err != nil {
			return cmp.Or(asUnexpected(err), err)
		}
	}
	return errHTTP
}

func asUnexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return nil
}
