package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/job"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/objects"
)

// cluster has one metric, which it sees with the given call.
type cluster struct {
	trigger string
	seen    int64
	calls   atomic.Int64
}

func (c *cluster) Job(namespace, name, metric, text string) (job.Job, error) {
	j := job.Job{
		Namespace: namespace, Object: name, Metric: metric, Scaler: job.Scaler{Type: c.trigger},
		Target: job.Target{Kind: "Deployment", Name: "web"},
	}
	if c.calls.Add(1) < c.seen || namespace != "shop" || !j.Scaler.Is(text) {
		return job.Job{}, fmt.Errorf("%w: %s/%s", objects.ErrNotSeen, namespace, name)
	}
	return j, nil
}

// process is the process of a type. It answers with what it was asked.
type process struct {
	pb.UnimplementedExternalScalerServer

	connection *grpc.ClientConn
	err        error
	jobs       []string
}

func (p *process) Connection(string) (*grpc.ClientConn, error) { return p.connection, p.err }

func (p *process) IsActive(_ context.Context, ref *pb.ScaledObjectRef) (*pb.IsActiveResponse, error) {
	p.jobs = append(p.jobs, ref.GetScalerMetadata()[job.JobKey])
	return &pb.IsActiveResponse{Result: true}, nil
}

func (p *process) GetMetrics(context.Context, *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	return nil, status.Error(codes.Unavailable, "transport is closing")
}

func start(t *testing.T) *process {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	p, g := &process{}, grpc.NewServer()
	pb.RegisterExternalScalerServer(g, p)
	go func() { _ = g.Serve(listener) }()
	t.Cleanup(g.Stop)
	var err error
	p.connection, err = grpc.NewClient("passthrough:///process", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func request(namespace, trigger string) *pb.ScaledObjectRef {
	return &pb.ScaledObjectRef{Namespace: namespace, Name: "jobs", ScalerMetadata: map[string]string{
		job.MetricKey: "queue", job.ScalerKey: `{"type":"` + trigger + `"}`,
	}}
}

func TestPassesTheObjectsOwnFieldsOn(t *testing.T) {
	p := start(t)
	s := &Server{Objects: &cluster{trigger: "redis", seen: 3}, Processes: p}
	response, err := s.IsActive(t.Context(), request("shop", "redis"))
	if err != nil || !response.GetResult() {
		t.Fatalf("got %v, %v", response, err)
	}
	if len(p.jobs) != 1 || !strings.Contains(p.jobs[0], `"kind":"Deployment"`) {
		t.Errorf("the process got %q", p.jobs)
	}
}

func TestRefuses(t *testing.T) {
	p := start(t)
	for name, test := range map[string]struct {
		request *pb.ScaledObjectRef
		trigger string
		err     error
		want    codes.Code
	}{
		"another namespace":  {request("kube-system", "redis"), "redis", nil, codes.NotFound},
		"other fields":       {request("shop", "postgresql"), "redis", nil, codes.NotFound},
		"no such trigger":    {request("shop", "kafkaa"), "kafkaa", nil, codes.InvalidArgument},
		"the process ended":  {request("shop", "redis"), "redis", errors.New("it ended"), codes.FailedPrecondition},
		"a trigger of a HPA": {request("shop", "cpu"), "cpu", nil, codes.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			p.err = test.err
			s := &Server{Objects: &cluster{trigger: test.trigger}, Processes: p}
			if _, err := s.GetMetricSpec(t.Context(), test.request); status.Code(err) != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// secret is a metric that would show a Secret.
type secret struct{}

func (secret) Job(namespace, name, metric, _ string) (job.Job, error) {
	return job.Job{Namespace: namespace, Object: name, Metric: metric, Scaler: job.Scaler{
		Type: "kubernetes-resource", Metadata: map[string]string{"resourceKind": "Secret"},
	}}, nil
}

func (secret) Connection(string) (*grpc.ClientConn, error) { panic("a process is started") }

func TestChecksMetadataWithoutAProcess(t *testing.T) {
	s := &Server{Objects: secret{}, Processes: secret{}}
	_, err := s.GetMetricSpec(t.Context(), request("shop", "kubernetes-resource"))
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "resourceKind") {
		t.Errorf("got %v", err)
	}
}

func TestLostProcess(t *testing.T) {
	s := &Server{Objects: &cluster{trigger: "redis"}, Processes: start(t)}
	_, err := s.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: request("shop", "redis")})
	if status.Code(err) != codes.FailedPrecondition || strings.Contains(err.Error(), "transport") {
		t.Errorf("got %v", err)
	}
}
