package worker

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/metrics/pkg/apis/external_metrics"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/job"
)

// scaler is a scaler of a test.
type scaler struct {
	read  func(ctx context.Context, call int64) (int64, error)
	names []string
	// onSpecs and onClose may be nil.
	onSpecs func()
	onClose func(context.Context)
	calls   atomic.Int64
	closed  atomic.Bool
}

func (s *scaler) GetMetricsAndActivity(
	ctx context.Context, name string,
) ([]external_metrics.ExternalMetricValue, bool, error) {
	value, err := s.read(ctx, s.calls.Add(1))
	return []external_metrics.ExternalMetricValue{{MetricName: name, Value: *resource.NewQuantity(value, "")}},
		value > 0, err
}

func (s *scaler) GetMetricSpecForScaling(context.Context) []autoscalingv2.MetricSpec {
	if s.onSpecs != nil {
		s.onSpecs()
	}
	var specs []autoscalingv2.MetricSpec
	for _, name := range s.names {
		specs = append(specs, autoscalingv2.MetricSpec{External: &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: name},
			Target: autoscalingv2.MetricTarget{AverageValue: resource.NewMilliQuantity(2500, "")},
		}})
	}
	return specs
}

func (s *scaler) Close(ctx context.Context) error {
	if s.onClose != nil {
		s.onClose(ctx)
	}
	s.closed.Store(true)
	return nil
}

// fakeBuilder makes the scalers of a test, one after the other.
type fakeBuilder struct {
	scalers []*scaler
	built   atomic.Int64
	secrets []string
	err     error
	// onBuild is called with the number of the scaler. It may be nil.
	onBuild func(int64)
	hanging atomic.Bool
}

func (b *fakeBuilder) worker() *Worker {
	return New(Config{
		Log: logr.Discard(), SetHanging: b.hanging.Store,
		Build: func(context.Context, *job.Job) (Built, error) {
			n := b.built.Add(1)
			if b.onBuild != nil {
				b.onBuild(n)
			}
			if b.err != nil {
				return Built{Secrets: b.secrets}, b.err
			}
			return Built{Scaler: b.scalers[min(int(n), len(b.scalers))-1], Secrets: b.secrets}, nil
		},
	})
}

func request(object string, metadata map[string]string) *pb.ScaledObjectRef {
	return requestIn("ns", object, metadata)
}

// buildOf makes the same scaler for all metrics of a namespace.
func buildOf(scalers map[string]*scaler) Build {
	return func(_ context.Context, j *job.Job) (Built, error) { return Built{Scaler: scalers[j.Namespace]}, nil }
}

func requestIn(namespace, object string, metadata map[string]string) *pb.ScaledObjectRef {
	j := job.Job{
		Namespace: namespace, Object: object, Metric: "queue", Scaler: job.Scaler{Type: "redis", Metadata: metadata},
	}
	return &pb.ScaledObjectRef{
		Namespace: namespace, Name: object, ScalerMetadata: map[string]string{job.JobKey: j.Encode()},
	}
}

func value(t *testing.T, w *Worker, object string) (float64, error) {
	t.Helper()
	return valueOf(t, w, request(object, nil))
}

// valueOf requests a value, as the controller does with a timeout of 10 s.
func valueOf(t *testing.T, w *Worker, ref *pb.ScaledObjectRef) (float64, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	response, err := w.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: ref, MetricName: "queue"})
	if err != nil {
		return 0, err
	}
	return response.GetMetricValues()[0].GetMetricValueFloat(), nil
}

func fixed(n int64) *scaler {
	return reads(func(context.Context, int64) (int64, error) { return n, nil })
}

func reads(read func(ctx context.Context, call int64) (int64, error)) *scaler {
	return &scaler{read: read, names: []string{"s0-queue"}}
}

func TestPollIsOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fixed(7)
		w := (&fakeBuilder{scalers: []*scaler{s}}).worker()
		active, err := w.IsActive(t.Context(), request("a", nil))
		if err != nil || !active.GetResult() {
			t.Fatalf("got %v, %v", active, err)
		}
		if got, err := value(t, w, "a"); err != nil || got != 7 {
			t.Fatalf("got %v, %v", got, err)
		}
		if calls := s.calls.Load(); calls != 1 {
			t.Errorf("activity and value took %d calls of the scaler, want 1", calls)
		}
		time.Sleep(reuseFor) //nolint:forbidigo // virtual time
		if _, err := value(t, w, "a"); err != nil || s.calls.Load() != 2 {
			t.Errorf("the next poll made %d calls in all (%v), want 2", s.calls.Load(), err)
		}
	})
}

func TestTargets(t *testing.T) {
	w := (&fakeBuilder{scalers: []*scaler{fixed(1)}}).worker()
	response, err := w.GetMetricSpec(t.Context(), request("a", nil))
	if err != nil || len(response.GetMetricSpecs()) != 1 || response.GetMetricSpecs()[0].GetTargetSizeFloat() != 2.5 {
		t.Fatalf("got %v, %v; want a target of 2.5", response, err)
	}
}

func TestFailedScalerIsMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := reads(func(context.Context, int64) (int64, error) { return 0, errors.New("connection reset") })
		builder := &fakeBuilder{scalers: []*scaler{broken, fixed(3)}}
		w := builder.worker()
		if got, err := value(t, w, "a"); err != nil || got != 3 {
			t.Fatalf("got %v, %v", got, err)
		}
		synctest.Wait()
		if !broken.closed.Load() || builder.built.Load() != 2 {
			t.Errorf("closed %v, made %d scalers; want the first one closed, and 2", broken.closed.Load(), builder.built.Load())
		}
	})
}

func TestRetriesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		builder := &fakeBuilder{err: errors.New("password hunter22 is wrong"), secrets: []string{"hunter22", "h"}}
		w := builder.worker()
		for range 5 {
			_, err := value(t, w, "a")
			if err == nil || strings.Contains(err.Error(), "hunter22") || !strings.Contains(err.Error(), "password [hidden]") {
				t.Fatalf("got %v", err)
			}
			time.Sleep(reuseFor) //nolint:forbidigo // virtual time
		}
		// The attempts are at 0 and 1 s; the next is 2 s later.
		if built := builder.built.Load(); built != 2 {
			t.Errorf("%d attempts in %s, want 2", built, 5*reuseFor)
		}
	})
}

func TestUnusedScalersAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fixed(1)
		w := (&fakeBuilder{scalers: []*scaler{s}}).worker()
		if _, err := value(t, w, "a"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.Run(ctx)
		time.Sleep(idleTimeout - time.Minute) //nolint:forbidigo // virtual time
		synctest.Wait()
		if s.closed.Load() {
			t.Fatal("closed too early")
		}
		time.Sleep(3 * time.Minute) //nolint:forbidigo // virtual time
		synctest.Wait()
		if !s.closed.Load() {
			t.Error("not closed")
		}
	})
}

// The names of metrics do not depend on the place of a trigger.
func TestNames(t *testing.T) {
	s := fixed(3)
	s.names = []string{"s0-messages", "s0-bytes", "datadogmetric@shop:queue"}
	w := (&fakeBuilder{scalers: []*scaler{s}}).worker()
	response, err := w.GetMetricSpec(t.Context(), request("a", nil))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, spec := range response.GetMetricSpecs() {
		names = append(names, spec.GetMetricName())
		got, err := w.GetMetrics(t.Context(), &pb.GetMetricsRequest{
			ScaledObjectRef: request("a", nil), MetricName: spec.GetMetricName(),
		})
		if err != nil || got.GetMetricValues()[0].GetMetricValueFloat() != 3 {
			t.Errorf("%s: %v, %v", spec.GetMetricName(), got, err)
		}
	}
	if want := []string{"messages", "bytes", "datadogmetric@shop:queue"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	_, err = w.GetMetrics(t.Context(), &pb.GetMetricsRequest{ScaledObjectRef: request("a", nil), MetricName: "x"})
	if status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a metric that is not there: %v", err)
	}
}

func TestScalerWithoutMetrics(t *testing.T) {
	w := (&fakeBuilder{scalers: []*scaler{{}}}).worker()
	_, err := w.IsActive(t.Context(), request("a", nil))
	if err == nil || !strings.Contains(err.Error(), errNoMetric.Error()) {
		t.Errorf("got %v", err)
	}
}

// A server that refuses every request is not connected to at each poll.
func TestFailingScalerIsReplacedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		builder := &fakeBuilder{scalers: []*scaler{
			reads(func(context.Context, int64) (int64, error) { return 0, errors.New("refused") }),
		}}
		w := builder.worker()
		for range 60 {
			if _, err := value(t, w, "a"); err == nil {
				t.Fatal("no error")
			}
			time.Sleep(time.Second) //nolint:forbidigo // virtual time
		}
		// At 0, 0, 1, 3, 7, 15 and 31 s.
		if built := builder.built.Load(); built != 7 {
			t.Errorf("%d scalers in a minute, want 7", built)
		}
	})
}
