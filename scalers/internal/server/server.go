// Package server serves the controller in the protocol of external scalers. It passes each request to the process of
// the trigger's type.
package server

import (
	"context"
	"errors"
	"time"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/job"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/objects"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/triggers"
)

// Objects has the metrics of WorkloadAutoscalers.
type Objects interface {
	Job(namespace, name, metric, text string) (job.Job, error)
}

// Processes has a connection to the process for each type of trigger.
type Processes interface {
	// Connection starts the process if it does not run.
	Connection(trigger string) (*grpc.ClientConn, error)
	// Running returns nil if the process does not run.
	Running(trigger string) *grpc.ClientConn
	// WhyEnded returns why the process with the connection ended; nil if it is not known.
	WhyEnded(ctx context.Context, trigger string, connection *grpc.ClientConn) error
}

const (
	// notSeenTimeout is how long a request waits for its metric to be in the cache, and notSeenPeriod how often it checks.
	notSeenTimeout = time.Second
	notSeenPeriod  = 50 * time.Millisecond
	// forgetTimeout bounds the request that tells a process of a metric that was deleted.
	forgetTimeout = time.Second
)

// Server serves the controller.
type Server struct {
	pb.UnimplementedExternalScalerServer

	Objects   Objects
	Processes Processes
}

// IsActive passes the request on.
func (s *Server) IsActive(ctx context.Context, ref *pb.ScaledObjectRef) (*pb.IsActiveResponse, error) {
	r, err := s.route(ctx, ref)
	if err != nil {
		return nil, err
	}
	response, err := r.process.IsActive(ctx, r.ref)
	return response, s.withReason(ctx, r, err)
}

// GetMetricSpec passes the request on.
func (s *Server) GetMetricSpec(ctx context.Context, ref *pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
	r, err := s.route(ctx, ref)
	if err != nil {
		return nil, err
	}
	response, err := r.process.GetMetricSpec(ctx, r.ref)
	return response, s.withReason(ctx, r, err)
}

// GetMetrics passes the request on.
func (s *Server) GetMetrics(ctx context.Context, request *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	r, err := s.route(ctx, request.GetScaledObjectRef())
	if err != nil {
		return nil, err
	}
	response, err := r.process.GetMetrics(ctx, &pb.GetMetricsRequest{
		ScaledObjectRef: r.ref, MetricName: request.GetMetricName(),
	})
	return response, s.withReason(ctx, r, err)
}

// Forget lets the process of a metric that was deleted, or got another type, close its scaler. Without it the process
// does so when the metric is unused for a while.
func (s *Server) Forget(id, trigger string) {
	connection := s.Processes.Running(trigger)
	if connection == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), forgetTimeout)
	defer cancel()
	_, _ = pb.NewExternalScalerClient(connection).IsActive(ctx, &pb.ScaledObjectRef{
		ScalerMetadata: map[string]string{job.DeletedKey: id},
	})
}

// job returns the metric of a request. It waits up to a second for an object that was just edited: the edit may have
// reached the controller first.
func (s *Server) job(ctx context.Context, ref *pb.ScaledObjectRef) (job.Job, error) {
	metadata := ref.GetScalerMetadata()
	ctx, cancel := context.WithTimeout(ctx, notSeenTimeout)
	defer cancel()
	ticker := time.NewTicker(notSeenPeriod)
	defer ticker.Stop()
	for {
		j, err := s.Objects.Job(ref.GetNamespace(), ref.GetName(), metadata[job.MetricKey], metadata[job.ScalerKey])
		if !errors.Is(err, objects.ErrNotSeen) {
			return j, err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return job.Job{}, err
		}
	}
}

// routed is a request for a process.
type routed struct {
	trigger    string
	connection *grpc.ClientConn
	process    pb.ExternalScalerClient
	ref        *pb.ScaledObjectRef
}

// route returns the process for the request, and the request for the process.
func (s *Server) route(ctx context.Context, ref *pb.ScaledObjectRef) (*routed, error) {
	j, err := s.job(ctx, ref)
	switch {
	case errors.Is(err, objects.ErrNotSeen):
		return nil, status.Error(codes.NotFound, err.Error())
	case err != nil:
		return nil, status.Error(codes.Internal, err.Error())
	}
	if err := triggers.Check(j.Scaler.Type, j.Scaler.Metadata); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	connection, err := s.Processes.Connection(j.Scaler.Type)
	if err != nil {
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	return &routed{
		trigger: j.Scaler.Type, connection: connection, process: pb.NewExternalScalerClient(connection),
		ref: &pb.ScaledObjectRef{
			Namespace: ref.GetNamespace(), Name: ref.GetName(), ScalerMetadata: map[string]string{job.JobKey: j.Encode()},
		},
	}, nil
}

// withReason replaces the error of a connection that broke by the reason for which its process ended.
func (s *Server) withReason(ctx context.Context, r *routed, err error) error {
	if code := status.Code(err); code != codes.Unavailable && code != codes.Canceled {
		return err
	}
	if reason := s.Processes.WhyEnded(ctx, r.trigger, r.connection); reason != nil {
		return status.Error(codes.FailedPrecondition, reason.Error())
	}
	return status.Errorf(codes.FailedPrecondition, "the connection to the process of type %s broke", r.trigger)
}
