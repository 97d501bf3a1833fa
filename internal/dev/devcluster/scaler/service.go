package scaler

import (
	"context"

	"google.golang.org/grpc"

	"github.com/plimsoll-dev/plimsoll/internal/collect/externalscaler/pb"
)

// service answers the calls.
type service struct {
	pb.UnimplementedExternalScalerServer

	faults     *Faults
	states     *states
	isPollOnly bool
}

// IsActive implements pb.ExternalScalerServer.
func (s *service) IsActive(ctx context.Context, ref *pb.ScaledObjectRef) (*pb.IsActiveResponse, error) {
	if err := s.faults.of(IsActive).apply(ctx); err != nil {
		return nil, err
	}
	return &pb.IsActiveResponse{Result: s.states.of(IsActive, ref).IsActive}, nil
}

// StreamIsActive implements pb.ExternalScalerServer. As KEDA's documentation demands, an active scaler reports that at
// once.
func (s *service) StreamIsActive(
	ref *pb.ScaledObjectRef, stream grpc.ServerStreamingServer[pb.IsActiveResponse],
) error {
	if s.isPollOnly {
		return s.UnimplementedExternalScalerServer.StreamIsActive(ref, stream)
	}
	fault := s.faults.of(StreamIsActive)
	if err := fault.apply(stream.Context()); err != nil {
		return err
	}
	pushes, closeStream := s.states.open(ref)
	defer closeStream()
	if s.states.of(StreamIsActive, ref).IsActive {
		if err := stream.Send(&pb.IsActiveResponse{Result: true}); err != nil {
			return err
		}
	}
	for fault.Floods {
		if err := stream.Send(&pb.IsActiveResponse{Result: true}); err != nil {
			return err
		}
	}
	for {
		select {
		case isActive := <-pushes:
			if err := stream.Send(&pb.IsActiveResponse{Result: isActive}); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		}
	}
}

// GetMetricSpec implements pb.ExternalScalerServer.
func (s *service) GetMetricSpec(ctx context.Context, ref *pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
	if err := s.faults.of(GetMetricSpec).apply(ctx); err != nil {
		return nil, err
	}
	response := &pb.GetMetricSpecResponse{}
	state := s.states.of(GetMetricSpec, ref)
	for i := range state.Metrics {
		response.MetricSpecs = append(response.MetricSpecs, state.Metrics[i].spec(ref.GetScalerMetadata()))
	}
	return response, nil
}

// GetMetrics implements pb.ExternalScalerServer.
func (s *service) GetMetrics(ctx context.Context, request *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	fault := s.faults.of(GetMetrics)
	if err := fault.apply(ctx); err != nil {
		return nil, err
	}
	response := &pb.GetMetricsResponse{}
	state := s.states.of(GetMetrics, request.GetScaledObjectRef())
	for i := range state.Metrics {
		if m := &state.Metrics[i]; m.Name == request.GetMetricName() {
			response.MetricValues = append(response.MetricValues, m.value())
		}
	}
	for range fault.ExtraValues {
		response.MetricValues = append(response.MetricValues, &pb.MetricValue{MetricValue: 1})
	}
	if fault.ExtraBytes > 0 {
		response.MetricValues = append(response.MetricValues, &pb.MetricValue{MetricName: fault.text()})
	}
	return response, nil
}
