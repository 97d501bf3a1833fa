package server

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

const (
	secret  = "only for who has the token"
	hostile = `</script><img src=x onerror="alert(1)">` + "\u2028\x00"
)

// fixed is a Source with one object.
type fixed struct {
	overview view.Overview
	asked    *view.WhatIfRequest
	// began receives a value when a simulation begins, which lasts until ends is closed; if both are nil, it ends at once.
	began, ends chan struct{}
}

func (f *fixed) Overview(int64) *view.Overview { return &f.overview }

func (f *fixed) Object(_ context.Context, _, _, name string, last time.Duration) (*view.Object, error) {
	if name != "web" {
		return nil, ErrNotFound
	}
	return &view.Object{Manifest: secret, Unexplained: last.String()}, nil
}

func (f *fixed) WhatIf(_ context.Context, asked *view.WhatIfRequest) (*view.WhatIf, error) {
	if f.began != nil {
		f.began <- struct{}{}
		<-f.ends
	}
	if asked.Name != "web" {
		return nil, fmt.Errorf("%w: of no use", ErrInvalid)
	}
	f.asked = asked
	return &view.WhatIf{Patch: secret}, nil
}

// started returns a running server.
func started(t testing.TB, source Source) *Server {
	t.Helper()
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, secret) })
	s, err := New(0, source, page)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// browser returns a client with the cookie.
func browser(t testing.TB, s *Server) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar}
	first, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Address(), nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(first)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK || strings.Contains(response.Request.URL.String(), s.token) {
		t.Fatalf("%s at %s, want 200 at an address without the token", response.Status, response.Request.URL)
	}
	return client
}

func answerOf(t testing.TB, client *http.Client, request *http.Request) (status int, header http.Header, body string) {
	t.Helper()
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

// request returns a request to the server without the headers of a browser.
func request(t testing.TB, s *Server, method, path, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.host()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

var paths = []string{"/", "/static/main.js", "/api/overview", "/api/object?kind=HorizontalPodAutoscaler&namespace=shop&name=web"}

// TestTokenIsNeeded: without the token, or with another one, the response has only an error.
func TestTokenIsNeeded(t *testing.T) {
	s := started(t, &fixed{})
	other := started(t, &fixed{})
	for name, change := range map[string]func(*http.Request){
		"no token":            func(*http.Request) {},
		"an empty token":      func(r *http.Request) { r.URL.RawQuery += "&token=" },
		"a wrong token":       func(r *http.Request) { r.URL.RawQuery += "&token=" + other.token },
		"a part of the token": func(r *http.Request) { r.URL.RawQuery += "&token=" + s.token[:10] },
		"a wrong cookie":      func(r *http.Request) { r.AddCookie(&http.Cookie{Name: s.cookie(), Value: other.token}) },
		"an empty cookie":     func(r *http.Request) { r.AddCookie(&http.Cookie{Name: s.cookie(), Value: ""}) },
		"another's cookie":    func(r *http.Request) { r.AddCookie(&http.Cookie{Name: other.cookie(), Value: s.token}) },
	} {
		for _, path := range paths {
			r := request(t, s, http.MethodGet, path, "")
			change(r)
			status, header, body := answerOf(t, http.DefaultClient, r)
			if status != http.StatusForbidden || strings.Contains(body, secret) || len(header["Set-Cookie"]) > 0 {
				t.Errorf("%s, %s: %d %q", name, path, status, body)
			}
		}
		r := request(t, s, http.MethodPost, "/api/whatif", "{}")
		change(r)
		if status, _, body := answerOf(t, http.DefaultClient, r); status != http.StatusForbidden || strings.Contains(body, secret) {
			t.Errorf("%s, what if: %d %q", name, status, body)
		}
	}
	if len(s.token) != 43 || s.token == other.token {
		t.Errorf("tokens %q and %q, want 256 bits of chance in each", s.token, other.token)
	}
}

// TestCookie: the server exchanges the token for a cookie that scripts and other sites cannot read.
func TestCookie(t *testing.T) {
	s := started(t, &fixed{})
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	status, header, body := answerOf(t, client, request(t, s, http.MethodGet, "/?token="+s.token, ""))
	cookie := header.Get("Set-Cookie")
	if status != http.StatusSeeOther || header.Get("Location") != "/" || strings.Contains(body, secret) ||
		!strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") {
		t.Errorf("%d to %q with %q", status, header.Get("Location"), cookie)
	}
	if status, _, body := answerOf(t, browser(t, s), request(t, s, http.MethodGet, "/", "")); status != http.StatusOK || body != secret {
		t.Errorf("with the cookie: %d %q", status, body)
	}
}

// TestAddressForOnce: the token in the printed address opens the page once, and no cookie contains it.
func TestAddressForOnce(t *testing.T) {
	s := started(t, &fixed{})
	path := strings.TrimPrefix(s.AddressForOnce(), "http://"+s.host())
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	status, header, _ := answerOf(t, client, request(t, s, http.MethodGet, path, ""))
	if cookie := header.Get("Set-Cookie"); status != http.StatusSeeOther || !strings.Contains(cookie, s.token) ||
		strings.Contains(path, s.token) || strings.Contains(cookie, s.once) {
		t.Errorf("%s: %d with %q", path, status, cookie)
	}
	for range 2 {
		if status, header, _ := answerOf(t, client, request(t, s, http.MethodGet, path, "")); status != http.StatusForbidden ||
			header.Get("Set-Cookie") != "" {
			t.Errorf("once more: %d with %q", status, header.Get("Set-Cookie"))
		}
	}
	withCookie := request(t, s, http.MethodGet, "/", "")
	withCookie.AddCookie(&http.Cookie{Name: s.cookie(), Value: s.once})
	if status, _, _ := answerOf(t, client, withCookie); status != http.StatusForbidden {
		t.Errorf("as a cookie: %d", status)
	}
}

// TestOtherSites: another site's page gets no data, even in the browser that has the cookie.
func TestOtherSites(t *testing.T) {
	s := started(t, &fixed{})
	client := browser(t, s)
	port := s.host()[strings.LastIndex(s.host(), ":"):]
	for name, tt := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"itself":                      {func(r *http.Request) { r.Header.Set("Origin", "http://"+s.host()) }, http.StatusOK},
		"itself, as browsers say":     {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-origin") }, http.StatusOK},
		"an address typed":            {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "none") }, http.StatusOK},
		"DNS rebinding":               {func(r *http.Request) { r.Host = "evil.example" + port }, http.StatusMisdirectedRequest},
		"DNS rebinding, no port":      {func(r *http.Request) { r.Host = "evil.example" }, http.StatusMisdirectedRequest},
		"a name that begins alike":    {func(r *http.Request) { r.Host = "127.0.0.1.evil.example" + port }, http.StatusMisdirectedRequest},
		"another port":                {func(r *http.Request) { r.Host = "127.0.0.1:1" }, http.StatusMisdirectedRequest},
		"another origin":              {func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, http.StatusForbidden},
		"another port's origin":       {func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, http.StatusForbidden},
		"an opaque origin":            {func(r *http.Request) { r.Header.Set("Origin", "null") }, http.StatusForbidden},
		"a link of another site":      {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, http.StatusForbidden},
		"another port of this host":   {func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, http.StatusForbidden},
		"a site with the token known": {func(r *http.Request) { r.Host, r.URL.RawQuery = "evil.example"+port, "token="+s.token }, http.StatusMisdirectedRequest},
	} {
		for _, path := range paths {
			r := request(t, s, http.MethodGet, path, "")
			for _, cookie := range client.Jar.Cookies(r.URL) {
				r.AddCookie(cookie)
			}
			tt.change(r)
			status, _, body := answerOf(t, &http.Client{}, r)
			if status != tt.want || tt.want != http.StatusOK && strings.Contains(body, secret) {
				t.Errorf("%s, %s: %d %q, want %d", name, path, status, body, tt.want)
			}
		}
	}
}

// TestHeaders: each response, also an error, restricts what the browser may do with it.
func TestHeaders(t *testing.T) {
	s := started(t, &fixed{})
	for _, client := range []*http.Client{http.DefaultClient, browser(t, s)} {
		for _, path := range append(paths, "/api/object", "/nothing/here") {
			_, header, _ := answerOf(t, client, request(t, s, http.MethodGet, path, ""))
			csp := header.Get("Content-Security-Policy")
			if !strings.HasPrefix(csp, "default-src 'none';") || strings.Contains(csp, "unsafe") ||
				header.Get("X-Content-Type-Options") != "nosniff" || header.Get("Cache-Control") != "no-store" ||
				header.Get("Referrer-Policy") != "no-referrer" || header.Get("Cross-Origin-Resource-Policy") != "same-origin" ||
				header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s: %v", path, header)
			}
		}
	}
}

// TestMethods: the page only reads, except for a simulation with other settings.
func TestMethods(t *testing.T) {
	s := started(t, &fixed{})
	client := browser(t, s)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions} {
		for _, path := range append(paths, "/api/whatif") {
			if method == http.MethodPost && path == "/api/whatif" {
				continue
			}
			if status, _, body := answerOf(t, client, request(t, s, method, path, "")); status != http.StatusMethodNotAllowed {
				t.Errorf("%s %s: %d %q", method, path, status, body)
			}
		}
	}
}

// TestWhatIf: the server accepts settings as JSON only, with known fields and of limited size.
func TestWhatIf(t *testing.T) {
	source := &fixed{}
	s := started(t, source)
	client := browser(t, s)
	for name, tt := range map[string]struct {
		body, kind string
		want       int
	}{
		"settings":         {`{"name":"web","changes":{"maxReplicas":9}}`, "application/json; charset=utf-8", http.StatusOK},
		"a form":           {`{"name":"web"}`, "application/x-www-form-urlencoded", http.StatusUnsupportedMediaType},
		"plain text":       {`{"name":"web"}`, "text/plain", http.StatusUnsupportedMediaType},
		"no type":          {`{"name":"web"}`, "", http.StatusUnsupportedMediaType},
		"no JSON":          {`name: web`, "application/json", http.StatusBadRequest},
		"an unknown field": {`{"name":"web","shell":"rm"}`, "application/json", http.StatusBadRequest},
		"nothing to play":  {`{"name":"api"}`, "application/json", http.StatusBadRequest},
		"too long": {`{"name":"web","changes":{"behavior":"` + strings.Repeat("x", maxBodyBytes) + `"}}`, "application/json",
			http.StatusRequestEntityTooLarge},
	} {
		r := request(t, s, http.MethodPost, "/api/whatif", tt.body)
		r.Header.Set("Content-Type", tt.kind)
		if status, _, body := answerOf(t, client, r); status != tt.want {
			t.Errorf("%s: %d %q, want %d", name, status, body, tt.want)
		} else if name == "nothing to play" && body != "of no use\n" {
			t.Errorf("what is said of a form is %q", body)
		}
	}
	if source.asked == nil || source.asked.Changes.MaxReplicas == nil || *source.asked.Changes.MaxReplicas != 9 {
		t.Errorf("asked %+v, want maxReplicas 9", source.asked)
	}
}

// TestOneSimulation: one simulation runs at a time.
func TestOneSimulation(t *testing.T) {
	source := &fixed{began: make(chan struct{}), ends: make(chan struct{})}
	s := started(t, source)
	client := browser(t, s)
	first := request(t, s, http.MethodPost, "/api/whatif", `{"name":"web"}`)
	played := make(chan int, 1)
	go func() {
		response, err := client.Do(first)
		if err != nil {
			t.Error(err)
			played <- 0
			return
		}
		response.Body.Close()
		played <- response.StatusCode
	}()
	<-source.began
	if status, _, body := answerOf(t, client, request(t, s, http.MethodPost, "/api/whatif", `{"name":"web"}`)); status != http.StatusTooManyRequests {
		t.Errorf("the second: %d %q", status, body)
	}
	close(source.ends)
	if status := <-played; status != http.StatusOK {
		t.Errorf("the first: %d", status)
	}
}

// TestNotANumber: a number that JSON does not have leads to an error, not to an empty response.
func TestNotANumber(t *testing.T) {
	endless := math.Inf(1)
	s := started(t, &fixed{overview: view.Overview{Rows: []view.Row{{Load: &view.Load{Ratio: &endless}}}}})
	status, header, body := answerOf(t, browser(t, s), request(t, s, http.MethodGet, "/api/overview", ""))
	if status != http.StatusInternalServerError || body == "" || header.Get("Content-Encoding") != "" {
		t.Errorf("%d %q", status, body)
	}
}

// TestHiddenCharacters: characters that change the direction of text are shown as their numbers, as plimsoll explain
// prints them.
func TestHiddenCharacters(t *testing.T) {
	s := started(t, &fixed{overview: view.Overview{Rows: []view.Row{{Says: "new size: \u202e9\u2069 \\\u200f \u061c"}}}})
	_, _, body := answerOf(t, browser(t, s), request(t, s, http.MethodGet, "/api/overview", ""))
	var got view.Overview
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	if want := `new size: \u202e9\u2069 \\u200f \u061c`; got.Rows[0].Says != want {
		t.Errorf("%+q, want %+q", got.Rows[0].Says, want)
	}
}

// TestLast: the requested length of the history has bounds.
func TestLast(t *testing.T) {
	s := started(t, &fixed{})
	client := browser(t, s)
	for last, want := range map[string]int{
		"": 200, "&last=6h": 200, "&last=10s": 200, "&last=9s": 400, "&last=-1h": 400, "&last=10000h": 400, "&last=x": 400,
	} {
		if status, _, body := answerOf(t, client, request(t, s, http.MethodGet, "/api/object?name=web"+last, "")); status != want {
			t.Errorf("%q: %d %q, want %d", last, status, body, want)
		}
	}
	if status, _, _ := answerOf(t, client, request(t, s, http.MethodGet, "/api/object?name=api", "")); status != http.StatusNotFound {
		t.Errorf("no such object: %d", status)
	}
}

// TestHostileText: the texts of an object are JSON strings, which no browser interprets as a page.
func TestHostileText(t *testing.T) {
	source := &fixed{overview: view.Overview{
		Context: hostile, Rows: []view.Row{{ID: hostile, Name: hostile, Namespace: hostile, Says: hostile, Target: hostile}},
		Notes: []view.Note{{What: hostile, Why: hostile}},
	}}
	s := started(t, source)
	_, header, body := answerOf(t, browser(t, s), request(t, s, http.MethodGet, "/api/overview", ""))
	if header.Get("Content-Type") != "application/json" || strings.ContainsAny(body, "<>\u2028\x00") {
		t.Errorf("%s: %q", header.Get("Content-Type"), body)
	}
	var got view.Overview
	if err := json.Unmarshal([]byte(body), &got); err != nil || got.Rows[0].Says != hostile || got.Context != hostile {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestLoopback: other machines cannot connect.
func TestLoopback(t *testing.T) {
	s := started(t, &fixed{})
	if !strings.HasPrefix(s.host(), "127.0.0.1:") || !strings.HasPrefix(s.Address(), "http://127.0.0.1:") {
		t.Errorf("listens on %s, prints %s", s.host(), s.Address())
	}
}

// BenchmarkOverview reads 10,000 autoscalers, as a page that was just opened does.
func BenchmarkOverview(b *testing.B) {
	ratio, count := 0.83, int32(7)
	source := &fixed{overview: view.Overview{IsWhole: true, Removed: []string{}, Notes: []view.Note{}}}
	for i := range 10_000 {
		name := fmt.Sprintf("service-%05d", i)
		source.overview.Rows = append(source.overview.Rows, view.Row{
			ID: view.IDOf(view.HPA, "shop", name), Kind: view.HPA, Namespace: "shop", Name: name, Target: "Deployment/" + name,
			Min: &count, Max: &count, Desired: &count, Current: &count, Health: view.OK,
			Load:   &view.Load{Metric: "cpu", Ratio: &ratio, Text: "50%/60%"},
			Counts: []view.Count{{At: 1, Desired: 1, Current: 1}, {At: 2, Desired: 7, Current: 7}},
		})
	}
	s := started(b, source)
	client := browser(b, s)
	var size int
	for b.Loop() {
		r := request(b, s, http.MethodGet, "/api/overview", "")
		r.Header.Set("Accept-Encoding", "gzip")
		_, _, body := answerOf(b, client, r)
		size = len(body)
		if _, err := gzip.NewReader(bytes.NewReader([]byte(body))); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size), "bytes/answer")
}
