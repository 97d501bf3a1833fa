package process

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestProfilesAreForThePodItself: connections from elsewhere are refused, for every path of pprof.
func TestProfilesAreForThePodItself(t *testing.T) {
	handlers := Profiles()
	ask := func(path, from string) int {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		request.RemoteAddr = from
		// A header of the client does not count.
		request.Header.Set("X-Forwarded-For", "127.0.0.1")
		recorder := httptest.NewRecorder()
		handlers[path].ServeHTTP(recorder, request)
		return recorder.Code
	}
	for _, from := range []string{"10.0.0.7:4711", "[fd00::7]:4711", "127.0.0.1.example:80", ""} {
		for path := range handlers {
			if code := ask(path, from); code != http.StatusForbidden {
				t.Errorf("%s from %q: %d", path, from, code)
			}
		}
	}
	for _, from := range []string{"127.0.0.1:4711", "[::1]:4711"} {
		if code := ask("/debug/pprof/cmdline", from); code != http.StatusOK {
			t.Errorf("from %s: %d", from, code)
		}
	}
}
