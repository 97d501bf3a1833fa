package externalscaler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/plimsoll-dev/plimsoll/internal/collect/externalscaler/pb"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// scaler is a server of the protocol. A call without a function is unimplemented.
type scaler struct {
	pb.UnimplementedExternalScalerServer

	// mu guards all of the following.
	mu       sync.Mutex
	isActive func(*pb.ScaledObjectRef) (bool, error)
	stream   func(*pb.ScaledObjectRef, grpc.ServerStreamingServer[pb.IsActiveResponse]) error
	spec     func(*pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error)
	metrics  func(context.Context, *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error)

	calls map[string]int
	// refs are those of all calls.
	refs        []*pb.ScaledObjectRef
	lastMetrics *pb.GetMetricsRequest
}

func (s *scaler) count(call string, ref *pb.ScaledObjectRef) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		s.calls = map[string]int{}
	}
	s.calls[call]++
	s.refs = append(s.refs, ref)
}

// change changes the functions.
func (s *scaler) change(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// now is one of the functions.
func now[F any](s *scaler, function *F) F {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *function
}

func (s *scaler) called(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[call]
}

func (s *scaler) IsActive(ctx context.Context, ref *pb.ScaledObjectRef) (*pb.IsActiveResponse, error) {
	s.count("IsActive", ref)
	answer := now(s, &s.isActive)
	if answer == nil {
		return s.UnimplementedExternalScalerServer.IsActive(ctx, ref)
	}
	result, err := answer(ref)
	return &pb.IsActiveResponse{Result: result}, err
}

func (s *scaler) StreamIsActive(
	ref *pb.ScaledObjectRef, stream grpc.ServerStreamingServer[pb.IsActiveResponse],
) error {
	s.count("StreamIsActive", ref)
	answer := now(s, &s.stream)
	if answer == nil {
		return s.UnimplementedExternalScalerServer.StreamIsActive(ref, stream)
	}
	return answer(ref, stream)
}

func (s *scaler) GetMetricSpec(ctx context.Context, ref *pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
	s.count("GetMetricSpec", ref)
	answer := now(s, &s.spec)
	if answer == nil {
		return s.UnimplementedExternalScalerServer.GetMetricSpec(ctx, ref)
	}
	return answer(ref)
}

func (s *scaler) GetMetrics(ctx context.Context, request *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	s.count("GetMetrics", request.GetScaledObjectRef())
	s.mu.Lock()
	s.lastMetrics = request
	s.mu.Unlock()
	answer := now(s, &s.metrics)
	if answer == nil {
		return s.UnimplementedExternalScalerServer.GetMetrics(ctx, request)
	}
	return answer(ctx, request)
}

// queue is a scaler with one metric: 12 waiting, with a target of 5 for each replica.
func queue() *scaler {
	return &scaler{
		isActive: func(*pb.ScaledObjectRef) (bool, error) { return false, nil },
		spec: func(*pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
			return &pb.GetMetricSpecResponse{MetricSpecs: []*pb.MetricSpec{{MetricName: "queue", TargetSize: 5}}}, nil
		},
		metrics: func(context.Context, *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
			return &pb.GetMetricsResponse{MetricValues: []*pb.MetricValue{{MetricName: "queue", MetricValue: 12}}}, nil
		},
	}
}

// network has scalers by namespace and host.
type network struct {
	mu        sync.Mutex
	listeners map[string]*bufconn.Listener
	dials     map[string]int
}

func newNetwork() *network {
	return &network{listeners: map[string]*bufconn.Listener{}, dials: map[string]int{}}
}

// serve starts a server for namespace/host. It stops at the end of the test at the latest.
func (n *network) serve(t *testing.T, where string, s *scaler, options ...grpc.ServerOption) *grpc.Server {
	t.Helper()
	listener := bufconn.Listen(64 << 10)
	n.mu.Lock()
	n.listeners[where] = listener
	n.mu.Unlock()
	server := grpc.NewServer(options...)
	pb.RegisterExternalScalerServer(server, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	return server
}

func (n *network) dial(ctx context.Context, namespace, host string, port uint16) (net.Conn, error) {
	where := namespace + "/" + host
	n.mu.Lock()
	n.dials[where]++
	listener := n.listeners[where]
	n.mu.Unlock()
	if listener == nil {
		return nil, fmt.Errorf("%s:%d: %w", where, port, errRefused)
	}
	return listener.DialContext(ctx)
}

var errRefused = errors.New("refused")

func (n *network) dialed(where string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials[where]
}

// notices are calls of a Source.
type notices struct {
	mu              sync.Mutex
	sampled, pushed map[observe.Key][]time.Time
}

func (n *notices) onSampled(key observe.Key) { n.add(n.sampled, key) }
func (n *notices) onPushed(key observe.Key)  { n.add(n.pushed, key) }

func (n *notices) add(to map[observe.Key][]time.Time, key observe.Key) {
	n.mu.Lock()
	defer n.mu.Unlock()
	to[key] = append(to[key], time.Now())
}

func (n *notices) pushes(key observe.Key) []time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]time.Time(nil), n.pushed[key]...)
}

func (n *notices) samples(key observe.Key) []time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]time.Time(nil), n.sampled[key]...)
}

// run runs a source until the test ends, or the function is called.
func run(t *testing.T, config Config) (*Source, *notices, func()) {
	t.Helper()
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	n, end := runAgain(t, s)
	return s, n, end
}

func runAgain(t *testing.T, s *Source) (*notices, func()) {
	t.Helper()
	n := &notices{sampled: map[observe.Key][]time.Time{}, pushed: map[observe.Key][]time.Time{}}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx, n.onSampled, n.onPushed)
	}()
	end := sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(end)
	return n, end
}

var worker = observe.WLA("team-a", "worker")

// spec is a metric of a scaler with an interval of five seconds.
func spec() *sources.ExternalScaler {
	return &sources.ExternalScaler{
		Address: "scaler:6000", Interval: 5 * time.Second, Timeout: 3 * time.Second, IsPushed: true,
	}
}

// look sets one metric of an object, and returns its latest result.
func (s *Source) look(key observe.Key, spec *sources.ExternalScaler) sources.Answer {
	s.Set(key, []sources.Spec{{ExternalScaler: spec}})
	return s.Latest(time.Now(), key, spec)
}

// settle advances virtual time, and waits for the goroutines.
func settle(d time.Duration) {
	if d > 0 {
		time.Sleep(d) //nolint:forbidigo // virtual time: it passes at once
	}
	synctest.Wait()
}
