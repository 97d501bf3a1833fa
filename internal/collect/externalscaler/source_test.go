package externalscaler

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/collect/externalscaler/pb"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

func look(s *Source) sources.Answer { return s.look(worker, spec()) }

func TestFirstAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, q := newNetwork(), queue()
		n.serve(t, "team-a/scaler", q)
		s, notices, _ := run(t, Config{Dial: n.dial})
		settle(0)
		if answer := look(s); !answer.IsPending || answer.Err != nil {
			t.Errorf("%+v", answer)
		}
		settle(0)
		answer := look(s)
		if answer.IsPending || answer.Err != nil || !cmp.Equal(answer.Series, []float64{12}) ||
			answer.TargetMilli != 5000 || answer.Activity != metric.Inactive || answer.At.IsZero() || answer.Asked.IsZero() {
			t.Errorf("%+v", answer)
		}
		if got := len(notices.samples(worker)); got != 1 {
			t.Errorf("%d notices", got)
		}
	})
}

// TestCalls: scalers get the calls of KEDA's operator, at the same period.
func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, q := newNetwork(), queue()
		n.serve(t, "team-a/scaler", q)
		s, _, _ := run(t, Config{Dial: n.dial})
		e, err := sources.ExternalScalerOf(&plimsollv1alpha1.ExternalScalerMetricSource{
			ScalerAddress: "scaler:6000", ScalerMetadata: map[string]string{"queueName": "orders"},
		})
		if err != nil {
			t.Fatal(err)
		}
		s.look(worker, &e)
		settle(time.Minute + time.Second)
		want := map[string]int{"GetMetricSpec": 5, "GetMetrics": 13, "IsActive": 13, "StreamIsActive": 2}
		if diff := cmp.Diff(want, q.calls); diff != "" {
			t.Error(diff)
		}
		ref, request := q.refs[len(q.refs)-1], q.lastMetrics
		if ref.GetName() != "worker" || ref.GetNamespace() != "team-a" ||
			!cmp.Equal(ref.GetScalerMetadata(), map[string]string{"queueName": "orders", "scalerAddress": "scaler:6000"}) ||
			request.GetMetricName() != "queue" || request.GetScaledObjectRef().GetName() != "worker" {
			t.Errorf("%v, %v", ref, request)
		}
	})
}

// TestNoMetricSpec: the scaler's spec is not requested where the object has all of it.
func TestNoMetricSpec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, q := newNetwork(), queue()
		n.serve(t, "team-a/scaler", q)
		q.spec = nil
		s, _, _ := run(t, Config{Dial: n.dial})
		e := spec()
		e.MetricName, e.HasTarget, e.IsPushed = "mine", true, false
		s.look(worker, e)
		settle(0)
		answer := s.look(worker, e)
		if answer.Err != nil || !cmp.Equal(answer.Series, []float64{12}) || answer.TargetMilli != 0 {
			t.Errorf("%+v", answer)
		}
		if q.called("GetMetricSpec")+q.called("StreamIsActive") != 0 || q.lastMetrics.GetMetricName() != "mine" {
			t.Errorf("%v", q.calls)
		}
	})
}

func TestChangedTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, q := newNetwork(), queue()
		n.serve(t, "team-a/scaler", q)
		s, _, _ := run(t, Config{Dial: n.dial})
		look(s)
		settle(0)
		q.change(func() {
			q.spec = func(*pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) {
				return &pb.GetMetricSpecResponse{MetricSpecs: []*pb.MetricSpec{{MetricName: "q2", TargetSizeFloat: 2.5}}}, nil
			}
		})
		settle(20 * time.Second)
		if answer := look(s); answer.TargetMilli != 2500 || q.lastMetrics.GetMetricName() != "q2" {
			t.Errorf("%+v, %v", answer, q.lastMetrics)
		}
	})
}

var errWords = status.Error(codes.FailedPrecondition, "words of the scaler")

// TestFailures: as in KEDA, one failed call fails the metric. The last activity stays.
func TestFailures(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*scaler)
		err      string
		activity metric.Activity
	}{
		"GetMetrics": {func(s *scaler) {
			s.metrics = func(context.Context, *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) { return nil, errWords }
		}, "GetMetrics: FailedPrecondition", metric.Active},
		"GetMetrics, not implemented": {func(s *scaler) { s.metrics = nil }, "GetMetrics: Unimplemented", metric.Active},
		"GetMetrics, no answer": {func(s *scaler) {
			s.metrics = func(ctx context.Context, _ *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
		}, "GetMetrics: no response within 3s", metric.Active},
		"GetMetrics, no value": {func(s *scaler) {
			s.metrics = func(context.Context, *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
				return &pb.GetMetricsResponse{}, nil
			}
		}, "no value", metric.Active},
		"GetMetricSpec": {func(s *scaler) {
			s.spec = func(*pb.ScaledObjectRef) (*pb.GetMetricSpecResponse, error) { return nil, errWords }
		}, "GetMetricSpec: FailedPrecondition", metric.Active},
		"IsActive": {func(s *scaler) {
			s.isActive = func(*pb.ScaledObjectRef) (bool, error) { return true, errWords }
		}, "IsActive: FailedPrecondition", metric.ActivityUnknown},
		"all": {func(s *scaler) {
			s.isActive, s.metrics, s.spec = nil, nil, nil
		}, "GetMetricSpec: Unimplemented", metric.ActivityUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, q := newNetwork(), queue()
				q.isActive = func(*pb.ScaledObjectRef) (bool, error) { return true, nil }
				c.change(q)
				n.serve(t, "team-a/scaler", q)
				s, notices, _ := run(t, Config{Dial: n.dial})
				look(s)
				settle(3 * time.Second)
				answer := look(s)
				if answer.IsPending || answer.Err == nil || answer.Series != nil || answer.Activity != c.activity {
					t.Fatalf("%+v", answer)
				}
				if text := answer.Err.Error(); !strings.Contains(text, c.err) || strings.Contains(text, "words") {
					t.Error(text)
				}
				settle(20 * time.Second)
				if got := len(notices.samples(worker)); (got > 1) != (c.activity == metric.Active) || got == 0 {
					t.Errorf("%d notices, want one of the failure and one of each known activity", got)
				}
			})
		})
	}
}

// TestAbsent: a scaler that starts later is connected then.
func TestAbsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, q := newNetwork(), queue()
		s, _, _ := run(t, Config{Dial: n.dial})
		look(s)
		settle(0)
		if answer := look(s); !errors.Is(answer.Err, errRefused) || !strings.HasPrefix(answer.Err.Error(), "scalerAddress: ") {
			t.Errorf("%+v", answer)
		}
		settle(10 * time.Minute)
		if dials := n.dialed("team-a/scaler"); dials > 150 {
			t.Errorf("%d dials in 10 minutes", dials)
		}
		n.serve(t, "team-a/scaler", q)
		settle(2 * maxBackoff)
		if answer := look(s); answer.Err != nil {
			t.Error(answer.Err)
		}
	})
}

func TestInvalidAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		s, _, _ := run(t, Config{Dial: n.dial})
		for _, address := range []string{"", "scaler", "scaler:0", "scaler:65536", "scaler:http", "a:b:1"} {
			e := spec()
			e.Address = address
			s.look(worker, e)
			settle(0)
			if answer := s.look(worker, e); answer.Err == nil || len(n.dials) > 0 {
				t.Errorf("%q: %+v, %v", address, answer, n.dials)
			}
		}
	})
}

// pusher is a queue whose stream sends the values of the channel.
func pusher() (*scaler, chan bool) {
	q, push := queue(), make(chan bool)
	q.stream = func(_ *pb.ScaledObjectRef, stream grpc.ServerStreamingServer[pb.IsActiveResponse]) error {
		for {
			select {
			case active, has := <-push:
				if !has {
					return nil
				}
				if err := stream.Send(&pb.IsActiveResponse{Result: active}); err != nil {
					return err
				}
			case <-stream.Context().Done():
				return stream.Context().Err()
			}
		}
	}
	return q, push
}

// TestPush: a push is passed on at once, and polls that answer otherwise do not undo it.
func TestPush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		q, push := pusher()
		n.serve(t, "team-a/scaler", q)
		s, notices, _ := run(t, Config{Dial: n.dial})
		look(s)
		settle(2 * time.Second)
		pushed, polls := time.Now(), q.called("GetMetrics")
		push <- true
		settle(0)
		if got := notices.pushes(worker); len(got) != 1 || !got[0].Equal(pushed) {
			t.Fatalf("pushed at %v, notified at %v", pushed, got)
		}
		if q.called("GetMetrics") != polls+1 {
			t.Error("a push does not start the poll early")
		}
		push <- false
		settle(0)
		for time.Since(pushed) < minHold {
			if answer := look(s); answer.Activity != metric.Active || answer.Err != nil {
				t.Fatalf("after %s: %+v", time.Since(pushed), answer)
			}
			settle(100 * time.Millisecond)
		}
		if answer := look(s); answer.Activity != metric.Inactive {
			t.Errorf("%+v", answer)
		}
		if got := notices.pushes(worker); len(got) != 1 {
			t.Errorf("a pushed false was passed on: %v", got)
		}
	})
}

// TestPushWithoutValues: a push takes effect before the first poll has a response, and where polls fail.
func TestPushWithoutValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		q, push := pusher()
		q.metrics = func(ctx context.Context, _ *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		q.isActive = nil
		n.serve(t, "team-a/scaler", q)
		s, notices, _ := run(t, Config{Dial: n.dial})
		look(s)
		settle(0)
		push <- true
		settle(0)
		if answer := look(s); !answer.IsPending || answer.Activity != metric.Active || len(notices.pushes(worker)) != 1 {
			t.Errorf("%+v", answer)
		}
		settle(3 * time.Second)
		if answer := look(s); answer.IsPending || answer.Err == nil || answer.Activity != metric.Active {
			t.Errorf("%+v", answer)
		}
	})
}

// TestStreamRetries: as in KEDA, a stream that fails is opened after 2 s, and then ever later up to a minute.
func TestStreamRetries(t *testing.T) {
	for name, c := range map[string]struct {
		stream func(*pb.ScaledObjectRef, grpc.ServerStreamingServer[pb.IsActiveResponse]) error
		want   []int
	}{
		"fails": {
			func(*pb.ScaledObjectRef, grpc.ServerStreamingServer[pb.IsActiveResponse]) error { return errWords },
			[]int{2, 4, 8, 16, 32, 60, 60},
		},
		"ends": {
			func(*pb.ScaledObjectRef, grpc.ServerStreamingServer[pb.IsActiveResponse]) error { return nil },
			[]int{2, 2, 2, 2},
		},
		"restarts": {
			// After it was away for some minutes, it runs for 28 s at a time.
			lasting(7, 28*time.Second), []int{2, 4, 8, 16, 32, 60, 60, 30, 30, 30},
		},
		"not implemented": {
			func(*pb.ScaledObjectRef, grpc.ServerStreamingServer[pb.IsActiveResponse]) error {
				return status.Error(codes.Unimplemented, "")
			},
			[]int{60, 60},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, q := newNetwork(), queue()
				q.stream = c.stream
				n.serve(t, "team-a/scaler", q)
				s, _, _ := run(t, Config{Dial: n.dial})
				look(s)
				settle(time.Millisecond)
				for i, seconds := range c.want {
					if got := q.called("StreamIsActive"); got != i+1 {
						t.Fatalf("retry %d: %d calls", i, got)
					}
					settle(time.Duration(seconds) * time.Second)
				}
				if answer := look(s); answer.Err != nil {
					t.Error(answer.Err)
				}
			})
		})
	}
}

// lasting is a stream that fails at once some times, and then after a while.
func lasting(
	failures int32, lasts time.Duration,
) func(*pb.ScaledObjectRef, grpc.ServerStreamingServer[pb.IsActiveResponse]) error {
	var calls atomic.Int32
	return func(_ *pb.ScaledObjectRef, stream grpc.ServerStreamingServer[pb.IsActiveResponse]) error {
		if calls.Add(1) > failures {
			select {
			case <-time.After(lasts):
			case <-stream.Context().Done():
			}
		}
		return errWords
	}
}

// TestFlood: a scaler that always reports to be active causes four decisions a second, for however many metrics, and
// its further messages wait.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, q := newNetwork(), queue()
		sent := 0
		q.stream = func(_ *pb.ScaledObjectRef, stream grpc.ServerStreamingServer[pb.IsActiveResponse]) error {
			for {
				if err := stream.Send(&pb.IsActiveResponse{Result: true}); err != nil {
					return err
				}
				q.mu.Lock()
				sent++
				q.mu.Unlock()
			}
		}
		n.serve(t, "team-a/scaler", q)
		s, notices, _ := run(t, Config{Dial: n.dial})
		var all []sources.Spec
		for _, name := range []string{"queue", "second", "third"} {
			e := spec()
			e.MetricName = name
			all = append(all, sources.Spec{ExternalScaler: e})
		}
		s.Set(worker, all)
		time.Sleep(10 * time.Second) //nolint:forbidigo // virtual time: it passes at once
		if got := len(notices.pushes(worker)); got < 20 || got > 41 {
			t.Errorf("%d pushes in 10 s", got)
		}
		q.mu.Lock()
		defer q.mu.Unlock()
		if sent > 3*20_000 {
			t.Errorf("%d messages were sent in 10 s", sent)
		}
	})
}

// TestShared: the metrics of a namespace share connections, up to a number; those of another namespace have their own.
func TestShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, q := newNetwork(), queue()
		n.serve(t, "team-a/scaler", q)
		n.serve(t, "team-b/scaler", queue())
		s, _, _ := run(t, Config{Dial: n.dial})
		for i := range 2*maxUsers + 1 {
			s.look(observe.WLA("team-a", fmt.Sprint(i)), spec())
		}
		s.look(observe.WLA("team-b", "0"), spec())
		settle(time.Minute)
		if a, b := n.dialed("team-a/scaler"), n.dialed("team-b/scaler"); a != 3 || b != 1 {
			t.Errorf("%d and %d connections", a, b)
		}
		for i := range 2*maxUsers + 1 {
			key := observe.WLA("team-a", fmt.Sprint(i))
			if answer := s.look(key, spec()); answer.Err != nil {
				t.Error(answer.Err)
			}
			s.Set(key, nil)
		}
		settle(0)
		calls := q.called("GetMetrics")
		settle(time.Minute)
		s.mu.Lock()
		defer s.mu.Unlock()
		if pools := len(s.running.pool.connections); pools != 1 || q.called("GetMetrics") != calls {
			t.Errorf("%d servers are connected to, %d calls", pools, q.called("GetMetrics")-calls)
		}
	})
}

// TestManyConnections: a namespace has a bounded number of connections, and another one has its own. A metric without a
// connection gets one when another ends.
func TestManyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		n.serve(t, "team-a/scaler", queue())
		n.serve(t, "team-b/scaler", queue())
		s, _, _ := run(t, Config{Dial: n.dial})
		answer := func(namespace string, port int) error {
			e := spec()
			e.Address = fmt.Sprintf("scaler:%d", port)
			return s.look(observe.WLA(namespace, fmt.Sprint(port)), e).Err
		}
		const last = maxConnections + 1
		for port := 1; port < last; port++ {
			_ = answer("team-a", port)
		}
		settle(time.Minute)
		_, _ = answer("team-a", last), answer("team-b", last)
		settle(time.Minute)
		if a, b := answer("team-a", last), answer("team-b", last); !errors.Is(a, errTooMany) || b != nil {
			t.Errorf("%v, %v", a, b)
		}
		if a := n.dialed("team-a/scaler"); a != maxConnections {
			t.Errorf("%d connections", a)
		}
		s.Set(observe.WLA("team-a", "1"), nil)
		settle(connectRetry + time.Second)
		if err := answer("team-a", last); err != nil {
			t.Error(err)
		}
	})
}

// TestManyNamespaces: namespaces with the maximum of connections leave the first ones of another namespace. Metrics
// without a connection have no goroutine.
func TestManyNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		n.serve(t, "shop/scaler", queue())
		s, _, _ := run(t, Config{Dial: n.dial})
		look := func(namespace string, port int) error {
			e := spec()
			e.Address = fmt.Sprintf("scaler:%d", port)
			return s.look(observe.WLA(namespace, fmt.Sprint(port)), e).Err
		}
		const namespaces = maxShared/(maxConnections-guaranteed) + 2
		for namespace := range namespaces {
			for port := 1; port <= maxConnections; port++ {
				_ = look(fmt.Sprint("hostile-", namespace), port)
			}
		}
		synctest.Wait()
		before := runtime.NumGoroutine()
		for port := maxConnections + 1; port <= 10*maxConnections; port++ {
			_ = look("hostile-0", port)
		}
		synctest.Wait()
		if more := runtime.NumGoroutine() - before; more > maxConnections {
			t.Errorf("%d more goroutines", more)
		}
		for port := 1; port <= guaranteed+1; port++ {
			_ = look("shop", port)
		}
		settle(time.Minute)
		for port := 1; port <= guaranteed; port++ {
			if err := look("shop", port); err != nil {
				t.Error(err)
			}
		}
		if err := look("shop", guaranteed+1); !errors.Is(err, errTooManyAll) {
			t.Error(err)
		}
		s.mu.Lock()
		shared, all := s.running.pool.shared, len(s.running.pool.connections)
		s.mu.Unlock()
		if shared != maxShared || all != maxShared+guaranteed*(namespaces+1) {
			t.Errorf("%d connections, %d of them shared", all, shared)
		}
		for port := 1; port <= maxConnections; port++ {
			s.Set(observe.WLA("hostile-1", fmt.Sprint(port)), nil)
		}
		settle(connectRetry + time.Second)
		s.mu.Lock()
		shared = s.running.pool.shared
		s.mu.Unlock()
		if shared > maxShared || shared < maxShared-maxConnections {
			t.Errorf("%d shared connections", shared)
		}
	})
}

// TestNoMoreSet: a metric that the object no longer has is not polled again. A metric that another object has too
// continues.
func TestNoMoreSet(t *testing.T) {
	one, other := spec(), spec()
	other.Address = "other:6000"
	both := []sources.Spec{{ExternalScaler: one}, {ExternalScaler: other}}
	for name, c := range map[string]struct {
		specs []sources.Spec
		// isShared gives both metrics to another object.
		isShared bool
		// one and other are the polls of each in a minute.
		one, other int
	}{
		"both kept":                     {both, false, 12, 12},
		"the other way round":           {[]sources.Spec{both[1], both[0]}, false, 12, 12},
		"one taken out":                 {both[1:], false, 0, 12},
		"another source's":              {[]sources.Spec{{Prometheus: &sources.Prometheus{}}}, false, 0, 0},
		"the object is gone":            {nil, false, 0, 0},
		"the object is gone, one stays": {nil, true, 12, 12},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n, q, r := newNetwork(), queue(), queue()
				n.serve(t, "team-a/scaler", q)
				n.serve(t, "team-a/other", r)
				s, notices, _ := run(t, Config{Dial: n.dial})
				s.Set(worker, both)
				if c.isShared {
					s.Set(observe.WLA("team-a", "second"), both)
				}
				settle(14 * time.Second)
				polls, others, samples := q.called("IsActive"), r.called("IsActive"), len(notices.samples(worker))
				s.Set(worker, c.specs)
				settle(time.Minute)
				if polls, others = q.called("IsActive")-polls, r.called("IsActive")-others; polls != c.one || others != c.other {
					t.Errorf("%d and %d polls", polls, others)
				}
				if got := len(notices.samples(worker)) - samples; c.specs == nil && got > 0 {
					t.Errorf("%d notices for an object that is gone", got)
				}
			})
		})
	}
}

// TestEditedDuringPoll: the response for a metric that the object no longer has is dropped, and leads to no decision.
func TestEditedDuringPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, q := newNetwork(), queue()
		answer := q.metrics
		q.metrics = func(ctx context.Context, r *pb.GetMetricsRequest) (*pb.GetMetricsResponse, error) {
			time.Sleep(time.Second) //nolint:forbidigo // virtual time: a slow scaler
			return answer(ctx, r)
		}
		n.serve(t, "team-a/scaler", q)
		n.serve(t, "team-a/next", queue())
		s, notices, _ := run(t, Config{Dial: n.dial})
		look(s)
		settle(500 * time.Millisecond)
		after := spec()
		after.Address = "next:6000"
		s.look(worker, after)
		settle(100 * time.Millisecond)
		if got := len(notices.samples(worker)); got != 1 {
			t.Errorf("%d notices, want that of the new metric", got)
		}
		settle(time.Second)
		if got := len(notices.samples(worker)); got != 1 || q.called("IsActive") != 1 {
			t.Errorf("%d notices, %d polls of the old metric", got, q.called("IsActive"))
		}
		if answer := s.Latest(time.Now(), worker, spec()); !answer.IsPending {
			t.Errorf("%+v", answer)
		}
		settle(3 * time.Second)
	})
}

// TestReadIsNoSubscription: a read makes no call.
func TestReadIsNoSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, q := newNetwork(), queue()
		n.serve(t, "team-a/scaler", q)
		s, _, _ := run(t, Config{Dial: n.dial})
		if answer := s.Latest(time.Now(), worker, spec()); !answer.IsPending {
			t.Errorf("%+v", answer)
		}
		settle(time.Minute)
		if got := q.called("IsActive"); got > 0 || n.dialed("team-a/scaler") > 0 {
			t.Errorf("%d polls", got)
		}
	})
}

func TestChangedSpec(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, q := newNetwork(), queue()
		other, push := pusher()
		n.serve(t, "team-a/scaler", other)
		n.serve(t, "team-a/next", q)
		s, notices, _ := run(t, Config{Dial: n.dial})
		look(s)
		settle(0)
		e := spec()
		e.Address = "next:6000"
		if answer := s.look(worker, e); !answer.IsPending || answer.Series != nil {
			t.Errorf("%+v", answer)
		}
		settle(time.Minute)
		select {
		case push <- true:
			t.Error("a stream is still open")
		default:
		}
		if answer := s.look(worker, e); answer.Err != nil || other.called("IsActive") != 1 ||
			len(notices.pushes(worker)) > 0 {
			t.Errorf("%+v, %v", answer, other.calls)
		}
	})
}

// TestFailover: at the end of Run, all streams and connections end. Another Run starts without results.
func TestFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		q, push := pusher()
		n.serve(t, "team-a/scaler", q)
		s, first, end := run(t, Config{Dial: n.dial})
		look(s)
		settle(time.Second)
		push <- true
		settle(0)
		end()
		settle(0)
		select {
		case push <- true:
			t.Error("a stream is still open")
		default:
		}
		calls := q.called("IsActive")
		for range 3 {
			settle(time.Minute)
			if answer := look(s); !answer.IsPending || answer.Activity != metric.ActivityUnknown {
				t.Errorf("%+v", answer)
			}
		}
		if q.called("IsActive") != calls {
			t.Error("it is polled without Run")
		}
		second, _ := runAgain(t, s)
		settle(0)
		push <- true
		settle(0)
		if answer := look(s); answer.Activity != metric.Active || answer.Err != nil || len(second.pushes(worker)) != 1 ||
			len(first.pushes(worker)) != 1 {
			t.Errorf("%+v", answer)
		}
	})
}

// TestRestart: the scaler's restart is a failure of some seconds.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		q, push := pusher()
		server := n.serve(t, "team-a/scaler", q)
		s, notices, _ := run(t, Config{Dial: n.dial})
		look(s)
		settle(time.Second)
		server.Stop()
		settle(0)
		n.serve(t, "team-a/scaler", q)
		settle(10 * time.Second)
		if answer := look(s); answer.Err != nil {
			t.Error(answer.Err)
		}
		push <- true
		settle(0)
		if len(notices.pushes(worker)) != 1 {
			t.Error("no stream was opened again")
		}
	})
}
