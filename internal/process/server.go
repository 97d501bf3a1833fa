package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// shutdownTimeout is how long running requests may take at the end.
const shutdownTimeout = 10 * time.Second

// NewServer makes an HTTP server with timeouts for requests.
func NewServer(handler http.Handler, log logr.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 5 * time.Minute,
		// Handshakes that clients break off are no news.
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(log.V(1)), slog.LevelInfo),
	}
}

// Serve serves until ctx ends, and then finishes the running requests.
func Serve(ctx context.Context, server *http.Server, listener net.Listener) error {
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		stopped <- server.Shutdown(bounded)
	})
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving at %s: %w", listener.Addr(), err)
	}
	return <-stopped
}

// HealthHandler answers /metrics, /healthz, /health-check and /readyz, and /debug/pprof with
// profiling. The process is ready once the channel is closed.
func HealthHandler(gatherer prometheus.Gatherer, ready <-chan struct{}, profiling bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}))
	alive := func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) }
	mux.HandleFunc("/healthz", alive)
	mux.HandleFunc("/health-check", alive)
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-ready:
			alive(w, r)
		default:
			http.Error(w, "the caches are not filled yet", http.StatusServiceUnavailable)
		}
	})
	if profiling {
		for path, handler := range Profiles() {
			mux.Handle(path, handler)
		}
	}
	return mux
}
