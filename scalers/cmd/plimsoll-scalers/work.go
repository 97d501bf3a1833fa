package main

import (
	"context"
	"net"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/server"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/supervisor"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/worker"
)

// callsTimeout is how long calls in progress may take when the process ends. Then it has a few seconds to close its
// scalers, before the server kills it.
const callsTimeout = 3 * time.Second

// newWork is the process of one type of trigger, which serve starts.
func newWork() *cobra.Command {
	var options clusterOptions
	var trigger, socket string
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
			return work(c.Context(), &options, trigger, socket)
		},
	}
	fs := command.Flags()
	options.add(fs)
	fs.StringVar(&trigger, "type", "", "The type of trigger.")
	fs.StringVar(&socket, "socket", "", "The path of the socket.")
	fs.Int64Var(&memoryMiB, "max-memory-per-type", 512, "The memory that this process may use, in MiB.")
	return command
}

func work(ctx context.Context, options *clusterOptions, trigger, socket string) error {
	log := newLog().WithValues("type", trigger)
	builder, err := options.builder(log)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return err
	}
	state := health.NewServer()
	w := worker.New(worker.Config{Build: builder.Build, Log: log, SetHanging: func(isHanging bool) {
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
	return server.Serve(ctx, g, listener, callsTimeout, w.Run)
}
