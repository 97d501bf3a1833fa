package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const page = "Active connections: 1 \nserver accepts handled requests\n 16 16 31 \nReading: 0 Writing: 1 Waiting: 0 \n"

func TestParse(t *testing.T) {
	if count, err := parse(strings.NewReader(page)); err != nil || count != 31 {
		t.Errorf("got %d, %v", count, err)
	}
	for _, bad := range []string{"", "server accepts handled requests\n", "server accepts handled requests\n 1 2\n",
		strings.Replace(page, "31", "many", 1)} {
		if count, err := parse(strings.NewReader(bad)); err == nil {
			t.Errorf("read %d in %q", count, bad)
		}
	}
}

func TestMetrics(t *testing.T) {
	answer := page
	nginx := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, err := w.Write([]byte(answer)); err != nil {
			t.Error(err)
		}
	}))
	defer nginx.Close()
	get := func() *httptest.ResponseRecorder {
		recorder := httptest.NewRecorder()
		metrics(nginx.URL)(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
		return recorder
	}
	if got := get(); got.Code != http.StatusOK || !strings.HasSuffix(got.Body.String(), "\nhttp_requests_total 31\n") {
		t.Errorf("got %d: %s", got.Code, got.Body)
	}
	answer = "nothing"
	if got := get(); got.Code != http.StatusBadGateway {
		t.Errorf("got %d: %s", got.Code, got.Body)
	}
}
