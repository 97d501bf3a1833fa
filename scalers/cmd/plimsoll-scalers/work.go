package main

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/build"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/landlock"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/server"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/supervisor"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/worker"
)

// callsTimeout is how long calls in progress may take when the process ends. Then it has a few seconds to close its
// scalers, before the server kills it.
const callsTimeout = 3 * time.Second

// newWork is the process of one type of trigger, which serve starts.
func newWork() *cobra.Command {
	var options scalerOptions
	var trigger, socket, apiSocket string
	var memoryMiB int64
	command := &cobra.Command{
		Use:    "work",
		Short:  "Reads the metrics of one type of trigger, for serve",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := supervisor.LimitMemory(memoryMiB << 20); err != nil {
				return err
			}
			builder, err := options.builder(apiSocket, newLog().WithValues("type", trigger))
			if err != nil {
				return err
			}
			if err := restrict(builder.Log); err != nil {
				return err
			}
			return work(c.Context(), builder, socket)
		},
	}
	fs := command.Flags()
	options.add(fs)
	fs.StringVar(&trigger, "type", "", "The type of trigger.")
	fs.StringVar(&socket, "socket", "", "The path of the socket.")
	fs.StringVar(&apiSocket, "api-socket", "", "The path of the socket at which the API server is read.")
	fs.Int64Var(&memoryMiB, "max-memory-per-type", 512, "The memory that this process may use, in MiB.")
	return command
}

// restrict keeps libraries from the token of the service account: they do not find the API server, and where the kernel
// has Landlock they cannot read the file.
func restrict(log logr.Logger) error {
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "KUBERNETES_") {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	err := landlock.Restrict(landlock.Paths())
	if errors.Is(err, errors.ErrUnsupported) {
		log.Info("the process may read every file of its user: the kernel does not restrict it", "reason", err.Error())
		return nil
	}
	return err
}

func work(ctx context.Context, builder *build.Builder, socket string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return err
	}
	state := health.NewServer()
	w := worker.New(worker.Config{Build: builder.Build, Log: builder.Log, SetHanging: func(isHanging bool) {
		serving := grpc_health_v1.HealthCheckResponse_SERVING
		if isHanging {
			// The server ends the process.
			serving = grpc_health_v1.HealthCheckResponse_NOT_SERVING
		}
		state.SetServingStatus("", serving)
	}})
	g := grpc.NewServer(grpc.MaxRecvMsgSize(maxRequestBytes))
	pb.RegisterExternalScalerServer(g, w)
	grpc_health_v1.RegisterHealthServer(g, state)
	return server.Serve(ctx, g, listener, callsTimeout, server.Lasting(w.Run))
}
