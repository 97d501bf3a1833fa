package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	// err is why it cannot be started, ended why it ended, and lost the error of the connection.
	err, ended, lost error
	// refs has the requests.
	refs []*pb.ScaledObjectRef
	// isActive may be nil.
	isActive func()
}

func (p *process) Connection(string) (*grpc.ClientConn, error) { return p.connection, p.err }

func (p *process) Running(trigger string) *grpc.ClientConn {
	if trigger != "redis" {
		return nil
	}
	return p.connection
}

func (p *process) WhyEnded(_ context.Context, trigger string, connection *grpc.ClientConn) error {
	if trigger != "redis" || connection != p.connection {
		panic("of another process")
	}
	return p.ended
}

func (p *process) IsActive(_ context.Context, ref *pb.ScaledObjectRef) (*pb.IsActiveResponse, error) {
	p.refs = append(p.refs, ref)
	if p.isActive != nil {
		p.isActive()
	}
	return &pb.IsActiveResponse{Result: true}, p.lost
}

func (p *process) GetMetricSpec(_ context.Context, ref *pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
	p.refs = append(p.refs, ref)
	return &pb.GetMetricSpecResponse{MetricSpecs: []*pb.MetricSpec{{MetricName: "length"}}}, p.lost
}

func (p *process) GetMetrics(_ context.Context, r *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	p.refs = append(p.refs, r.GetScaledObjectRef())
	return &pb.GetMetricsResponse{MetricValues: []*pb.MetricValue{{MetricName: r.GetMetricName()}}}, p.lost
}

// requests makes a request of each kind.
func requests(t *testing.T, s *Server, ref *pb.ScaledObjectRef) map[string]error {
	t.Helper()
	errs := map[string]error{}
	active, err := s.IsActive(t.Context(), ref)
	if errs["IsActive"] = err; err == nil && !active.GetResult() {
		t.Error("IsActive: the response is lost")
	}
	spec, err := s.GetMetricSpec(t.Context(), ref)
	if errs["GetMetricSpec"] = err; err == nil && spec.GetMetricSpecs()[0].GetMetricName() != "length" {
		t.Errorf("GetMetricSpec: %v", spec)
	}
	metrics, err := s.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: ref, MetricName: "length"})
	if errs["GetMetrics"] = err; err == nil && metrics.GetMetricValues()[0].GetMetricName() != "length" {
		t.Errorf("GetMetrics: %v", metrics)
	}
	return errs
}

func start(t *testing.T) *process {
	t.Helper()
	listener := bufconn.Listen(1 << 16)
	p, g := &process{}, grpc.NewServer()
	pb.RegisterExternalScalerServer(g, p)
	go func() { _ = g.Serve(listener) }()
	t.Cleanup(g.Stop)
	p.connection = dial(t, listener)
	return p
}

func dial(t *testing.T, listener *bufconn.Listener) *grpc.ClientConn {
	t.Helper()
	connection, err := grpc.NewClient("passthrough:///test", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return connection
}

func request(namespace, trigger string) *pb.ScaledObjectRef {
	return &pb.ScaledObjectRef{Namespace: namespace, Name: "jobs", ScalerMetadata: map[string]string{
		job.MetricKey: "queue", job.ScalerKey: `{"type":"` + trigger + `"}`,
	}}
}

// A process gets the metric as the object has it, and nothing else of the request.
func TestPassesTheObjectsOwnFieldsOn(t *testing.T) {
	p := start(t)
	s := &Server{Objects: &cluster{trigger: "redis", seen: 3}, Processes: p}
	ref := request("shop", "redis")
	ref.ScalerMetadata["scalerAddress"] = "attacker:9090"
	for name, err := range requests(t, s, ref) {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	want := job.Job{
		Namespace: "shop", Object: "jobs", Metric: "queue", Target: job.Target{Kind: "Deployment", Name: "web"},
		Scaler: job.Scaler{Type: "redis"},
	}
	for _, ref := range p.refs {
		if metadata := ref.GetScalerMetadata(); !maps.Equal(metadata, map[string]string{job.JobKey: want.Encode()}) ||
			ref.GetNamespace() != "shop" || ref.GetName() != "jobs" {
			t.Errorf("the process got %v", ref)
		}
	}
	if len(p.refs) != 3 {
		t.Errorf("the process got %d requests, want 3", len(p.refs))
	}
}

func TestRefuses(t *testing.T) {
	ended := errors.New("it ended")
	for name, test := range map[string]struct {
		request *pb.ScaledObjectRef
		trigger string
		err     error
		want    codes.Code
		message string
	}{
		"another namespace": {request("kube-system", "redis"), "redis", nil, codes.NotFound, "kube-system/jobs"},
		"other fields":      {request("shop", "postgresql"), "redis", nil, codes.NotFound, "has not seen the metric"},
		"no such trigger":   {request("shop", "kafkaa"), "kafkaa", nil, codes.InvalidArgument, "kafkaa"},
		"the process ended": {request("shop", "redis"), "redis", ended, codes.FailedPrecondition, ended.Error()},
		"no trigger here":   {request("shop", "cpu"), "cpu", nil, codes.InvalidArgument, "type Resource"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			p.err = test.err
			s := &Server{Objects: &cluster{trigger: test.trigger}, Processes: p}
			for request, err := range requests(t, s, test.request) {
				if status.Code(err) != test.want || !strings.Contains(err.Error(), test.message) {
					t.Errorf("%s: got %v, want %s with %q", request, err, test.want, test.message)
				}
			}
			if len(p.refs) > 0 {
				t.Errorf("the process got %v", p.refs)
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

func (secret) Running(string) *grpc.ClientConn { return nil }

func (secret) WhyEnded(context.Context, string, *grpc.ClientConn) error { return nil }

func TestChecksMetadataWithoutAProcess(t *testing.T) {
	s := &Server{Objects: secret{}, Processes: secret{}}
	_, err := s.GetMetricSpec(t.Context(), request("shop", "kubernetes-resource"))
	if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "resourceKind") {
		t.Errorf("got %v", err)
	}
}

// A request whose process ended has the reason as its error.
func TestEndedProcess(t *testing.T) {
	p := start(t)
	s := &Server{Objects: &cluster{trigger: "redis"}, Processes: p}
	for name, c := range map[string]struct {
		lost, ended error
		want        string
	}{
		"the reason": {
			status.Error(codes.Unavailable, "error reading from server: EOF"), errors.New("the process used 412 MiB"),
			"the process used 412 MiB",
		},
		"the reason, after the connection was closed": {
			status.Error(codes.Canceled, "the client connection is closing"), errors.New("the process used 412 MiB"),
			"the process used 412 MiB",
		},
		"an unknown reason": {
			status.Error(codes.Unavailable, "error reading from server: EOF"), nil,
			"the connection to the process of type redis broke",
		},
		"an error of the scaler": {
			status.Error(codes.FailedPrecondition, "connection refused"), errors.New("the process used 412 MiB"),
			"connection refused",
		},
	} {
		p.lost, p.ended = c.lost, c.ended
		for request, err := range requests(t, s, request("shop", "redis")) {
			if status.Code(err) != codes.FailedPrecondition || status.Convert(err).Message() != c.want {
				t.Errorf("%s: %s: got %v, want %s", name, request, err, c.want)
			}
		}
	}
}

func TestForget(t *testing.T) {
	p := start(t)
	s := &Server{Processes: p}
	s.Forget("shop/jobs/queue", "kafka")
	if len(p.refs) != 0 {
		t.Errorf("a process of another type got %v", p.refs)
	}
	s.Forget("shop/jobs/queue", "redis")
	if len(p.refs) != 1 || p.refs[0].GetScalerMetadata()[job.DeletedKey] != "shop/jobs/queue" {
		t.Errorf("the process got %v", p.refs)
	}
}
