// Package web has the page of plimsoll ui: all files that a browser loads, so that it contacts no other server. The
// plots are uPlot's (MIT, static/uPlot.LICENSE.txt).
package web

import (
	"embed"
	"net/http"
	"path"
	"strings"
)

//go:embed static
var static embed.FS

// types has the media types of the files, independent of the machine's own list.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".txt": "text/plain; charset=utf-8",
}

// Handler serves the page at / and its files below /static/.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.URL.Path, "/")
		if name == "" {
			name = "static/index.html"
		}
		if name != path.Clean(name) || !strings.HasPrefix(name, "static/") {
			http.NotFound(w, r)
			return
		}
		text, err := static.ReadFile(name)
		if err != nil {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", types[path.Ext(name)])
		_, _ = w.Write(text) // The client may be gone.
	})
}
