// Package server answers the controller in the protocol of external scalers. It passes each request to the process of
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
	Connection(trigger string) (*grpc.ClientConn, error)
}

const (
	// notSeenWait is how long a request waits for its metric to be seen.
	notSeenWait   = time.Second
	notSeenPeriod = 50 * time.Millisecond
)

// Server answers the controller.
type Server struct {
	pb.UnimplementedExternalScalerServer

	Objects   Objects
	Processes Processes
}

// IsActive passes the request on.
func (s *Server) IsActive(ctx context.Context, ref *pb.ScaledObjectRef) (*pb.IsActiveResponse, error) {
	scaler, ref, err := s.route(ctx, ref)
	if err != nil {
		return nil, err
	}
	response, err := scaler.IsActive(ctx, ref)
	return response, lost(err)
}

// GetMetricSpec passes the request on.
func (s *Server) GetMetricSpec(ctx context.Context, ref *pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
	scaler, ref, err := s.route(ctx, ref)
	if err != nil {
		return nil, err
	}
	response, err := scaler.GetMetricSpec(ctx, ref)
	return response, lost(err)
}

// GetMetrics passes the request on.
func (s *Server) GetMetrics(ctx context.Context, request *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	scaler, ref, err := s.route(ctx, request.GetScaledObjectRef())
	if err != nil {
		return nil, err
	}
	response, err := scaler.GetMetrics(ctx, &pb.GetMetricsRequest{
		ScaledObjectRef: ref, MetricName: request.GetMetricName(),
	})
	return response, lost(err)
}

// job returns the metric of a request. It waits a little for an object that was just edited: the controller may have
// seen it first.
func (s *Server) job(ctx context.Context, ref *pb.ScaledObjectRef) (job.Job, error) {
	metadata := ref.GetScalerMetadata()
	ctx, cancel := context.WithTimeout(ctx, notSeenWait)
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

// route returns the process for the request, and the request for the process.
func (s *Server) route(
	ctx context.Context, ref *pb.ScaledObjectRef,
) (pb.ExternalScalerClient, *pb.ScaledObjectRef, error) {
	j, err := s.job(ctx, ref)
	switch {
	case errors.Is(err, objects.ErrNotSeen):
		return nil, nil, status.Error(codes.NotFound, err.Error())
	case err != nil:
		return nil, nil, status.Error(codes.Internal, err.Error())
	}
	if err := triggers.Check(j.Scaler.Type, j.Scaler.Metadata); err != nil {
		return nil, nil, status.Error(codes.InvalidArgument, err.Error())
	}
	connection, err := s.Processes.Connection(j.Scaler.Type)
	if err != nil {
		return nil, nil, status.Error(codes.FailedPrecondition, err.Error())
	}
	return pb.NewExternalScalerClient(connection), &pb.ScaledObjectRef{
		Namespace: ref.GetNamespace(), Name: ref.GetName(), ScalerMetadata: map[string]string{job.JobKey: j.Encode()},
	}, nil
}

// lost replaces the text of a connection to a process that ended during the call.
func lost(err error) error {
	switch status.Code(err) {
	case codes.Unavailable, codes.Canceled:
		return status.Error(codes.FailedPrecondition, "the process of this type of trigger ended during the request")
	default:
		return err
	}
}
