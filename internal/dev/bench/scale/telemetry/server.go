package telemetry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/podmetrics"
)

// Server is a metrics-server, the kubelets of all nodes and the pods' own metrics, all in this process.
type Server struct {
	model    model
	pods     *podmetrics.Server
	pages    pages
	servers  []*http.Server
	api      int
	kubelets []int
	serving  sync.WaitGroup

	mu      sync.Mutex
	asked   func(Asked) // guarded by mu; nil without a listener
	scrapes []givens    // guarded by mu: the last samples that each node's kubelet or agent gave
}

// kept is the number of samples of a node in memory.
const kept = 64

// Start serves on free ports of this machine until Close: the metrics API with one certificate, the kubelets with
// another.
func Start(ctx context.Context, config Config, apiCertificate, kubeletCertificate tls.Certificate) (*Server, error) {
	config, err := config.completed()
	if err != nil {
		return nil, err
	}
	s := &Server{model: newModel(config), scrapes: make([]givens, config.Size.Nodes())}
	api, err := newMetricsAPI(&s.model, s.answered)
	if err != nil {
		return nil, err
	}
	if s.api, err = s.serve(ctx, api.handler(), apiCertificate); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for node := range config.Size.Nodes() {
		kubelet := newKubelet(&s.model, node)
		port, err := s.serve(ctx, kubelet.handler(func(at time.Time) { s.Given(node, at) }), kubeletCertificate)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.kubelets = append(s.kubelets, port)
	}
	s.pages.given = make([]givens, config.Size.Objects)
	if s.pods, err = podmetrics.Serve(ctx, podmetrics.Config{Append: s.model.appendPage, Answered: s.read}); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) serve(ctx context.Context, handler http.Handler, certificate tls.Certificate) (port int, err error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("telemetry: %w", err)
	}
	address, isTCP := listener.Addr().(*net.TCPAddr)
	if !isTCP {
		return 0, errors.Join(fmt.Errorf("telemetry: %v is no TCP address", listener.Addr()), listener.Close())
	}
	server := &http.Server{
		Handler: handler, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 30 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
	}
	s.servers = append(s.servers, server)
	s.serving.Go(func() { _ = server.ServeTLS(listener, "", "") }) // ends with Close
	return address.Port, nil
}

// MetricsPort is the port of metrics.k8s.io.
func (s *Server) MetricsPort() int { return s.api }

// KubeletPorts are the kubelets' ports, by the nodes' numbers.
func (s *Server) KubeletPorts() []int { return append([]int(nil), s.kubelets...) }

// Listen calls f at every request to the metrics API from now on; nil stops that. It is called from many goroutines.
func (s *Server) Listen(f func(Asked)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = f
}

func (s *Server) answered(a Asked) {
	s.mu.Lock()
	listener := s.asked
	s.mu.Unlock()
	if listener != nil {
		listener(a)
	}
}

// Given notes that samples of a node's pods, taken at a time, have just been given.
func (s *Server) Given(node int, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scrapes[node] = s.scrapes[node].with(given{sampled: at, at: time.Now()})
}

// given are samples: when they were taken, and when the answer with them was written.
type given struct{ sampled, at time.Time }

// givens are the last of a node or an object, in order.
type givens []given

func (g givens) with(next given) givens {
	g = append(g, next)
	if len(g) > 2*kept {
		g = slices.Delete(g, 0, kept)
	}
	return g
}

// before returns the time of the last samples that had been served before a time.
func (g givens) before(end time.Time) (sampled time.Time, found bool) {
	for _, one := range slices.Backward(g) {
		if one.at.Before(end) {
			return one.sampled, true
		}
	}
	return time.Time{}, false
}

// SampleTimes are the newest and the oldest of the newest samples of an object's pods.
type SampleTimes struct{ Newest, Oldest time.Time }

// SamplesOf returns those of an object's pods that nodes had served before t; false if none had.
func (s *Server) SamplesOf(object int, t time.Time) (times SampleTimes, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pod := range s.model.Size.PodsPer {
		sampled, isGiven := s.scrapes[s.model.Size.NodeOf(object, pod)].before(t)
		if !isGiven {
			continue
		}
		if sampled.After(times.Newest) {
			times.Newest = sampled
		}
		if !found || sampled.Before(times.Oldest) {
			times.Oldest = sampled
		}
		found = true
	}
	return times, found
}

// UsedSeconds is the CPU time that a pod has used until t.
func (s *Server) UsedSeconds(place population.Place, t time.Time) float64 {
	return s.model.usedSeconds(place, t)
}

// Close ends all servers.
func (s *Server) Close() error {
	var errs []error
	for _, server := range s.servers {
		errs = append(errs, server.Close())
	}
	if s.pods != nil {
		s.pods.Close()
	}
	s.serving.Wait()
	return errors.Join(errs...)
}
