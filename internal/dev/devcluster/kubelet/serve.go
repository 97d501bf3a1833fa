package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// Source has what a node and its pods use. It must be safe for concurrent use and return a value that it does not
// change afterwards.
type Source interface {
	Summary(node string) (*stats.Summary, error)
}

// Config configures a Server.
type Config struct {
	// Nodes get one listener each.
	Nodes  []string
	Source Source
	// TLS has the serving certificate, which all nodes share.
	TLS *tls.Config
	// Log may be nil.
	Log *slog.Logger
}

// Servers are the running endpoints.
type Servers struct {
	// Faults can be changed while the servers run.
	Faults *Faults

	ports   map[string]int
	servers []*http.Server
	done    sync.WaitGroup
	stop    func() bool
}

// Serve listens on a free port of 127.0.0.1 for each node. The servers run until ctx ends or Close is called.
func Serve(ctx context.Context, config Config) (*Servers, error) {
	if config.Source == nil || config.TLS == nil {
		return nil, errors.New("kubelet endpoints need a source and a TLS configuration")
	}
	logger := config.Log
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	s := &Servers{Faults: &Faults{}, ports: make(map[string]int, len(config.Nodes))}
	for _, node := range config.Nodes {
		if err := s.listen(ctx, node, config, logger); err != nil {
			s.Close()
			return nil, fmt.Errorf("kubelet endpoint of node %s: %w", node, err)
		}
	}
	s.stop = context.AfterFunc(ctx, s.shut)
	return s, nil
}

func (s *Servers) listen(ctx context.Context, node string, config Config, logger *slog.Logger) error {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return errors.Join(fmt.Errorf("%v is no TCP address", listener.Addr()), listener.Close())
	}
	server := &http.Server{
		Handler:           s.Faults.wrap(node, handler(node, config.Source, s.Faults)),
		TLSConfig:         config.TLS.Clone(),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(logWriter{logger.With("node", node)}, "", 0),
	}
	s.ports[node] = address.Port
	s.servers = append(s.servers, server)
	s.done.Go(func() {
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			logger.Error("kubelet endpoint ended", "node", node, "error", err)
		}
	})
	return nil
}

// Ports returns each node's port: the value for the Node's status.daemonEndpoints.kubeletEndpoint.
func (s *Servers) Ports() map[string]int { return maps.Clone(s.ports) }

// Close ends all servers and waits for them.
func (s *Servers) Close() {
	if s.stop != nil {
		s.stop()
	}
	s.shut()
	s.done.Wait()
}

func (s *Servers) shut() {
	for _, server := range s.servers {
		_ = server.Close() // only repeats a listener's error on closing
	}
}

// logWriter takes the lines of net/http, which are about clients that went away: of interest only when debugging.
type logWriter struct{ log *slog.Logger }

func (w logWriter) Write(line []byte) (int, error) {
	w.log.Debug("http", "message", string(line))
	return len(line), nil
}
