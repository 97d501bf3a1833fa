package fetch

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// marker is part of every response, and must be in no error.
const marker = "qZ9x"

// script is a connection whose peer sends this and no more.
type script struct {
	net.Conn
	from *bytes.Reader
}

func (s *script) Read(p []byte) (int, error)  { return s.from.Read(p) }
func (s *script) Write(p []byte) (int, error) { return len(p), nil }
func (s *script) Close() error                { return nil }
func (s *script) SetDeadline(time.Time) error { return nil }

// FuzzGet: for any response, a request ends, within its bounds, and its error quotes nothing of it. A response that was
// accepted once is accepted again, with the same body.
func FuzzGet(f *testing.F) {
	head := "HTTP/1.1 200 OK\r\n"
	for _, seed := range []string{
		"", marker, head, head + "\r\n" + marker, head + "Content-Length: 4\r\n\r\n" + marker,
		head + "Content-Length: " + marker + "\r\n\r\n", head + marker + "\r\n\r\n", head + marker + ": x\r\n\r\nabc",
		head + "Transfer-Encoding: chunked\r\n\r\n4\r\n" + marker + "\r\n0\r\n" + marker + ": x\r\n\r\n",
		head + "Transfer-Encoding: chunked\r\n\r\n" + marker + "\r\n", head + "Transfer-Encoding: " + marker + "\r\n\r\n",
		head + "Content-Encoding: " + marker + "\r\n\r\n", "HTTP/1.1 404 " + marker + "\r\n\r\n", "HTTP/1.0 200 OK\n\nabc",
		"HTTP/1.1 999 " + marker + "\r\n\r\n", head + "Trailer: " + marker + "\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		strings.Repeat(head+"Content-Length: 4\r\n\r\n"+marker, 2), head + "Connection: close\r\nContent-Length: 1\r\n\r\nx",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		const most = 1 << 10
		c := New(Config{Timeout: time.Minute, MaxBytes: most, MaxLargeBytes: 1 << 20, MaxOpen: 1})
		var bodies [2]string
		var errs [2]error
		for i := range bodies {
			var connection Connection
			r := Request{Path: "/", Host: "pod", Dial: func(context.Context) (net.Conn, error) {
				return &script{from: bytes.NewReader(sent)}, nil
			}}
			response, err := c.Get(t.Context(), &connection, &r)
			bodies[i], errs[i] = string(response.Body), err
			if err == nil && len(response.Body) > most {
				t.Errorf("a body of %d bytes", len(response.Body))
			}
			if err != nil && strings.Contains(err.Error(), marker) {
				t.Error(err)
			}
			c.Close(&connection)
			if c.Open() != 0 || c.large.total != 0 || c.deadlines.first != nil {
				t.Error("something is left")
			}
		}
		if (errs[0] == nil) != (errs[1] == nil) || errs[0] == nil && bodies[0] != bodies[1] {
			t.Errorf("%q, %v, then %q, %v", bodies[0], errs[0], bodies[1], errs[1])
		}
	})
}

// FuzzHead: net/http parses a plain head as this package does, and its body too.
func FuzzHead(f *testing.F) {
	begin := statusOK + "OK\r\n"
	for _, seed := range []string{
		begin + "Content-Length: 3\r\n\r\nabc", begin + "content-length:3\r\nContent-Type: text/plain \r\n\r\nabcd",
		begin + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", begin + "Content-Length: 3\r\n\r\nab",
		begin + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		begin + "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\nx",
		begin + "Transfer-Encoding: Chunked\r\nContent-Length: 3\r\n\r\nabc", begin + "Content-Length: +3\r\n\r\nabc",
		begin + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", begin + "A: b\r\n c\r\nContent-Length: 0\r\n\r\n",
		begin + "Connection: close\r\nContent-Length: 1\r\n\r\nx", begin + "Connection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx",
		begin + "Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", begin + "Content-Type: a\r\nContent-Type: b\r\nContent-Length: 0\r\n\r\n",
		begin + "Content-Length : 1\r\n\r\nx", begin + ": 1\r\nContent-Length: 1\r\n\r\nx", begin + "Content-Length: 1\n\r\nx",
		statusOK + "\r\nTrailer: A\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		p, isPlain := parsePlain(sent)
		if !isPlain {
			return
		}
		r := newReader()
		r.begin(&script{from: bytes.NewReader(sent)})
		own, err := r.head()
		if err != nil {
			t.Fatalf("%q: %v", sent, err)
		}
		rest := bufio.NewReaderSize(bytes.NewReader(sent), readBytes)
		response, err := http.ReadResponse(rest, get)
		if err != nil {
			t.Fatalf("%q is plain, %v", sent, err)
		}
		defer func() { _ = response.Body.Close() }()
		want := head{
			status: response.StatusCode, contentType: response.Header.Get("Content-Type"),
			encoding: response.Header.Get("Content-Encoding"), length: response.ContentLength, isLast: response.Close,
			body: own.body,
		}
		if own != want || p.isChunked != (len(response.TransferEncoding) == 1) {
			t.Fatalf("%q: %+v, net/http: %+v", sent, own, response)
		}
		isWhole := compareBodies(t, &p, own.body, response.Body)
		if left := r.buffered.Buffered(); isWhole && left != rest.Buffered() {
			t.Errorf("%d bytes are left, net/http: %d", left, rest.Buffered())
		}
		if t.Failed() {
			t.Errorf("%q", sent)
		}
	})
}

// compareBodies compares the bodies. An invalid trailer is an error of net/http alone: this package skips trailers. It
// returns whether both read a whole body.
func compareBodies(t *testing.T, p *plainHead, own, other io.Reader) (isWhole bool) {
	t.Helper()
	body, err := io.ReadAll(own)
	want, wantErr := io.ReadAll(other)
	isTrailer := p.isChunked && err == nil
	if (err == nil) != (wantErr == nil) && !isTrailer || string(body) != string(want) {
		t.Errorf("%q, %v, net/http: %q, %v", body, err, want, wantErr)
	}
	return err == nil && wantErr == nil
}
