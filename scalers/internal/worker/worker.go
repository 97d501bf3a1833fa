// Package worker reads metrics with KEDA's scalers of one type. It runs in a process of its own: a scaler that panics
// in a goroutine, or uses all memory, interrupts the metrics of its type alone.
package worker

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/job"
)

const (
	// idleTimeout is how long a scaler is kept after its last call: three of the longest intervals.
	idleTimeout = 15 * time.Minute
	// shutdownTimeout is how long scalers may take to close when the process ends.
	shutdownTimeout = 3 * time.Second
)

// Config configures a Worker.
type Config struct {
	Build Build
	Log   logr.Logger
	// SetHanging is called every minute: with true if the calls of all metrics do not end. Then another process would harm
	// no metric, and might read them.
	SetHanging func(bool)
}

// Worker serves the requests for one type of trigger.
type Worker struct {
	pb.UnimplementedExternalScalerServer

	config  Config
	limiter *limiter

	mu      sync.Mutex
	metrics map[string]*metric
}

// New makes a Worker.
func New(config Config) *Worker {
	return &Worker{config: config, limiter: newLimiter(), metrics: map[string]*metric{}}
}

// IsActive reports whether any of the scaler's metrics is active, as KEDA's operator does. The server sends it for a
// metric that was deleted, too.
func (w *Worker) IsActive(ctx context.Context, ref *pb.ScaledObjectRef) (*pb.IsActiveResponse, error) {
	if id, ok := ref.GetScalerMetadata()[job.DeletedKey]; ok {
		w.forget(id)
		return &pb.IsActiveResponse{}, nil
	}
	m, err := w.metricOf(ref)
	if err != nil {
		return nil, err
	}
	specs, err := m.specs(ctx)
	if err != nil {
		return nil, failed(err)
	}
	for i := range specs {
		r, err := m.read(ctx, specs[i].External.Metric.Name)
		switch {
		case err != nil:
			return nil, failed(err)
		case r.isActive:
			return &pb.IsActiveResponse{Result: true}, nil
		}
	}
	return &pb.IsActiveResponse{}, nil
}

// GetMetricSpec returns the scaler's metrics with their targets.
func (w *Worker) GetMetricSpec(ctx context.Context, ref *pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
	m, err := w.metricOf(ref)
	if err != nil {
		return nil, err
	}
	specs, err := m.specs(ctx)
	if err != nil {
		return nil, failed(err)
	}
	response := &pb.GetMetricSpecResponse{}
	for i := range specs {
		external := specs[i].External
		size := external.Target.AverageValue
		if size == nil {
			size = external.Target.Value
		}
		if size != nil {
			response.MetricSpecs = append(response.MetricSpecs, &pb.MetricSpec{
				MetricName: nameOf(external), TargetSizeFloat: size.AsApproximateFloat64(),
			})
		}
	}
	return response, nil
}

// GetMetrics returns the values of one of the scaler's metrics.
func (w *Worker) GetMetrics(ctx context.Context, request *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
	m, err := w.metricOf(request.GetScaledObjectRef())
	if err != nil {
		return nil, err
	}
	specs, err := m.specs(ctx)
	if err != nil {
		return nil, failed(err)
	}
	i := slices.IndexFunc(specs, func(s autoscalingv2.MetricSpec) bool {
		return nameOf(s.External) == request.GetMetricName()
	})
	if i < 0 {
		return nil, failed(errors.New("KEDA's scaler has no metric of this name"))
	}
	r, err := m.read(ctx, specs[i].External.Metric.Name)
	if err != nil {
		return nil, failed(err)
	}
	response := &pb.GetMetricsResponse{}
	for _, value := range r.values {
		response.MetricValues = append(response.MetricValues, &pb.MetricValue{
			MetricName: request.GetMetricName(), MetricValueFloat: value,
		})
	}
	return response, nil
}

// nameOf returns the name of a metric without the index of a trigger, which is always 0 here: a ScaledObject's status
// has another one for the same metric.
func nameOf(external *autoscalingv2.ExternalMetricSource) string {
	return strings.TrimPrefix(external.Metric.Name, "s0-")
}

// failed is the response for a scaler that cannot be made or read.
func failed(err error) error { return status.Error(codes.FailedPrecondition, err.Error()) }

// metricOf returns the metric of the request. A metric with other fields replaces the one before.
func (w *Worker) metricOf(ref *pb.ScaledObjectRef) (*metric, error) {
	text := ref.GetScalerMetadata()[job.JobKey]
	j, err := job.Decode(text)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.metrics[j.ID()]
	if m != nil && m.text == text {
		return m, nil
	}
	if m != nil {
		m.stop()
	}
	m = newMetric(&j, text, &w.config, w.limiter)
	w.metrics[j.ID()] = m
	return m, nil
}

// forget closes the scaler of a metric that was deleted.
func (w *Worker) forget(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.metrics[id]; m != nil {
		m.stop()
		delete(w.metrics, id)
	}
}

// Run closes scalers that are not used, until the context ends. Then it closes all, and waits a moment for that.
func (w *Worker) Run(ctx context.Context) {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			w.closeUnused(time.Now().Add(-idleTimeout))
			w.config.SetHanging(w.areAllHanging(time.Now()))
		case <-ctx.Done():
			w.closeAll(context.WithoutCancel(ctx))
			return
		}
	}
}

func (w *Worker) closeAll(ctx context.Context) {
	w.closeUnused(time.Now().Add(idleTimeout))
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	w.limiter.wait(ctx)
}

func (w *Worker) closeUnused(since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, m := range w.metrics {
		if m.lastUsed().Before(since) {
			m.stop()
			delete(w.metrics, id)
		}
	}
}

// areAllHanging reports whether there are metrics, and none without a call that does not end.
func (w *Worker) areAllHanging(now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.metrics {
		if !m.isHanging(now) {
			return false
		}
	}
	return len(w.metrics) > 0
}
