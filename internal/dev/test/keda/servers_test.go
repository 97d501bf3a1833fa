//go:build keda

package keda

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/plimsoll-dev/plimsoll/internal/collect/externalscaler/pb"
)

// servers are the servers for KEDA's triggers, and for Plimsoll: a server with Prometheus' API and an external scaler.
// Both have queues, whose lengths the tests set.
type servers struct {
	pb.UnimplementedExternalScalerServer

	// prometheus is a URL, scaler an address.
	prometheus, scaler string

	mu      sync.Mutex
	lengths map[string]float64       // guarded by mu
	streams map[string]int           // open streams of each queue; guarded by mu
	changed map[string]chan struct{} // closed when a queue's length is set; guarded by mu
}

// queueKey is the key of a queue's name in the scaler's metadata.
const queueKey = "queue"

func serve() (*servers, error) {
	s := &servers{lengths: map[string]float64{}, streams: map[string]int{}, changed: map[string]chan struct{}{}}
	s.prometheus = httptest.NewServer(http.HandlerFunc(s.query)).URL
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s.scaler = listener.Addr().String()
	server := grpc.NewServer()
	pb.RegisterExternalScalerServer(server, s)
	go func() { _ = server.Serve(listener) }() // It ends with the tests.
	return s, nil
}

// set sets the length of a queue.
func (s *servers) set(queue string, length float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lengths[queue] = length
	if changed := s.changed[queue]; changed != nil {
		close(changed)
		delete(s.changed, queue)
	}
}

// lose makes a queue unknown.
func (s *servers) lose(queue string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.lengths, queue)
}

func (s *servers) length(queue string) (float64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	length, ok := s.lengths[queue]
	return length, ok
}

// open is the number of streams of a queue.
func (s *servers) open(queue string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[queue]
}

// query answers as Prometheus does, an empty vector where there is no such queue.
func (s *servers) query(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	element := ""
	if length, ok := s.length(r.FormValue("query")); ok {
		element = fmt.Sprintf(`{"metric":{},"value":[%d,"%g"]}`, time.Now().Unix(), length)
	}
	fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`, element)
}

// IsActive implements the protocol.
func (s *servers) IsActive(_ context.Context, r *pb.ScaledObjectRef) (*pb.IsActiveResponse, error) {
	length, _ := s.length(r.GetScalerMetadata()[queueKey])
	return &pb.IsActiveResponse{Result: length > 0}, nil
}

// StreamIsActive implements the protocol.
func (s *servers) StreamIsActive(
	r *pb.ScaledObjectRef, stream grpc.ServerStreamingServer[pb.IsActiveResponse],
) error {
	queue := r.GetScalerMetadata()[queueKey]
	s.count(queue, 1)
	defer s.count(queue, -1)
	for {
		changed := s.next(queue)
		length, _ := s.length(queue)
		if err := stream.Send(&pb.IsActiveResponse{Result: length > 0}); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-stream.Context().Done():
			return nil
		}
	}
}

func (s *servers) count(queue string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams[queue] += n
}

// next is closed when the queue's length is set.
func (s *servers) next(queue string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changed[queue] == nil {
		s.changed[queue] = make(chan struct{})
	}
	return s.changed[queue]
}

// GetMetricSpec implements the protocol.
func (s *servers) GetMetricSpec(context.Context, *pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
	length := &pb.MetricSpec{MetricName: "length", TargetSizeFloat: perReplica}
	return &pb.GetMetricSpecResponse{MetricSpecs: []*pb.MetricSpec{length}}, nil
}

// GetMetrics implements the protocol.
func (s *servers) GetMetrics(_ context.Context, r *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	length, ok := s.length(r.GetScaledObjectRef().GetScalerMetadata()[queueKey])
	if !ok {
		return nil, errors.New("there is no such queue")
	}
	return &pb.GetMetricsResponse{MetricValues: []*pb.MetricValue{
		{MetricName: r.GetMetricName(), MetricValueFloat: length}}}, nil
}
