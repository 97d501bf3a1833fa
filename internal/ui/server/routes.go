package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// whatIfPath is the path for requests with other settings.
const whatIfPath = "/api/whatif"

func routes(source Source, page http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", page)
	mux.HandleFunc("/api/overview", func(w http.ResponseWriter, r *http.Request) {
		since := int64(0)
		if text := r.URL.Query().Get("since"); text != "" {
			var err error
			if since, err = strconv.ParseInt(text, 10, 64); err != nil || since < 0 {
				http.Error(w, "since: a revision", http.StatusBadRequest)
				return
			}
		}
		write(w, r, source.Overview(since))
	})
	mux.HandleFunc("/api/object", func(w http.ResponseWriter, r *http.Request) { object(w, r, source) })
	playing := make(chan struct{}, 1)
	mux.HandleFunc("POST "+whatIfPath, func(w http.ResponseWriter, r *http.Request) {
		select {
		case playing <- struct{}{}:
			defer func() { <-playing }()
			whatIf(w, r, source)
		default:
			http.Error(w, "another setting is being played: try again when it is done", http.StatusTooManyRequests)
		}
	})
	return mux
}

func object(w http.ResponseWriter, r *http.Request, source Source) {
	query, last := r.URL.Query(), defaultLast
	if text := query.Get("last"); text != "" {
		var err error
		if last, err = time.ParseDuration(text); err != nil || last < shortestLast || last > longestLast {
			http.Error(w, "last: a duration from "+shortestLast.String()+" to "+longestLast.String(), http.StatusBadRequest)
			return
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), answerTimeout)
	defer cancel()
	found, err := source.Object(ctx, query.Get("kind"), query.Get("namespace"), query.Get("name"), last)
	answer(w, r, found, err)
}

func whatIf(w http.ResponseWriter, r *http.Request, source Source) {
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		http.Error(w, "Content-Type: want application/json", http.StatusUnsupportedMediaType)
		return
	}
	asked := &view.WhatIfRequest{}
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(asked); err != nil {
		status := http.StatusBadRequest
		if long := (*http.MaxBytesError)(nil); errors.As(err, &long) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, err.Error(), status)
		return
	}
	// The server's own limit on a response is too short for a simulation.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(playTimeout + connectionTimeout))
	ctx, cancel := context.WithTimeout(r.Context(), playTimeout)
	defer cancel()
	played, err := source.WhatIf(ctx, asked)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("the simulation takes longer than %v: play a shorter part of the load", playTimeout)
	}
	answer(w, r, played, err)
}

func answer(w http.ResponseWriter, r *http.Request, value any, err error) {
	switch {
	case errors.Is(err, ErrNotFound):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.Is(err, ErrInvalid):
		// The user filled in a form: do not mention a request.
		http.Error(w, strings.TrimPrefix(err.Error(), ErrInvalid.Error()+": "), http.StatusBadRequest)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
	default:
		write(w, r, value)
	}
}

var zippers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is valid
	return z
}}

// write sends a value as JSON, compressed if the browser accepts that.
func write(w http.ResponseWriter, r *http.Request, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		http.Error(w, "the answer cannot be written: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	out := io.Writer(w)
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		z, _ := zippers.Get().(*gzip.Writer)
		defer zippers.Put(z)
		z.Reset(w)
		defer z.Close() //nolint:errcheck // The client may be gone.
		out = z
	}
	_, _ = out.Write(visible(text)) // the client may be gone
}

// turns replaces the characters that change the direction of text by their numbers: texts from a cluster are untrusted,
// and could be misread with them. Commands do the same.
var turns = func() *strings.Replacer {
	var pairs []string
	for _, r := range "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" {
		pairs = append(pairs, string(r), fmt.Sprintf(`\\u%04x`, r))
	}
	return strings.NewReplacer(pairs...)
}()

// visible returns a JSON text with these characters replaced. JSON has them only in strings, unescaped.
func visible(text []byte) []byte {
	for _, begin := range []string{"\xd8\x9c", "\xe2\x80", "\xe2\x81"} {
		if bytes.Contains(text, []byte(begin)) {
			return []byte(turns.Replace(string(text)))
		}
	}
	return text
}
