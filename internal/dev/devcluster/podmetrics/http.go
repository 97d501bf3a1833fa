package podmetrics

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
)

const (
	// usualHead holds the head of a usual request; longer ones up to longestHead get more room.
	usualHead   = 512
	longestHead = 16 << 10
	path        = "/metrics"
	ok          = "200 OK"
	contentType = "text/plain; version=0.0.4; charset=utf-8"
)

// buffers are the buffers of responses: few connections are served at the same moment.
type buffers struct{ page, answer []byte }

var pool = sync.Pool{New: func() any { return new(buffers) }}

// serve answers one request after the other until the client, an error or Close ends the connection.
func (s *Server) serve(connection *net.TCPConn) {
	address := podOf(connection)
	requests := &reader{from: connection, buffer: make([]byte, usualHead)}
	for {
		head, err := requests.next()
		if err != nil || !s.answer(connection, address, statusOf(head)) || isLast(head) {
			return
		}
	}
}

// answer returns false if the connection has to end.
func (s *Server) answer(connection *net.TCPConn, address netip.Addr, status string) bool {
	b, _ := pool.Get().(*buffers)
	defer pool.Put(b)
	b.page = b.page[:0]
	if status == ok {
		var isFound bool
		if b.page, isFound = s.config.Append(b.page, address); !isFound {
			return false
		}
	}
	b.answer = appendAnswer(b.answer[:0], status, b.page)
	if _, err := connection.Write(b.answer); err != nil {
		return false
	}
	if status == ok && s.config.Answered != nil {
		s.config.Answered(address)
	}
	return true
}

// reader cuts what a client sends into requests.
type reader struct {
	from   io.Reader
	buffer []byte
	filled int
	last   int // length of the head that next returned last
}

var errTooLong = errors.New("the head of the request is too long")

// next is the head of the next request; it is valid until the next call.
func (r *reader) next() ([]byte, error) {
	r.filled = copy(r.buffer, r.buffer[r.last:r.filled])
	r.last = 0
	for {
		if r.last = headLength(r.buffer[:r.filled]); r.last > 0 {
			return r.buffer[:r.last], nil
		}
		if r.filled == longestHead {
			return nil, errTooLong
		}
		if r.filled == len(r.buffer) {
			r.buffer = append(r.buffer, make([]byte, len(r.buffer))...)
		}
		n, err := r.from.Read(r.buffer[r.filled:])
		if r.filled += n; err != nil {
			return nil, err
		}
	}
}

// headLength is the length of the head of a request with the empty line after it; 0 while that is missing. Requests for
// metrics have no body.
func headLength(text []byte) int {
	const end = "\r\n\r\n"
	if at := bytes.Index(text, []byte(end)); at >= 0 {
		return at + len(end)
	}
	return 0
}

// statusOf judges the first line of a request: GET /metrics HTTP/1.1.
func statusOf(head []byte) string {
	line, _, _ := bytes.Cut(head, []byte("\r\n"))
	method, rest, _ := bytes.Cut(line, []byte(" "))
	target, _, _ := bytes.Cut(rest, []byte(" "))
	asked, _, _ := bytes.Cut(target, []byte("?"))
	switch {
	case string(method) != "GET":
		return "405 Method Not Allowed"
	case string(asked) != path:
		return "404 Not Found"
	default:
		return ok
	}
}

// isLast reports whether the client requests the end of the connection.
func isLast(head []byte) bool {
	line, headers, _ := bytes.Cut(head, []byte("\r\n"))
	if !bytes.HasSuffix(line, []byte("HTTP/1.1")) {
		return true
	}
	for header := range bytes.Lines(headers) {
		name, value, _ := bytes.Cut(header, []byte(":"))
		if bytes.EqualFold(name, []byte("Connection")) {
			return bytes.EqualFold(bytes.TrimSpace(value), []byte("close"))
		}
	}
	return false
}

func appendAnswer(answer []byte, status string, page []byte) []byte {
	answer = append(answer, "HTTP/1.1 "...)
	answer = append(answer, status...)
	answer = append(answer, "\r\nContent-Type: "+contentType+"\r\nContent-Length: "...)
	answer = strconv.AppendInt(answer, int64(len(page)), 10)
	answer = append(answer, "\r\n\r\n"...)
	return append(answer, page...)
}
