package ui

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestFlags: what cannot work is refused before anything is served.
func TestFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--port=-1":         "--port",
		"--port=65536":      "--port",
		"--sync-period=-1s": "--sync-period",
		"hpa/web":           "unknown command",
	} {
		cmd := Command()
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs(append(strings.Fields(args), "--no-browser", "--server=http://127.0.0.1:1"))
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}

// printed is what a command prints while it runs.
type printed struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

var addressPrinted = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\?token=\S+`)

// TestServes: the printed address has the page, also where no cluster answers, and Ctrl-C ends the command without an
// error.
func TestServes(t *testing.T) {
	api := httptest.NewServer(http.NotFoundHandler())
	defer api.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd, out := Command(), &printed{}
	cmd.SetOut(out)
	cmd.SetArgs([]string{"--no-browser", "--server=" + api.URL})
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	address := ""
	deadline, tick := time.After(30*time.Second), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for address == "" {
		select {
		case <-tick.C:
			address = addressPrinted.FindString(out.String())
		case err := <-done:
			t.Fatalf("it ended: %v", err)
		case <-deadline:
			t.Fatalf("no address in %q", out.String())
		}
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Jar: jar}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(page), "Plimsoll") {
		t.Errorf("%s, %v: %.200q", response.Status, err, page)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
}

// TestBrowserInTheForeground: a browser that lasts until it is closed gets the page, at an address of which the printed
// one has nothing: other users of the machine see it in the list of processes.
func TestBrowserInTheForeground(t *testing.T) {
	dir := t.TempDir()
	opened := filepath.Join(dir, "opened")
	script := "#!/bin/sh\nprintf %s \"$1\" > " + opened + ".part\nmv " + opened + ".part " + opened +
		"\nwhile [ -e " + opened + " ]; do sleep 0.1; done\n"
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	api := httptest.NewServer(http.NotFoundHandler())
	defer api.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd, out := Command(), &printed{}
	cmd.SetOut(out)
	cmd.SetArgs([]string{"--server=" + api.URL})
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()
	address := ""
	for tick := time.NewTicker(10 * time.Millisecond); address == ""; {
		select {
		case <-tick.C:
			text, err := os.ReadFile(opened)
			if err == nil {
				address = string(text)
			}
		case err := <-done:
			t.Fatalf("it ended: %v", err)
		}
	}
	if token := address[strings.LastIndex(address, "=")+1:]; token == "" || strings.Contains(out.String(), token) {
		t.Errorf("the browser is started with the printed address: %s", out.String())
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Jar: jar}).Do(request)
	if err != nil {
		t.Fatalf("the browser waits in vain: %v", err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("the browser gets %s", response.Status)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("after Ctrl-C: %v", err)
	}
}
