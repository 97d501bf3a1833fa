package podendpoint

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"
)

const okHead = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"

// endless writes a text again and again until the other end is gone.
func endless(w io.Writer, text string) {
	block := []byte(strings.Repeat(text, 1+(32<<10)/len(text)))
	for {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

func raw(text string) func(net.Conn, *http.Request) {
	return func(w net.Conn, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// thousand writes a thousand series with this number.
func thousand(n int) string {
	var all strings.Builder
	for i := range 1_000 {
		all.WriteString("http_requests_total{n=\"" + strconv.Itoa(n) + "\",i=\"" + strconv.Itoa(i) + "\"} 1\n")
	}
	return all.String()
}

// hostile has pages of malicious pods, and the errors for them.
var hostile = map[string]struct {
	page func(w net.Conn, r *http.Request)
	want string
}{
	"endless body": {func(w net.Conn, _ *http.Request) {
		_, _ = io.WriteString(w, okHead+"\r\n")
		endless(w, "x 1\n")
	}, "too large"},
	"endless chunks": {func(w net.Conn, _ *http.Request) {
		_, _ = io.WriteString(w, okHead+"Transfer-Encoding: chunked\r\n\r\n")
		endless(w, "4\r\nx 1\n\r\n")
	}, "too many small pieces"},
	"endless small chunks": {func(w net.Conn, _ *http.Request) {
		_, _ = io.WriteString(w, okHead+"Transfer-Encoding: chunked\r\n\r\n")
		endless(w, "1;"+strings.Repeat("e", 1000)+"\r\nx\r\n")
	}, "reading the page"},
	"endless packets": {func(w net.Conn, _ *http.Request) {
		_, _ = io.WriteString(w, okHead+"\r\n")
		for {
			if _, err := w.Write([]byte("\n")); err != nil {
				return
			}
		}
	}, "too many small pieces"},
	"endless head": {func(w net.Conn, _ *http.Request) {
		_, _ = io.WriteString(w, okHead)
		endless(w, "X-Header: "+strings.Repeat("x", 100)+"\r\n")
	}, "too large"},
	"endless status": {func(w net.Conn, _ *http.Request) { endless(w, "HTTP/1.1 200 ") }, "too large"},
	"one byte a second": {func(w net.Conn, _ *http.Request) {
		for _, c := range okHead + "Content-Length: 100\r\n\r\n" {
			<-time.After(time.Second)
			if _, err := w.Write([]byte{byte(c)}); err != nil {
				return
			}
		}
	}, "no whole response within 1s"},
	"silence": {func(w net.Conn, _ *http.Request) { _, _ = io.Copy(io.Discard, w) }, "no whole response within 1s"},
	"one line without an end": {func(w net.Conn, _ *http.Request) {
		_, _ = io.WriteString(w, okHead+"Content-Length: 1073741824\r\n\r\nhttp_requests_total{code=\"")
		endless(w, "x")
	}, "too large"},
	"a long line": {text(func() string {
		return "http_requests_total{code=\"" + strings.Repeat("x", 1<<20) + "\"} 1\n"
	}), "too large"},
	"a million series": {func(w net.Conn, _ *http.Request) {
		_, _ = io.WriteString(w, okHead+"\r\n")
		for i := range 1_000 {
			if _, err := io.WriteString(w, thousand(i)); err != nil {
				return
			}
		}
	}, "too large"},
	"many series": {text(func() string {
		var all strings.Builder
		for n := range 20 {
			all.WriteString(thousand(n))
		}
		return all.String()
	}), "too large"},
	"not a number": {text(func() string { return "http_requests_total NaN\n" }), "NaN, infinite or negative"},
	"infinity":     {text(func() string { return "http_requests_total +Inf\n" }), "NaN, infinite or negative"},
	"negative":     {text(func() string { return "http_requests_total -1\n" }), "NaN, infinite or negative"},
	"nothing":      {text(func() string { return "" }), "no series of the metric"},
	"not a page":   {raw(okHead + "Content-Length: 5\r\n\r\n<htm>"), "its page"},
	"another type": {raw("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nx\n"), "none of the requested formats"},
	"half a page":  {raw(okHead + "Content-Length: 30\r\n\r\nhttp_requests_total 12"), "no whole response"},
	"half a page whose end nothing marks": {func(w net.Conn, _ *http.Request) {
		_, _ = io.WriteString(w, okHead+"\r\nhttp_requests_total 12")
		_ = w.Close()
	}, "the page is not whole"},
	"half a page and the end": {func(w net.Conn, _ *http.Request) {
		_, _ = io.WriteString(w, okHead+"Content-Length: 30\r\n\r\nhttp_requests_total 12")
		_ = w.Close()
	}, "ended early"},
	"redirect": {raw("HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n"),
		"302 Found; redirects are not followed"},
	"error":  {raw("HTTP/1.1 500 SECRET\r\nContent-Length: 0\r\n\r\n"), "500 Internal Server Error"},
	"switch": {raw("HTTP/1.1 101 Switching Protocols\r\n\r\n"), "101"},
	"early":  {raw("HTTP/1.1 103 Early Hints\r\n\r\n"), "no whole response within 1s"},
	"gzip bomb": {func(w net.Conn, _ *http.Request) {
		_, _ = io.WriteString(w, okHead+"Content-Encoding: gzip\r\n\r\n")
		z := gzip.NewWriter(w)
		endless(z, strings.Repeat("\x00", 1<<10))
	}, "compressed"},
	"bad chunks":         {raw(okHead + "Transfer-Encoding: chunked\r\n\r\nSECRET\r\n"), "reading the page"},
	"negative length":    {raw(okHead + "Content-Length: -1\r\n\r\n"), "damaged"},
	"two lengths":        {raw(okHead + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx\n"), "damaged"},
	"length and chunks":  {raw(okHead + "Content-Length: 9\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"), "damaged"},
	"not HTTP":           {raw("SSH-2.0-SECRET\r\n"), "not HTTP/1.1"},
	"damaged head":       {raw(okHead + "SECRET\r\n\r\n"), "damaged"},
	"closes at once":     {func(w net.Conn, _ *http.Request) { _ = w.Close() }, "without a response"},
	"more than it said":  {raw(okHead + "Content-Length: 7\r\n\r\nother 1\nHTTP/1.1 200 OK\r\n"), "its page"},
	"a page of one byte": {raw(okHead + "Content-Length: 1\r\n\r\n\n"), "no series of the metric"},
}

// A hostile page costs its object the metric, and other objects nothing: the other object's pod is scraped every
// second, and the error has no text from the page.
func TestHostilePods(t *testing.T) {
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := begin(t, Config{Timeout: time.Second})
				f.page["pod-0"], f.page["pod-1"], f.page["pod-2"] = c.page, c.page, f.requests(10)
				bad, good := rateQuery(pods(0, 2)), rateQuery(pods(2, 1))
				good.Key.Name = "neighbour"
				_, _ = f.run(good, 0)
				_, _ = f.run(bad, 6*time.Second)
				if got, err := f.run(good, 0); got != "10000" || err != nil {
					t.Errorf("the neighbour: %s, %v", got, err)
				}
				var err error
				for range 15 {
					_, err = f.run(bad, time.Second)
					_, _ = f.run(good, time.Second)
				}
				if err == nil || errors.Is(err, ErrStarting) || !strings.Contains(err.Error(), c.want) ||
					!strings.Contains(err.Error(), "none of 2 pods") || strings.Contains(err.Error(), "SECRET") {
					t.Errorf("got %v, want %q", err, c.want)
				}
				if got, err := f.run(good, 0); got != "10000" || err != nil {
					t.Errorf("the neighbour in the end: %s, %v", got, err)
				}
				times := f.times("pod-2")
				for i := 1; i < len(times); i++ {
					if gap := times[i].Sub(times[i-1]); gap > 1600*time.Millisecond {
						t.Errorf("the neighbour waited %s", gap)
					}
				}
				if n := f.connections("pod-2"); n != 1 {
					t.Errorf("the neighbour was dialed %d times", n)
				}
			})
		})
	}
}

// TestPanic: a panic while reading is an error of that pod alone.
func TestPanic(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		f.page["pod-0"], f.page["pod-1"] = f.requests(10), f.requests(20)
		dial := f.source.config.DialPod

		f.source.config.DialPod = func(ctx context.Context, a netip.AddrPort, isHostNetwork bool) (net.Conn, error) {
			if nameAt(a.Addr()) == "pod-0" {
				panic("a defect")
			}
			return dial(ctx, a, isHostNetwork)
		}
		q := rateQuery(pods(0, 2))
		if got, err := f.run(q, 5*time.Second); got != "- 20000" || err != nil {
			t.Errorf("%s, %v", got, err)
		}
	})
}

// Pages with more series than are remembered cost their own object its values, and no others.
func TestManySeriesOfAnotherObject(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := begin(t, Config{})
		f.page["pod-0"] = text(func() string { return thousand(0) })
		f.page["pod-1"] = f.page["pod-0"]
		greedy, good := rateQuery(pods(0, 1)), rateQuery(pods(1, 1))
		good.Key.Name = "neighbour"
		_, _ = f.run(greedy, 0)
		o := f.source.objects[greedy.Key]
		o.mu.Lock()
		o.series += maxSeries // as if it had many more pods
		o.mu.Unlock()
		f.source.budget.series.Add(maxSeries)
		for range 6 {
			_, _ = f.run(greedy, time.Second)
			_, _ = f.run(good, 0)
		}
		if _, err := f.run(greedy, 0); !errors.Is(err, errManySeries) {
			t.Errorf("too many: %v", err)
		}
		if got, err := f.run(good, 0); got != "0" || err != nil {
			t.Errorf("the neighbour: %s, %v", got, err)
		}
	})
}

// Many pods that fall silent at once, more than scrapes may be under way, delay others only for a short time: pods of
// another object have values all the time, and are scraped every second once the silent ones are detected.
func TestManySilentPods(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const silent = 2000
		f := begin(t, Config{})
		for i := range silent {
			f.page[fmt.Sprintf("pod-%d", i)] = f.requests(10)
		}
		neighbour := fmt.Sprintf("pod-%d", silent)
		f.page[neighbour] = f.requests(10)
		bad, good := rateQuery(pods(0, silent)), rateQuery(pods(silent, 1))
		good.Key.Name = "neighbour"
		_, _ = f.run(good, 0)
		if got, err := f.run(bad, 6*time.Second); strings.Contains(got, "-") || err != nil {
			t.Fatal(err)
		}
		f.change(func() {
			for i := range silent {
				f.page[fmt.Sprintf("pod-%d", i)] = hostile["silence"].page
			}
		})
		fell := time.Now()
		for range 30 {
			_, _ = f.run(bad, time.Second)
			if got, err := f.run(good, 0); got != "10000" || err != nil {
				t.Errorf("%s after they fell silent: %s, %v", time.Since(fell), got, err)
			}
		}
		if _, err := f.run(bad, 0); err == nil || !strings.Contains(err.Error(), "none of 2000 pods") {
			t.Error(err)
		}
		longest := time.Duration(0)
		times := f.times(neighbour)
		for i, at := range times {
			if i > 0 && at.After(fell.Add(8*time.Second)) {
				longest = max(longest, at.Sub(times[i-1]))
			}
		}
		if longest > 1100*time.Millisecond {
			t.Errorf("the neighbour waited %s", longest)
		}
	})
}
