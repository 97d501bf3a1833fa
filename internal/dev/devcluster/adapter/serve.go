package adapter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"sigs.k8s.io/custom-metrics-apiserver/pkg/cmd"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/world"
)

// shutdownTimeout is short: no test depends on the last answers of a throw-away cluster.
const shutdownTimeout = 2 * time.Second

// Source is the source of the metrics.
type Source interface {
	At() time.Time
	Pods(namespace string, selector labels.Selector) []world.PodView
	Services(namespace string) []world.ServiceView
}

var _ Source = (*world.World)(nil)

// Config configures the adapter for a cluster.
type Config struct {
	Source Source
	// Kubeconfig names a file for a user who may create token and subject access reviews and read the ConfigMap
	// extension-apiserver-authentication in kube-system, from which the request-header CA comes.
	Kubeconfig string
	// CertFile and KeyFile are the serving certificate, for the names of both groups' Services.
	CertFile, KeyFile string
	// Listener may be nil: a free port of 127.0.0.1. The server closes it.
	Listener net.Listener
}

// Server is a running adapter.
type Server struct {
	// Faults can be changed while the server runs.
	Faults *Faults

	port   int
	cancel context.CancelFunc
	done   chan struct{}
	err    error // of the run; read after done is closed
}

// Serve starts the adapter. It runs until ctx ends or Close is called. Several can run in one process.
func Serve(ctx context.Context, config Config) (*Server, error) {
	if config.Source == nil || config.Kubeconfig == "" || config.CertFile == "" || config.KeyFile == "" {
		return nil, errors.New("metrics adapter: source, kubeconfig, certificate and key are needed")
	}
	listener := config.Listener
	if listener == nil {
		var lc net.ListenConfig
		var err error
		if listener, err = lc.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("metrics adapter: %w", err)
		}
	}
	s, err := start(ctx, config, listener)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("metrics adapter: %w", err), listener.Close())
	}
	return s, nil
}

func start(ctx context.Context, config Config, listener net.Listener) (*Server, error) {
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("%v is no TCP address", listener.Addr())
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Server{Faults: &Faults{}, port: address.Port, cancel: cancel, done: make(chan struct{})}
	server, err := s.prepare(ctx, config, listener)
	if err != nil {
		cancel()
		return nil, err
	}
	go func() {
		defer close(s.done)
		if err := server.run(ctx); err != nil {
			s.err = fmt.Errorf("metrics adapter: %w", err)
		}
	}()
	if err := s.awaitFrontProxy(ctx, server.frontProxyCA); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// prepared is an API server that is ready to run.
type prepared struct {
	run          func(context.Context) error
	frontProxyCA dynamiccertificates.CAContentProvider
}

// prepare builds the API server and returns what runs it.
func (s *Server) prepare(ctx context.Context, config Config, listener net.Listener) (prepared, error) {
	metrics := &provider{source: config.Source, faults: s.Faults}
	base := &cmd.AdapterBase{
		Name:                 "plimsoll-metrics-adapter",
		RemoteKubeConfigFile: config.Kubeconfig,
		// A flag set of its own: the default is the process's.
		FlagSet: pflag.NewFlagSet("plimsoll-metrics-adapter", pflag.ContinueOnError),
	}
	base.WithCustomMetrics(metrics)
	base.WithExternalMetrics(metrics)
	base.InstallFlags() // makes the options
	base.SecureServing.Listener = listener
	base.SecureServing.BindAddress = net.IPv4(127, 0, 0, 1)
	base.SecureServing.BindPort = s.port
	base.SecureServing.ServerCert.CertKey.CertFile = config.CertFile
	base.SecureServing.ServerCert.CertKey.KeyFile = config.KeyFile
	base.Authentication.RemoteKubeConfigFile = config.Kubeconfig
	base.Authorization.RemoteKubeConfigFile = config.Kubeconfig
	base.Features.EnableProfiling = false

	serverConfig, err := base.Config()
	if err != nil {
		return prepared{}, fmt.Errorf("configure: %w", err)
	}
	serverConfig.GenericConfig.BuildHandlerChainFunc = func(api http.Handler, c *genericapiserver.Config) http.Handler {
		// Innermost, so that a fault comes only after authentication and authorization.
		return genericapiserver.DefaultBuildHandlerChain(s.Faults.wrap(ctx, api), c)
	}
	server, err := base.Server()
	if err != nil {
		return prepared{}, fmt.Errorf("build: %w", err)
	}
	server.GenericAPIServer.ShutdownTimeout = shutdownTimeout
	requestHeader := serverConfig.GenericConfig.Authentication.RequestHeaderConfig
	if requestHeader == nil {
		return prepared{}, errors.New("the cluster has no request-header configuration")
	}
	return prepared{
		run: server.GenericAPIServer.PrepareRun().RunWithContext, frontProxyCA: requestHeader.CAContentProvider,
	}, nil
}

// Port returns the port of the adapter.
func (s *Server) Port() int { return s.port }

// Done is closed when the server has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Close ends the server and returns why it ended if that was not its end by Close or context.
func (s *Server) Close() error {
	s.cancel()
	<-s.done
	return s.err
}
