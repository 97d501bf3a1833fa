package nodeagent

import (
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

// NewServer makes the agent's server. It bounds the time of a client, and the size of its requests.
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

const (
	// maxStrangers bounds the connections that are not authenticated yet, and maxClients those of clients. The controller
	// has one.
	maxStrangers = 32
	maxClients   = 32
	// handshakeTimeout bounds the handshake of a connection.
	handshakeTimeout = time.Second
)

// Listen accepts TLS connections of clients that the identity trusts. Other connections cannot lock them out: a new
// connection displaces the oldest unauthenticated one.
func Listen(listener net.Listener, identity *Identity) net.Listener {
	return newAdmission(listener, identity.TLS())
}
