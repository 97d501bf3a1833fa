package process

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// TestServerClock: the API server's clock is that of its last response.
func TestServerClock(t *testing.T) {
	ahead := 48 * time.Hour
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(ahead).UTC().Format(http.TimeFormat))
	}))
	defer server.Close()
	clock := &ServerClock{}
	client := &http.Client{Transport: clock.Wrap(http.DefaultTransport)}
	for _, ahead = range []time.Duration{48 * time.Hour, -time.Hour, 0} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if off := clock.Offset() - ahead; off > time.Minute || off < -time.Minute {
			t.Errorf("%s ahead: %s", ahead, clock.Offset())
		}
	}
}
