package scaler

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/plimsoll-dev/plimsoll/internal/collect/externalscaler/pb"
)

// patience is more than a call ever takes.
const patience = 30 * time.Second

func serve(t *testing.T, config Config) (*Server, pb.ExternalScalerClient) {
	t.Helper()
	s, err := Serve(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(s.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, pb.NewExternalScalerClient(conn)
}

func refOf(name string, metadata map[string]string) *pb.ScaledObjectRef {
	return &pb.ScaledObjectRef{Namespace: "team-a", Name: name, ScalerMetadata: metadata}
}

func TestStates(t *testing.T) {
	s, client := serve(t, Config{})
	s.Set("team-a", "worker", State{IsActive: true, Metrics: []Metric{{"queue", 12, 5}, {"rate", 2.5, 0.5}}})
	s.Set("", "", State{Metrics: []Metric{{Name: "queue", Value: 1}}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	worker, other := refOf("worker", nil), refOf("other", map[string]string{"metricThreshold": "6.25"})
	active, err := client.IsActive(ctx, worker)
	if err != nil || !active.GetResult() {
		t.Error(active, err)
	}
	if active, err = client.IsActive(ctx, other); err != nil || active.GetResult() || s.Calls(IsActive) != 2 {
		t.Error(active, err)
	}
	spec, err := client.GetMetricSpec(ctx, worker)
	if err != nil || len(spec.GetMetricSpecs()) != 2 || spec.GetMetricSpecs()[0].GetTargetSize() != 5 ||
		spec.GetMetricSpecs()[1].GetTargetSizeFloat() != 0.5 {
		t.Error(spec, err)
	}
	if spec, err = client.GetMetricSpec(ctx, other); err != nil || spec.GetMetricSpecs()[0].GetTargetSizeFloat() != 6.25 {
		t.Error(spec, err)
	}
}

func TestValues(t *testing.T) {
	s, client := serve(t, Config{})
	s.Set("team-a", "worker", State{Metrics: []Metric{{"queue", 12, 5}, {"rate", 2.5, 0.5}}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for name, want := range map[string]*pb.MetricValue{
		"queue": {MetricName: "queue", MetricValue: 12}, "rate": {MetricName: "rate", MetricValueFloat: 2.5},
	} {
		request := &pb.GetMetricsRequest{ScaledObjectRef: refOf("worker", nil), MetricName: name}
		values, err := client.GetMetrics(ctx, request)
		if err != nil || len(values.GetMetricValues()) != 1 || !proto.Equal(values.GetMetricValues()[0], want) {
			t.Error(values, err)
		}
	}
}

func TestPush(t *testing.T) {
	s, client := serve(t, Config{})
	s.Set("team-a", "worker", State{IsActive: true})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := client.StreamIsActive(ctx, refOf("worker", nil))
	if err != nil {
		t.Fatal(err)
	}
	receive := func(want bool) {
		t.Helper()
		if response, err := stream.Recv(); err != nil || response.GetResult() != want {
			t.Error(response, err)
		}
	}
	receive(true)
	if s.Push("team-a", "worker", false) != 1 || s.Push("team-a", "worker", true) != 1 || s.Push("team-a", "x", true) != 0 {
		t.Error("the push goes to other streams")
	}
	receive(false)
	receive(true)
	_, pollOnly := serve(t, Config{IsPollOnly: true})
	if stream, err = pollOnly.StreamIsActive(ctx, refOf("worker", nil)); err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Unimplemented {
		t.Error(err)
	}
}

func TestFaults(t *testing.T) {
	s, client := serve(t, Config{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	request := &pb.GetMetricsRequest{ScaledObjectRef: refOf("worker", nil), MetricName: "queue"}
	s.Faults.Set(GetMetrics, Fault{Delay: time.Millisecond, Code: codes.FailedPrecondition})
	if _, err := client.GetMetrics(ctx, request); status.Code(err) != codes.FailedPrecondition {
		t.Error(err)
	}
	s.Faults.Set(GetMetrics, Fault{ExtraValues: 3, ExtraBytes: 7})
	values, err := client.GetMetrics(ctx, request)
	if err != nil || len(values.GetMetricValues()) != 4 || len(values.GetMetricValues()[3].GetMetricName()) != 7 {
		t.Error(values, err)
	}
	s.Faults.Set(GetMetrics, Fault{Hangs: true})
	short, end := context.WithTimeout(ctx, 20*time.Millisecond)
	defer end()
	if _, err := client.GetMetrics(short, request); status.Code(err) != codes.DeadlineExceeded {
		t.Error(err)
	}
	s.Faults.Clear()
	if _, err := client.GetMetrics(ctx, request); err != nil {
		t.Error(err)
	}
	s.Faults.Set(StreamIsActive, Fault{Floods: true})
	stream, err := client.StreamIsActive(ctx, refOf("worker", nil))
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if response, err := stream.Recv(); err != nil || !response.GetResult() {
			t.Fatal(response, err)
		}
	}
}
