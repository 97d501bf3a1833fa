package sources

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// server is a Prometheus, and a pod with a page of metrics, on an address of this machine.
type server struct {
	address string
	port    int32
	// connections counts those that were opened.
	connections atomic.Int32

	// mu guards the following.
	mu             sync.Mutex
	authorizations map[string]bool
}

// listen serves on a free port of an address until the test ends. Without a handler it reports 35.
func listen(t *testing.T, address string, handler http.HandlerFunc) *server {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{address: address, port: int32(port), authorizations: map[string]bool{}}
	if handler == nil {
		handler = answer
	}
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.authorizations[r.Header.Get("Authorization")] = true
		s.mu.Unlock()
		handler(w, r)
	}))
	_ = web.Listener.Close()
	web.Listener = listener
	web.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		s.connections.Add(1)
		return ctx
	}
	web.Start()
	t.Cleanup(web.Close)
	return s
}

// answer is 35 to a query, and on a page of metrics.
func answer(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/metrics" {
		_, _ = fmt.Fprint(w, "# TYPE jobs gauge\njobs 35\n")
		return
	}
	_, _ = fmt.Fprintf(w, `{"status":"success","data":{"resultType":"scalar","result":[%d,"35"]}}`, time.Now().Unix())
}

// saw reports whether a request had this value of the Authorization header.
func (s *server) saw(authorization string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.authorizations[authorization]
}

// wantUntouched ends the test if a connection was opened.
func (s *server) wantUntouched(t *testing.T) {
	t.Helper()
	if n := s.connections.Load(); n > 0 {
		t.Errorf("%d connections to %s:%d, which nobody may connect to", n, s.address, s.port)
	}
}
