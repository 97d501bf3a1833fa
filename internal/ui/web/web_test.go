package web

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

// mostBytes is the largest size of all files that a browser loads.
const mostBytes = 300_000

func TestSize(t *testing.T) {
	total := 0
	for name, text := range files(t) {
		total += len(text)
		t.Logf("%6d bytes: %s", len(text), name)
	}
	t.Logf("%6d bytes together", total)
	if total >= mostBytes {
		t.Errorf("the page has %d bytes, not less than %d", total, mostBytes)
	}
}

// TestNothingFromElsewhere: no file names a host, and none turns text into markup or code.
func TestNothingFromElsewhere(t *testing.T) {
	address := regexp.MustCompile(`(https?:)?//[a-zA-Z0-9.-]+\.[a-z]+`)
	toMarkup := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc`)
	for name, text := range files(t) {
		if strings.Contains(name, "uPlot") {
			continue
		}
		text = strings.ReplaceAll(text, "http://www.w3.org/2000/svg", "")
		if found := address.FindString(text); found != "" {
			t.Errorf("%s names %s", name, found)
		}
		if found := toMarkup.FindString(text); found != "" {
			t.Errorf("%s has %s", name, found)
		}
	}
	// The Content-Security-Policy forbids both.
	if inline := regexp.MustCompile(`<style|style=|\son[a-z]+=|<script>`).FindString(files(t)["static/index.html"]); inline != "" {
		t.Errorf("index.html has %q within", inline)
	}
}

func files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := fs.WalkDir(static, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := static.ReadFile(name)
		all[name] = string(text)
		return err
	})
	if err != nil || len(all) < 5 {
		t.Fatalf("%d files: %v", len(all), err)
	}
	return all
}

// TestHandler: each file has the type that browsers require with nosniff; files outside of static are not served.
func TestHandler(t *testing.T) {
	for target, want := range map[string]int{
		"/": http.StatusOK, "/static/main.js": http.StatusOK, "/static/style.css": http.StatusOK, "/static/uPlot.LICENSE.txt": http.StatusOK,
		"/static": http.StatusNotFound, "/static/": http.StatusNotFound, "/static/../web.go": http.StatusNotFound,
		"/static/none.js": http.StatusNotFound, "/web.go": http.StatusNotFound, "//static/main.js": http.StatusNotFound,
	} {
		answer := httptest.NewRecorder()
		Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1"+target, nil))
		if answer.Code != want {
			t.Errorf("%s: status %d, not %d", target, answer.Code, want)
		}
		if name := path.Ext(target); want == http.StatusOK && name != "" && answer.Header().Get("Content-Type") != types[name] {
			t.Errorf("%s: type %q", target, answer.Header().Get("Content-Type"))
		}
	}
}
