package fetch

import (
	"bufio"
	"net"
)

// isValid reports whether no part of the request contains the end of a line, or of the path.
func (r *Request) isValid() bool {
	return len(r.Path) > 0 && r.Path[0] == '/' && isVisible(r.Path, '!') && isVisible(r.Authorization, ' ') &&
		isVisible(r.Host, '!')
}

func isVisible(text string, lowest byte) bool {
	for i := range len(text) {
		if text[i] < lowest || text[i] > '~' {
			return false
		}
	}
	return true
}

func (r *Request) append(dst []byte) []byte {
	dst = append(dst, "GET "...)
	dst = append(dst, r.Path...)
	dst = append(dst, " HTTP/1.1\r\nHost: "...)
	dst = append(dst, r.Host...)
	dst = append(dst, "\r\nUser-Agent: plimsoll\r\nAccept: "...)
	dst = append(dst, r.Accept...)
	// A server may compress unless a header forbids it.
	dst = append(dst, "\r\nAccept-Encoding: identity\r\n"...)
	if r.Authorization != "" {
		dst = append(dst, "Authorization: "...)
		dst = append(dst, r.Authorization...)
		dst = append(dst, "\r\n"...)
	}
	return append(dst, "\r\n"...)
}

// reader is the read side of a connection in use.
type reader struct {
	conn     net.Conn
	buffered *bufio.Reader
	// limit is the number of bytes that may still be read.
	limit int64
	// reads counts reads, and bytes the bytes.
	reads, bytes int
	// failed is the error of the last Read: the functions of net/http sometimes return another one.
	failed  error
	request []byte
	flight  flight
	// fixed is the body if it has a length; contentType caches that of the last response, which most have in common.
	fixed       fixed
	contentType string
}

func newReader() *reader {
	r := &reader{}
	r.buffered = bufio.NewReaderSize(r, readBytes)
	return r
}

func (r *reader) begin(conn net.Conn) {
	r.conn, r.limit, r.failed = conn, maxHeadBytes, nil
	r.reads, r.bytes = 0, 0
	r.buffered.Reset(r)
}

// end releases the connection, and of the credentials.
func (r *reader) end() {
	r.conn = nil
	r.buffered.Reset(r)
	clear(r.request[:cap(r.request)])
}

// Read implements io.Reader, up to the limit.
func (r *reader) Read(p []byte) (int, error) {
	if r.reads++; r.reads > maxReads {
		r.failed = ErrPieces
		return 0, ErrPieces
	}
	if r.limit <= 0 {
		r.failed = ErrTooLarge
		return 0, ErrTooLarge
	}
	if int64(len(p)) > r.limit {
		p = p[:r.limit]
	}
	n, err := r.conn.Read(p)
	r.limit -= int64(n)
	r.bytes += n
	r.failed = err
	return n, err
}
