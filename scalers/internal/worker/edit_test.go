package worker

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-logr/logr"
	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/job"
)

func TestEditReplacesTheScaler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := fixed(1), fixed(2)
		w := (&fakeBuilder{scalers: []*scaler{first, second}}).worker()
		if _, err := value(t, w, "a"); err != nil {
			t.Fatal(err)
		}
		response, err := w.GetMetrics(t.Context(), &pb.GetMetricsRequest{
			ScaledObjectRef: request("a", map[string]string{"listName": "other"}), MetricName: "queue",
		})
		if err != nil || response.GetMetricValues()[0].GetMetricValueFloat() != 2 {
			t.Fatalf("got %v, %v", response, err)
		}
		synctest.Wait()
		if !first.closed.Load() || second.closed.Load() {
			t.Errorf("closed: %v, %v; want the first one only", first.closed.Load(), second.closed.Load())
		}
	})
}

// A metric that is edited while its scaler is made keeps none, and errors show no secrets.
func TestEditDuringACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		slow := reads(func(context.Context, int64) (int64, error) {
			<-proceed
			return 0, errors.New("password hunter22 is wrong")
		})
		builder := &fakeBuilder{scalers: []*scaler{slow, fixed(2)}, secrets: []string{"hunter22"}}
		w := builder.worker()
		result := make(chan error)
		go func() {
			_, err := value(t, w, "a")
			result <- err
		}()
		synctest.Wait()
		if _, err := w.IsActive(t.Context(), request("a", map[string]string{"listName": "other"})); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if slow.closed.Load() {
			t.Error("closed during a call")
		}
		close(proceed)
		if err := <-result; err == nil || strings.Contains(err.Error(), "hunter22") {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if !slow.closed.Load() || builder.built.Load() != 2 {
			t.Errorf("closed %v, %d scalers; want a closed one, and 2", slow.closed.Load(), builder.built.Load())
		}
	})
}

func TestEditWhileTheScalerIsMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		first := fixed(1)
		w := New(Config{Log: logr.Discard(), Build: func(_ context.Context, j *job.Job) (Built, error) {
			if j.Scaler.Metadata != nil {
				return Built{Scaler: fixed(2)}, nil
			}
			<-proceed
			return Built{Scaler: first}, nil
		}})
		result := make(chan error)
		go func() {
			_, err := value(t, w, "a")
			result <- err
		}()
		synctest.Wait()
		if _, err := w.IsActive(t.Context(), request("a", map[string]string{"listName": "other"})); err != nil {
			t.Fatal(err)
		}
		close(proceed)
		if err := <-result; err == nil {
			t.Error("the edited metric has a value")
		}
		synctest.Wait()
		if !first.closed.Load() || first.calls.Load() > 0 {
			t.Errorf("closed %v, %d calls; want a closed scaler without calls", first.closed.Load(), first.calls.Load())
		}
	})
}
