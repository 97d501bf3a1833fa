package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// total is the memory of all sessions.
func (s *sessions) total() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := 0
	for _, memory := range s.held {
		total += len(memory)
	}
	return total
}

// TestMemoryFollowsClients: each connection takes memory once, a probe takes none, and all is given back.
func TestMemoryFollowsClients(t *testing.T) {
	const bytes = 32 * mebibyte
	s := newSessions(bytes)
	of := newServer(s)
	server := httptest.NewUnstartedServer(of.Handler)
	server.Config.ConnContext, server.Config.ConnState = of.ConnContext, of.ConnState
	server.Start()
	defer server.Close()
	before := anonymousBytes(t)

	first, second := &http.Client{Transport: &http.Transport{}}, &http.Client{Transport: &http.Transport{}}
	if get(t, first, server.URL+"/ready"); s.total() != 0 {
		t.Errorf("%d bytes are held for a probe", s.total())
	}
	for range 2 {
		if get(t, first, server.URL+"/"); s.total() != bytes {
			t.Errorf("%d bytes are held for one connection", s.total())
		}
	}
	if get(t, second, server.URL+"/"); s.total() != 2*bytes {
		t.Errorf("%d bytes are held for two connections", s.total())
	}
	if grown := anonymousBytes(t) - before; grown < 2*bytes {
		t.Errorf("the process has %d bytes more", grown)
	}
	held := anonymousBytes(t)
	first.CloseIdleConnections()
	second.CloseIdleConnections()
	for deadline := time.Now().Add(10 * time.Second); s.total() > 0; {
		if time.Now().After(deadline) {
			t.Fatalf("%d bytes are still held", s.total())
		}
		<-time.After(time.Millisecond)
	}
	if fallen := held - anonymousBytes(t); fallen < bytes {
		t.Errorf("the process has only %d bytes less", fallen)
	}
}

func get(t *testing.T, client *http.Client, url string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	// A connection whose answer is not read to its end is not used again.
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Error(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s: %s, %v", url, response.Status, err)
	}
}

// anonymousBytes is the memory of this process that is no file's.
func anonymousBytes(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "RssAnon:"); found {
			kibibytes, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			if err != nil {
				t.Fatal(err)
			}
			return kibibytes << 10
		}
	}
	t.Fatal("the kernel does not say")
	return 0
}

func TestArguments(t *testing.T) {
	for _, bad := range [][]string{nil, {":0"}, {":0", "many"}, {":0", "0"}, {":0", "1025"}, {":0", "1", "2"}} {
		if err := start(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}
