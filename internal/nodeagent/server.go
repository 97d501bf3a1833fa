package nodeagent

import (
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/net/netutil"

	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// NewServer makes the agent's server. It has bounds on how long a client may take, and how
// much it may send.
func NewServer(handler *Handler, identity *Identity, log logr.Logger) *http.Server {
	mux := http.NewServeMux()
	mux.Handle(selection.UsagePath, handler)
	mux.Handle(selection.ContentionPath, handler)
	identity.Register(mux)
	return &http.Server{
		Handler: mux, TLSConfig: identity.TLS(),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		// Handshakes that clients break off are no news.
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(log.V(1)), slog.LevelInfo),
	}
}

// maxConnections is how many clients are connected at a time. The controller and the
// recommender have one connection each: the others are for handshakes of whoever else tries.
const maxConnections = 64

// Limit accepts so many connections at a time that no stranger can fill the agent's memory.
func Limit(listener net.Listener) net.Listener {
	return netutil.LimitListener(listener, maxConnections)
}
