// Package server serves the page of plimsoll ui only to the browser of the user who started it: on a
// loopback address, behind a token that only the printed address has.
package server

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// The limits of a request.
const (
	maxHeaderBytes    = 16 << 10
	readHeaderTimeout = 5 * time.Second
	// answerTimeout bounds the computation of a response, connectionTimeout the whole request including the response.
	answerTimeout     = 20 * time.Second
	connectionTimeout = 30 * time.Second
	idleTimeout       = 2 * time.Minute
	// maxBodyBytes bounds the other settings, playTimeout their simulation. The server runs one simulation at a time: it
	// uses all cores.
	maxBodyBytes = 64 << 10
	playTimeout  = 2 * time.Minute
	// shortestLast and longestLast bound the requested length of the history, defaultLast is the first one shown.
	shortestLast = 10 * time.Second
	longestLast  = 14 * 24 * time.Hour
	defaultLast  = time.Hour
)

// Source has the data of the page.
type Source interface {
	// Overview returns the changes after a revision; everything after 0.
	Overview(since int64) *view.Overview
	// Object returns all about one autoscaler; ErrNotFound if there is none.
	Object(ctx context.Context, kind, namespace, name string, last time.Duration) (*view.Object, error)
	// WhatIf simulates other settings; it returns ErrInvalid for invalid settings, ErrNotFound if there is no such object.
	WhatIf(ctx context.Context, asked *view.WhatIfRequest) (*view.WhatIf, error)
}

// ErrNotFound is returned by a Source if there is no such object.
var ErrNotFound = errors.New("there is no such autoscaler")

// ErrInvalid is returned by a Source for an invalid request.
var ErrInvalid = errors.New("invalid request")

// Server serves one page to one user.
type Server struct {
	listener net.Listener
	http     *http.Server
	token    string
	// once is a single-use token; taken is set once it was used.
	once  string
	taken atomic.Bool
}

// New listens on a port of 127.0.0.1, any one if it is 0. page serves the files that do not depend on the cluster: the
// page itself, its scripts and styles.
func New(port int, source Source, page http.Handler) (*Server, error) {
	// The listener lives until the server is closed.
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp4",
		net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{listener: listener, token: newToken(), once: newToken()}
	s.http = &http.Server{
		Handler: s.guard(routes(source, page)), MaxHeaderBytes: maxHeaderBytes, ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout: connectionTimeout, WriteTimeout: connectionTimeout, IdleTimeout: idleTimeout,
	}
	return s, nil
}

// newToken returns 256 random bits.
func newToken() string {
	token := make([]byte, 32)
	_, _ = rand.Read(token) // It never fails.
	return base64.RawURLEncoding.EncodeToString(token)
}

func (s *Server) host() string { return s.listener.Addr().String() }

// Address returns the URL for the browser. It contains the token that grants access to the page.
func (s *Server) Address() string {
	return "http://" + s.host() + "/?" + tokenParameter + "=" + s.token
}

// AddressForOnce returns a URL that opens the page once. It is for places that other users can read, such as the
// arguments of a process.
func (s *Server) AddressForOnce() string {
	return "http://" + s.host() + "/?" + tokenParameter + "=" + s.once
}

// Serve serves until the context ends.
func (s *Server) Serve(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = s.http.Close() })
	defer stop()
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// Close ends the service at once.
func (s *Server) Close() error { return s.http.Close() }
