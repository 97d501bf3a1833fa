package fetch

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func client() *Client {
	return New(Config{Timeout: time.Second, MaxBytes: 4 << 20, MaxLargeBytes: 6 << 20, MaxOpen: 2})
}

// serve answers each request on each connection.
func serve(answer func(w net.Conn)) func(context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer func() { _ = there.Close() }()
			from := bufio.NewReader(there)
			for {
				if _, err := http.ReadRequest(from); err != nil {
					return
				}
				answer(there)
			}
		}()
		return here, nil
	}
}

func ok(body string) func(net.Conn) {
	return func(w net.Conn) {
		_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nTrailer: x\r\n\r\n"+body)
	}
}

// No object can write a request of its own.
func TestRequestsAreOneLine(t *testing.T) {
	for _, r := range []Request{
		{Path: ""}, {Path: "metrics"}, {Path: "/ HTTP/1.1\r\nHost: other\r\n\r\n"}, {Path: "/a b"}, {Path: "/\x00"}, {Path: "/é"},
		{Path: "/", Authorization: "Bearer a\r\nHost: other"}, {Path: "/", Host: "a b"},
	} {
		r.Dial = func(context.Context) (net.Conn, error) { return nil, errors.New("dialed") }
		var connection Connection
		if _, err := client().Get(t.Context(), &connection, &r); !errors.Is(err, errRequest) {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

// Bytes after a response are never taken for the next one.
func TestRestsAreNotResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client()
		var connection Connection
		r := Request{Path: "/", Host: "pod", Buffer: func() []byte { return []byte("x") },
			Dial: serve(ok("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother"))}
		for range 3 {
			response, err := c.Get(t.Context(), &connection, &r)
			if err != nil || string(response.Body) != "xabc" || !response.IsNew || c.Open() != 0 {
				t.Errorf("%q, new %t, %d open, %v", response.Body, response.IsNew, c.Open(), err)
			}
		}
		r.Dial, r.Buffer = serve(ok("")), nil
		for i := range 3 {
			response, err := c.Get(t.Context(), &connection, &r)
			if err != nil || string(response.Body) != "abc" || response.IsNew != (i == 0) {
				t.Errorf("%q, new %t, %v", response.Body, response.IsNew, err)
			}
		}
		c.Close(&connection)
	})
}

// With many large pages at a time only some are read; small ones always are.
func TestLargePages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client()
		get := func(bytes int) error {
			var connection Connection
			defer c.Close(&connection)
			r := Request{Path: "/", Host: "pod", Dial: serve(func(w net.Conn) {
				_, _ = io.WriteString(w, "HTTP/1.1 200 OK\r\n\r\n"+strings.Repeat("x", bytes))
				<-time.After(100 * time.Millisecond)
				_ = w.Close()
			})}
			_, err := c.Get(t.Context(), &connection, &r)
			return err
		}
		failed := make(chan error)
		for range 5 {
			go func() { failed <- get(3 << 20) }()
		}
		synctest.Wait()
		if err := get(50 << 10); err != nil {
			t.Errorf("a small page: %v", err)
		}
		busy := 0
		for range 5 {
			if err := <-failed; errors.Is(err, ErrBusy) {
				busy++
			} else if err != nil {
				t.Error(err)
			}
		}
		if busy == 0 || busy == 5 {
			t.Errorf("%d of 5 large pages were refused", busy)
		}
		if left := c.large.total; left != 0 || len(c.large.groups) != 0 {
			t.Errorf("%d bytes are taken for nothing, of %v", left, c.large.groups)
		}
	})
}

// One group cannot take the large pages from the others: each has an equal part of half of them.
func TestLargePagesOfGroups(t *testing.T) {
	l := large{groups: map[string]int64{}}
	const most = 8 << 20
	greedy := make([]reservation, 9)
	refused := 0
	for i := range greedy {
		greedy[i] = reservation{from: &l, group: "greedy"}
		if !greedy[i].grow(1<<20, most) {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("%d of 9 MiB were refused although it was alone with 8 MiB", refused)
	}
	for _, group := range []string{"small", "other"} {
		one := reservation{from: &l, group: group}
		if !one.grow(1<<20, most) || !one.grow(1300<<10, most) {
			t.Errorf("%s: its part was refused", group)
		}
		if one.grow(2200<<10, most) {
			t.Errorf("%s: more than its part", group)
		}
		one.release()
	}
	for i := range greedy {
		greedy[i].release()
	}
	if l.total != 0 || len(l.groups) != 0 {
		t.Errorf("%d bytes are taken for nothing, of %v", l.total, l.groups)
	}
}

// Responses may be announced: the page follows.
func TestAnnouncedResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, before := range []string{"100 Continue\r\n", "103 Early Hints\r\nLink: </a>\r\n"} {
			c := client()
			var connection Connection
			r := Request{Path: "/", Host: "pod", Dial: serve(func(w net.Conn) {
				_, _ = io.WriteString(w, "HTTP/1.1 "+before+"\r\n")
				ok("")(w)
			})}
			for range 2 {
				if response, err := c.Get(t.Context(), &connection, &r); err != nil || string(response.Body) != "abc" {
					t.Errorf("after %q: %q, %v", before, response.Body, err)
				}
			}
			c.Close(&connection)
		}
		for _, status := range []string{"101 Switching Protocols", "103 Early Hints"} {
			var connection Connection
			var refused *StatusError
			r := Request{Path: "/", Host: "pod", Dial: serve(func(w net.Conn) {
				_, _ = io.WriteString(w, strings.Repeat("HTTP/1.1 "+status+"\r\n\r\n", 20))
			})}
			if _, err := client().Get(t.Context(), &connection, &r); !errors.As(err, &refused) {
				t.Errorf("%s again and again: %v", status, err)
			}
		}
	})
}

// Bytes that a pod sends between two requests are not taken for the next response.
func TestUnsolicitedResponses(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	sent := make(chan struct{}, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				for from := bufio.NewReader(conn); ; sent <- struct{}{} {
					if _, err := http.ReadRequest(from); err != nil {
						return
					}
					ok("")(conn)
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother")
				}
			}()
		}
	}()
	c := client()
	var connection Connection
	defer c.Close(&connection)
	r := Request{Path: "/", Host: "pod", Dial: func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", listener.Addr().String())
	}}
	for range 5 {
		response, err := c.Get(t.Context(), &connection, &r)
		if err != nil || string(response.Body) != "abc" {
			t.Errorf("%q, %v", response.Body, err)
		}
		<-sent // on a loopback they arrive before the next request
	}
}

// A scrape that is cancelled ends soon, and so does its connection.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client()
		why := errors.New("another goes first")
		ctx, cancel := context.WithCancelCause(t.Context())
		var connection Connection
		r := Request{Path: "/", Host: "pod", Dial: serve(func(w net.Conn) { _, _ = io.Copy(io.Discard, w) })}
		defer time.AfterFunc(100*time.Millisecond, func() { cancel(why) }).Stop()
		began := time.Now()
		_, err := c.Get(ctx, &connection, &r)
		if took := time.Since(began) - 100*time.Millisecond; !errors.Is(err, why) || took < 0 || took > cancelDelay ||
			c.Open() != 0 {
			t.Errorf("%v %s after it was cancelled, %d open", err, took, c.Open())
		}
	})
}

// More connections than may be open are closed after their requests.
func TestMaxOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client()
		connections := make([]Connection, 5)
		for range 2 {
			for i := range connections {
				r := Request{Path: "/", Host: "pod", Dial: serve(ok(""))}
				if _, err := c.Get(t.Context(), &connections[i], &r); err != nil {
					t.Error(err)
				}
			}
		}
		if open := c.Open(); open != 2 {
			t.Errorf("%d connections", open)
		}
		for i := range connections {
			c.Close(&connections[i])
		}
	})
}
