package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"k8s.io/client-go/dynamic"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/apiserver"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/landlock"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/objects"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/server"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/supervisor"
)

const (
	// maxRequestBytes is above a metric's largest form: 64 values of 4,096 characters, each of up to 6 bytes where JSON
	// escapes it.
	maxRequestBytes = 2 << 20
	// maxStreams is above the number of metrics that the controller has in one connection.
	maxStreams = 250
	// finishTimeout is how long requests in progress may take after SIGTERM: the controller waits for 10 s by default.
	// Then the processes end, which takes up to 8 s. A pod has 30 s for both.
	finishTimeout = 10 * time.Second
	readTimeout   = 10 * time.Second
)

// serveOptions are the flags of the command serve.
type serveOptions struct {
	cluster       clusterOptions
	scaler        scalerOptions
	address       string
	healthAddress string
	certFile      string
	keyFile       string
	memoryMiB     int64
	totalMiB      int64
	filesMiB      int64
	directory     string
}

func newServe() *cobra.Command {
	o := &serveOptions{}
	command := &cobra.Command{
		Use:   "serve",
		Short: "Serves the metrics of WorkloadAutoscalers to the controller",
		Long: "Serves the metrics of WorkloadAutoscalers to the controller, in KEDA's protocol of external scalers. Each " +
			"type of trigger has a process of its own.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context()) },
	}
	fs := command.Flags()
	o.cluster.add(fs)
	o.scaler.add(fs)
	fs.StringVar(&o.address, "bind-address", ":9090", "The address on which the controller is served.")
	fs.StringVar(&o.healthAddress, "health-probe-bind-address", ":8081", "The address of /healthz, /readyz and /metrics.")
	fs.StringVar(&o.certFile, "tls-cert-file", "",
		"The certificate of the server. It is read anew when it changes. Without it connections are not encrypted.")
	fs.StringVar(&o.keyFile, "tls-private-key-file", "", "The key of the certificate.")
	fs.Int64Var(&o.memoryMiB, "max-memory-per-type", 512,
		"The memory that the process of one type of trigger may use, in MiB, beside the program itself. A process with "+
			"more is ended, and started again.")
	fs.Int64Var(&o.totalMiB, "max-memory", 3584,
		"The memory for the processes of all types, in MiB. No further process is started where all of them with "+
			"--max-memory-per-type would use more.")
	fs.Int64Var(&o.filesMiB, "max-temporary-files", 56,
		"The size of the temporary files of the processes of all types, in MiB. Each type has an equal share. A process "+
			"with more is ended, and started again without any.")
	fs.StringVar(&o.directory, "socket-directory", os.TempDir(),
		"The directory of the sockets and temporary files of these processes.")
	return command
}

func (o *serveOptions) validate() error {
	const least = 256
	switch {
	case (o.certFile == "") != (o.keyFile == ""):
		return errors.New("--tls-cert-file and --tls-private-key-file belong together: set both or none")
	case o.memoryMiB < least:
		return fmt.Errorf("--max-memory-per-type: %d: must be at least %d", o.memoryMiB, least)
	case o.totalMiB < o.memoryMiB:
		return fmt.Errorf("--max-memory: %d: must be at least that of --max-memory-per-type, %d", o.totalMiB, o.memoryMiB)
	case o.filesMiB < 1:
		return fmt.Errorf("--max-temporary-files: %d: must be at least 1", o.filesMiB)
	}
	if err := o.scaler.validate(); err != nil {
		return err
	}
	return landlock.Check(o.folders()...)
}

func (o *serveOptions) run(ctx context.Context) error {
	if err := o.validate(); err != nil {
		return err
	}
	log := newLog()
	config, err := o.cluster.config()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	directory, remove, err := supervisor.Directory(o.directory)
	if err != nil {
		return err
	}
	defer func() { _ = remove() }()
	api, err := (&net.ListenConfig{}).Listen(ctx, "unix", filepath.Join(directory, "api-server.sock"))
	if err != nil {
		return err
	}
	token := rand.Text()
	metrics := prometheus.NewRegistry()
	processes := supervisor.New(supervisor.Config{
		Command:     func(trigger, socket string) []string { return o.work(trigger, socket, api.Addr().String()) },
		Environment: []string{apiserver.TokenVariable + "=" + token},
		Directory:   directory, Memory: o.memoryMiB << 20, TotalMemory: o.totalMiB << 20,
		TemporaryFiles: o.filesPerType(), Registerer: metrics, Log: log,
	})
	s := &server.Server{Processes: processes}
	cache, err := objects.New(client, s.Forget)
	if err != nil {
		return err
	}
	s.Objects = cache
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.address)
	if err != nil {
		return err
	}
	g := grpc.NewServer(o.grpcOptions()...)
	pb.RegisterExternalScalerServer(g, s)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	isReady := func() bool { return cache.HasSynced() && ctx.Err() == nil }
	log.Info("serving", "address", listener.Addr().String())
	readObjects := func(ctx context.Context) error {
		err := apiserver.Serve(ctx, config, api, token)
		if err != nil {
			cancel() // The server is ready no more.
		}
		return err
	}
	return server.Serve(ctx, g, listener, finishTimeout, server.Lasting(cache.Run), server.Lasting(processes.Run),
		readObjects, server.Lasting(func(ctx context.Context) {
			serveHealth(ctx, o.healthAddress, isReady, metrics, log)
		}))
}

// folders returns those whose files the processes may not read.
func (o *serveOptions) folders() []string {
	folders := []string{o.cluster.account}
	for _, path := range []string{o.cluster.kubeconfig, o.certFile, o.keyFile} {
		if path != "" {
			folders = append(folders, filepath.Dir(path))
		}
	}
	return folders
}

// work returns the arguments of the process for a type.
func (o *serveOptions) work(trigger, socket, apiSocket string) []string {
	return []string{
		"work", "--type=" + trigger, "--socket=" + socket, "--api-socket=" + apiSocket,
		"--http-timeout=" + o.scaler.httpTimeout.String(), "--max-memory-per-type=" + strconv.FormatInt(o.memoryMiB, 10),
	}
}

// filesPerType returns the bytes that the temporary files of a type may have.
func (o *serveOptions) filesPerType() int64 {
	types := o.totalMiB / o.memoryMiB
	return o.filesMiB << 20 / types
}

func (o *serveOptions) grpcOptions() []grpc.ServerOption {
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxRequestBytes), grpc.MaxConcurrentStreams(maxStreams),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}),
	}
	if o.certFile == "" {
		return options
	}
	return append(options, grpc.Creds(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS13,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(o.certFile, o.keyFile)
			return &pair, err
		},
	})))
}

// serveHealth serves /healthz, /readyz and /metrics until the context ends.
func serveHealth(
	ctx context.Context, address string, isReady func() bool, metrics prometheus.Gatherer, log logr.Logger,
) {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if isReady() {
			return
		}
		http.Error(w, "the WorkloadAutoscalers are not read yet, or plimsoll-scalers is shutting down",
			http.StatusServiceUnavailable)
	})
	s := &http.Server{Addr: address, Handler: mux, ReadTimeout: readTimeout, WriteTimeout: readTimeout}
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Error(err, "probes cannot be served", "address", address)
	}
}
