package promquery

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// resultOf requests a result from a server that listens on this machine under the name of the URL.
func resultOf(t *testing.T, listening string, p *sources.Prometheus, timeout time.Duration) *result {
	t.Helper()
	r, err := requestOf("team-a", p)
	if err != nil {
		t.Fatal(err)
	}
	v := newServer(&Config{Resolve: func(context.Context, string, string, uint16) (func(context.Context) (net.Conn, error), error) {
		return func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "tcp", listening) }, nil
	}}, &r)
	defer v.close()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	return v.query(ctx, &r, timeout)
}

// raw is a server that answers each connection with the text, and then closes it.
func raw(t *testing.T, text string) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			connection, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = connection.Read(make([]byte, 4096))
			_, _ = io.WriteString(connection, text)
			_ = connection.Close()
		}
	}()
	return l.Addr().String()
}

// TestHostileAnswers: each is an error within the timeout, which names the server and quotes nothing of its response.
func TestHostileAnswers(t *testing.T) {
	var followed atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
	defer elsewhere.Close()
	bomb := &bytes.Buffer{}
	compressor := gzip.NewWriter(bomb)
	_, _ = compressor.Write(bytes.Repeat([]byte{' '}, 64<<20))
	_ = compressor.Close()
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/hush", http.StatusTemporaryRedirect)
		}, "HTTP status 307 (redirects are not followed)"},
		"error": {func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "hush", http.StatusInternalServerError)
		}, "HTTP status 500"},
		"error of the query": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"status":"error","errorType":"bad_data","error":"hush"}`)
		}, "HTTP status 400 bad_data"},
		"another type of error": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"status":"error","errorType":"hush","error":"hush"}`)
		}, "HTTP status 400"},
		"gzip bomb": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(bomb.Bytes())
		}, "compressed"},
		"endless body": {func(w http.ResponseWriter, _ *http.Request) {
			for _, err := w.Write(bytes.Repeat([]byte("hush"), 1024)); err == nil; {
				_, err = w.Write(bytes.Repeat([]byte("hush"), 1024))
			}
		}, "more than 1048576 bytes"},
		"slow body": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(10 * time.Millisecond):
				}
			}
		}, "no answer within 1s"},
		"huge header": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Hush", strings.Repeat("hush", 1<<18))
		}, "HTTP"},
		"panic": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "closed the connection"},
	} {
		server := httptest.NewServer(c.handler)
		began := time.Now()
		r := resultOf(t, server.Listener.Addr().String(), spec("prometheus:9090", "up"), time.Second)
		checkError(t, name, r, c.want)
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s took %s", name, took)
		}
		server.CloseClientConnections()
		server.Close()
	}
	if followed.Load() > 0 {
		t.Error("a redirect was followed")
	}
	for name, text := range map[string]string{
		"SSH":             "SSH-2.0-hush\r\n",
		"header":          "HTTP/1.1 200 OK\r\nhush hush: hush\r\n\r\n",
		"status":          "HTTP/1.1 hush OK\r\n\r\n",
		"chunks":          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhush\r\n",
		"transfer coding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: hush\r\n\r\n",
		"length":          "HTTP/1.1 200 OK\r\nContent-Length: hush\r\n\r\n",
		"short":           "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhush",
		"nothing":         "",
		"informational":   strings.Repeat("HTTP/1.1 103 hush\r\nhush: hush\r\n\r\n", 10_000),
	} {
		checkError(t, name, resultOf(t, raw(t, text), spec("prometheus:9090", "up"), time.Second), "")
	}
}

// checkError expects the text and the server's name in the error, and nothing that the server sent.
func checkError(t *testing.T, name string, r *result, want string) {
	t.Helper()
	switch {
	case r.err == nil:
		t.Errorf("%s: %+v", name, r)
	case !strings.Contains(r.err.Error(), want), !strings.Contains(r.err.Error(), "prometheus:9090"),
		strings.Contains(strings.ToLower(r.err.Error()), "hush"):
		t.Errorf("%s: %v", name, r.err)
	}
}

// TestCertificates: errors name the setting to change.
func TestCertificates(t *testing.T) {
	server := httptest.NewUnstartedServer(answerWith("1"))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = nil
	server.StartTLS()
	defer server.Close()
	demanding := httptest.NewUnstartedServer(answerWith("1"))
	demanding.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
	demanding.StartTLS()
	defer demanding.Close()
	plain := httptest.NewServer(answerWith("1"))
	defer plain.Close()
	authority := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	for name, c := range map[string]struct {
		server *httptest.Server
		tls    sources.TLS
		want   string
	}{
		"trusted":        {server: server, tls: sources.TLS{CABundle: authority, ServerName: "example.com"}},
		"not checked":    {server: server, tls: sources.TLS{InsecureSkipVerify: true}},
		"unknown":        {server, sources.TLS{ServerName: "example.com"}, "not signed by a trusted authority"},
		"another's name": {server, sources.TLS{CABundle: authority}, "not for prometheus"},
		"client certificate": {demanding, sources.TLS{CABundle: authority, ServerName: "example.com"},
			"ended the TLS handshake"},
		"HTTP": {plain, sources.TLS{}, "does not speak TLS"},
	} {
		p := spec("prometheus:9090", "up")
		p.Address, p.TLS = "https://prometheus:9090", c.tls
		r := resultOf(t, c.server.Listener.Addr().String(), p, 5*time.Second)
		if c.want != "" {
			checkError(t, name, r, c.want)
		} else if r.err != nil {
			t.Errorf("%s: %v", name, r.err)
		}
	}
	checkError(t, "HTTPS", resultOf(t, server.Listener.Addr().String(), spec("prometheus:9090", "up"), time.Second), "status 400")
}

// TestDialErrors are shown as they are.
func TestDialErrors(t *testing.T) {
	n := newNetwork(t)
	r, err := requestOf("team-a", spec("prometheus:9090", "up"))
	if err != nil {
		t.Fatal(err)
	}
	v := newServer(&Config{Resolve: n.resolve}, &r)
	got := v.query(t.Context(), &r, time.Second)
	if want := "serverAddress http://prometheus:9090: refused: prometheus:9090"; fmt.Sprint(got.err) != want {
		t.Errorf("%v, want %s", got.err, want)
	}
}
