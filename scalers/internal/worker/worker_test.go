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
	read   func(ctx context.Context, call int64) (int64, error)
	names  []string
	calls  atomic.Int64
	closed atomic.Bool
}

func (s *scaler) GetMetricsAndActivity(
	ctx context.Context, name string,
) ([]external_metrics.ExternalMetricValue, bool, error) {
	value, err := s.read(ctx, s.calls.Add(1))
	return []external_metrics.ExternalMetricValue{{MetricName: name, Value: *resource.NewQuantity(value, "")}},
		value > 0, err
}

func (s *scaler) GetMetricSpecForScaling(context.Context) []autoscalingv2.MetricSpec {
	var specs []autoscalingv2.MetricSpec
	for _, name := range s.names {
		specs = append(specs, autoscalingv2.MetricSpec{External: &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: name},
			Target: autoscalingv2.MetricTarget{AverageValue: resource.NewMilliQuantity(2500, "")},
		}})
	}
	return specs
}

func (s *scaler) Close(context.Context) error {
	s.closed.Store(true)
	return nil
}

// world builds the scalers that a test names, one after the other.
type world struct {
	scalers []*scaler
	built   atomic.Int64
	secrets []string
	err     error
	exited  atomic.Bool
}

func (w *world) worker() *Worker {
	return New(Config{
		Log: logr.Discard(), End: func() { w.exited.Store(true) },
		Build: func(context.Context, *job.Job) (Built, error) {
			n := w.built.Add(1)
			if w.err != nil {
				return Built{Secrets: w.secrets}, w.err
			}
			return Built{Scaler: w.scalers[min(int(n), len(w.scalers))-1], Secrets: w.secrets}, nil
		},
	})
}

func request(object string, metadata map[string]string) *pb.ScaledObjectRef {
	j := job.Job{Namespace: "ns", Object: object, Metric: "queue", Scaler: job.Scaler{Type: "redis", Metadata: metadata}}
	return &pb.ScaledObjectRef{Namespace: "ns", Name: object, ScalerMetadata: map[string]string{job.JobKey: j.Encode()}}
}

func value(t *testing.T, w *Worker, object string) (float64, error) {
	t.Helper()
	response, err := w.GetMetrics(t.Context(), &pb.GetMetricsRequest{
		ScaledObjectRef: request(object, nil), MetricName: "queue",
	})
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
		w := (&world{scalers: []*scaler{s}}).worker()
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
		time.Sleep(shared) //nolint:forbidigo // virtual time
		if _, err := value(t, w, "a"); err != nil || s.calls.Load() != 2 {
			t.Errorf("the next poll made %d calls in all (%v), want 2", s.calls.Load(), err)
		}
	})
}

func TestTargets(t *testing.T) {
	w := (&world{scalers: []*scaler{fixed(1)}}).worker()
	response, err := w.GetMetricSpec(t.Context(), request("a", nil))
	if err != nil || len(response.GetMetricSpecs()) != 1 || response.GetMetricSpecs()[0].GetTargetSizeFloat() != 2.5 {
		t.Fatalf("got %v, %v; want a target of 2.5", response, err)
	}
}

func TestFailedScalerIsMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := reads(func(context.Context, int64) (int64, error) { return 0, errors.New("connection reset") })
		all := &world{scalers: []*scaler{broken, fixed(3)}}
		w := all.worker()
		if got, err := value(t, w, "a"); err != nil || got != 3 {
			t.Fatalf("got %v, %v", got, err)
		}
		synctest.Wait()
		if !broken.closed.Load() || all.built.Load() != 2 {
			t.Errorf("closed %v, made %d scalers; want the first one closed, and 2", broken.closed.Load(), all.built.Load())
		}
	})
}

func TestPanicHarmsOneMetric(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := &world{scalers: []*scaler{
			reads(func(context.Context, int64) (int64, error) { panic("nil map") }), fixed(3),
		}}
		w := all.worker()
		_, err := value(t, w, "a")
		if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "panicked") {
			t.Errorf("got %v", err)
		}
		if got, err := value(t, w, "b"); err != nil || got != 3 {
			t.Errorf("the other metric has %v, %v", got, err)
		}
	})
}

func TestHangingScalerIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forever := make(chan struct{})
		hanging := reads(func(context.Context, int64) (int64, error) { <-forever; return 0, nil })
		all := &world{scalers: []*scaler{hanging, fixed(4)}}
		w := all.worker()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		_, err := w.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: request("a", nil), MetricName: "queue"})
		if err == nil || time.Since(began) != 3*time.Second {
			t.Errorf("after %s: %v; want an error after 3s", time.Since(began), err)
		}
		if got, err := value(t, w, "b"); err != nil || got != 4 {
			t.Errorf("the other metric has %v, %v", got, err)
		}
		time.Sleep(longest + patience) //nolint:forbidigo // virtual time
		if _, err := value(t, w, "a"); err == nil || !strings.Contains(err.Error(), "did not end; the next one is in") {
			t.Errorf("after %s: %v; want a rest", longest+patience, err)
		}
		if got := w.abandoned.Load(); got != 1 || hanging.closed.Load() {
			t.Errorf("%d abandoned calls, closed %v; want 1, and a scaler in use", got, hanging.closed.Load())
		}
		time.Sleep(firstRest) //nolint:forbidigo // virtual time
		if got, err := value(t, w, "a"); err != nil || got != 4 {
			t.Errorf("after %s: %v, %v; want another scaler", firstRest, got, err)
		}
		if calls := hanging.calls.Load(); calls != 1 {
			t.Errorf("%d calls of a scaler that hangs, want 1", calls)
		}
		close(forever)
		synctest.Wait()
		if got := w.abandoned.Load(); got != 0 || !hanging.closed.Load() {
			t.Errorf("%d abandoned calls, closed %v; want 0, and a closed scaler", got, hanging.closed.Load())
		}
	})
}

// Each call of these scalers hangs: the metric rests for 2, 4, 8 and 8 minutes.
func TestRestsAreLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forever := make(chan struct{})
		defer close(forever)
		hanging := reads(func(context.Context, int64) (int64, error) { <-forever; return 0, nil })
		w := (&world{scalers: []*scaler{hanging}}).worker()
		began := time.Now()
		var at []time.Duration
		for time.Since(began) < 30*time.Minute {
			before := hanging.calls.Load()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, _ = w.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: request("a", nil), MetricName: "queue"})
			cancel()
			if hanging.calls.Load() > before {
				at = append(at, time.Since(began).Round(time.Minute))
			}
			time.Sleep(time.Second) //nolint:forbidigo // virtual time
		}
		want := []time.Duration{0, 3 * time.Minute, 8 * time.Minute, 17 * time.Minute, 26 * time.Minute}
		if !slices.Equal(at, want) {
			t.Errorf("calls at %v, want %v", at, want)
		}
	})
}

func TestEndsWhenCallsPileUp(t *testing.T) {
	all := &world{}
	w := all.worker()
	for range mostAbandoned {
		w.abandon(1)
	}
	w.abandon(-1)
	w.abandon(1)
	if all.exited.Load() {
		t.Fatal("ended too early")
	}
	if w.abandon(1); !all.exited.Load() {
		t.Error("goes on")
	}
}

func TestRetriesLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := &world{err: errors.New("password hunter22 is wrong"), secrets: []string{"hunter22", "h"}}
		w := all.worker()
		for range 5 {
			_, err := value(t, w, "a")
			if err == nil || strings.Contains(err.Error(), "hunter22") || !strings.Contains(err.Error(), "password [hidden]") {
				t.Fatalf("got %v", err)
			}
			time.Sleep(shared) //nolint:forbidigo // virtual time
		}
		// The attempts are at 0 and 1 s; the next is 2 s later.
		if built := all.built.Load(); built != 2 {
			t.Errorf("%d attempts in %s, want 2", built, 5*shared)
		}
	})
}

func TestUnusedScalersAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fixed(1)
		w := (&world{scalers: []*scaler{s}}).worker()
		if _, err := value(t, w, "a"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.Run(ctx)
		time.Sleep(unused - time.Minute) //nolint:forbidigo // virtual time
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
	w := (&world{scalers: []*scaler{s}}).worker()
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
	w := (&world{scalers: []*scaler{{}}}).worker()
	_, err := w.IsActive(t.Context(), request("a", nil))
	if err == nil || !strings.Contains(err.Error(), errNoMetric.Error()) {
		t.Errorf("got %v", err)
	}
}

// A server that refuses every request is not connected to at each poll.
func TestFailingScalerIsReplacedSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := &world{scalers: []*scaler{
			reads(func(context.Context, int64) (int64, error) { return 0, errors.New("refused") }),
		}}
		w := all.worker()
		for range 60 {
			if _, err := value(t, w, "a"); err == nil {
				t.Fatal("no error")
			}
			time.Sleep(time.Second) //nolint:forbidigo // virtual time
		}
		// At 0, 0, 1, 3, 7, 15 and 31 s.
		if built := all.built.Load(); built != 7 {
			t.Errorf("%d scalers in a minute, want 7", built)
		}
	})
}
