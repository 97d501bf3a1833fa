package webhook

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func guarded(t *testing.T, next http.HandlerFunc) *Guard {
	t.Helper()
	g, err := NewGuard(next, 5*time.Second, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// unread fails if it is read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, io.EOF
}

// TestRequestsWithAnotherPathAreCheap: the request is not read, and the handler does not run.
func TestRequestsWithAnotherPathAreCheap(t *testing.T) {
	answered := 0
	g := guarded(t, func(http.ResponseWriter, *http.Request) { answered++ })
	ask := func(method, path string, body io.Reader) int {
		recorder := httptest.NewRecorder()
		g.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), method, path, body))
		if isClosed := recorder.Header().Get("Connection") == "close"; isClosed != (recorder.Code == http.StatusNotFound) {
			t.Errorf("%s %s: %d, the connection ends: %t", method, path, recorder.Code, isClosed)
		}
		return recorder.Code
	}
	// Before the API server has the path, any path is accepted.
	if code := ask(http.MethodPost, "/", http.NoBody); code != http.StatusOK || answered != 1 {
		t.Errorf("before a path is required: %d, answered %d", code, answered)
	}
	g.Require("/secret")
	for _, path := range []string{"/", "/secre", "/secret/", "/secrets", "//secret", "/SECRET", "/?/secret",
		"/secret%00"} {
		if code := ask(http.MethodPost, path, unread{t}); code != http.StatusNotFound {
			t.Errorf("%s: %d", path, code)
		}
	}
	if code := ask(http.MethodGet, "/secret", unread{t}); code != http.StatusMethodNotAllowed || answered != 1 {
		t.Errorf("GET: %d, answered %d", code, answered)
	}
	if code := ask(http.MethodPost, "/secret?timeout=5s", http.NoBody); code != http.StatusOK || answered != 2 {
		t.Errorf("the API server: %d, answered %d", code, answered)
	}
	if got := testutil.ToFloat64(g.refused.WithLabelValues(refusedPath)); got != 8 {
		t.Errorf("counted %v", got)
	}
}

// TestNothingIsReadWithoutRoom: a request with too large a Content-Length is refused at once; one without room for as
// long as the API server waits is refused then; and a small request finds room beside large ones.
func TestNothingIsReadWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inside, refused atomic.Int64
		release := make(chan struct{})
		g := guarded(t, func(http.ResponseWriter, *http.Request) { inside.Add(1); <-release })
		ask := func(bytes int64) *httptest.ResponseRecorder {
			recorder := httptest.NewRecorder()
			request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", unread{t})
			request.ContentLength = bytes
			g.ServeHTTP(recorder, request)
			return recorder
		}
		if code := ask(MaxBodyBytes + 1).Code; code != http.StatusRequestEntityTooLarge {
			t.Errorf("too large: %d", code)
		}
		for range 20 {
			// Chunked: the length is unknown.
			go func() {
				if ask(-1).Code == http.StatusServiceUnavailable {
					refused.Add(1)
				}
			}()
		}
		synctest.Wait()
		if want := int64(heldBytes / MaxBodyBytes); inside.Load() != want {
			t.Errorf("%d of %d MiB at a time, want %d", inside.Load(), MaxBodyBytes>>20, want)
		}
		began := time.Now()
		<-time.After(6 * time.Second)
		synctest.Wait()
		if refused.Load() != 20-inside.Load() {
			t.Errorf("%d refused after %s, %d answered", refused.Load(), time.Since(began), inside.Load())
		}
		go ask(10 << 10)
		synctest.Wait()
		if want := int64(heldBytes/MaxBodyBytes + 1); inside.Load() != want {
			t.Errorf("a pod of 10 kB found no room beside them: %d", inside.Load())
		}
		close(release)
		synctest.Wait()
	})
}
