package webhook

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"
)

const (
	// heldBytes bounds the requests that are read and served at a time: decoding takes up to eight times as much memory,
	// and must fit into the memory limit.
	heldBytes = 32 << 20
	// LeastBytes is the minimum that each request counts for. A pod has some 10 kB; one of very many containers in as few
	// makes a response of a megabyte and a half.
	LeastBytes = 128 << 10
	// MaxBodyBytes bounds a request. An object has at most 1.5 MB in etcd, and an update brings two.
	MaxBodyBytes = 5 << 20
)

// Why a request is not answered.
const (
	refusedPath     = "path"
	refusedMethod   = "method"
	refusedTooLarge = "too-large"
	refusedBusy     = "busy"
)

// Guard wraps a Handler. Any pod can connect to the server, because nothing that every cluster has distinguishes the
// API server from a pod. So a client without the path gets no response, and a request is read only once there is room
// for all of it.
type Guard struct {
	next http.Handler
	// wait bounds the wait of a request for room, and the time for its body: the API server does not wait longer for a
	// response.
	wait    time.Duration
	room    *semaphore.Weighted
	refused *prometheus.CounterVec
	// path is nil where any will do.
	path atomic.Pointer[string]
}

var _ http.Handler = (*Guard)(nil)

// NewGuard makes a Guard that accepts any path.
func NewGuard(next http.Handler, wait time.Duration, registerer prometheus.Registerer) (*Guard, error) {
	if next == nil || wait <= 0 {
		return nil, errors.New("guard: it needs a handler and a time to wait")
	}
	g := &Guard{next: next, wait: wait, room: semaphore.NewWeighted(heldBytes),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "plimsoll_admission_refused_total",
			Help: "Requests that were refused, by reason: path and method are not the API server's, too-large exceeds the " +
				"size limit, busy exceeds the number of concurrent requests.",
		}, []string{"reason"})}
	for _, reason := range []string{refusedPath, refusedMethod, refusedTooLarge, refusedBusy} {
		g.refused.WithLabelValues(reason)
	}
	if err := registerer.Register(g.refused); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return g, nil
}

// Require accepts only this path; empty accepts any.
func (g *Guard) Require(path string) {
	if path == "" {
		g.path.Store(nil)
		return
	}
	g.path.Store(&path)
}

// ServeHTTP implements http.Handler.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if path := g.path.Load(); path != nil && subtle.ConstantTimeCompare([]byte(*path), []byte(r.URL.Path)) == 0 {
		// The API server does not need the connection, and a stranger's takes memory.
		w.Header().Set("Connection", "close")
		g.refuse(w, refusedPath, http.StatusNotFound)
		return
	}
	if r.Method != http.MethodPost {
		g.refuse(w, refusedMethod, http.StatusMethodNotAllowed)
		return
	}
	if r.ContentLength > MaxBodyBytes {
		g.refuse(w, refusedTooLarge, http.StatusRequestEntityTooLarge)
		return
	}
	weight := int64(MaxBodyBytes) // for requests without a length
	if r.ContentLength >= 0 {
		weight = max(LeastBytes, r.ContentLength)
	}
	ctx, cancel := context.WithTimeout(r.Context(), g.wait)
	defer cancel()
	if err := g.room.Acquire(ctx, weight); err != nil {
		g.refuse(w, refusedBusy, http.StatusServiceUnavailable)
		return
	}
	defer g.room.Release(weight)
	// Only the writers of tests have no deadline.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(g.wait))
	g.next.ServeHTTP(w, r)
}

func (g *Guard) refuse(w http.ResponseWriter, reason string, code int) {
	g.refused.WithLabelValues(reason).Inc()
	http.Error(w, http.StatusText(code), code)
}
