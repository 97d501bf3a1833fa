package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/job"
)

// hangs is a scaler whose calls end when the channel is closed.
func hangs(until chan struct{}) *scaler {
	return reads(func(context.Context, int64) (int64, error) { <-until; return 0, nil })
}

// counts returns the calls under way for a namespace, and those of them that were abandoned.
func (w *Worker) counts(namespace string) callCount {
	w.limiter.mu.Lock()
	defer w.limiter.mu.Unlock()
	if count := w.limiter.namespaces[namespace]; count != nil {
		return *count
	}
	return callCount{}
}

// A metric has no other call while one hangs.
func TestNoCallWhileOneHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		hanging := hangs(until)
		builder := &fakeBuilder{scalers: []*scaler{hanging, fixed(4)}}
		w := builder.worker()
		began := time.Now()
		if _, err := value(t, w, "a"); err == nil || time.Since(began) != 10*time.Second {
			t.Errorf("after %s: %v; want an error after 10s", time.Since(began), err)
		}
		if got, err := value(t, w, "b"); err != nil || got != 4 {
			t.Errorf("the other metric has %v, %v", got, err)
		}
		time.Sleep(time.Hour) //nolint:forbidigo // virtual time
		want := "a call of KEDA's scaler of " + clock(began) + " has not ended"
		for range 2 {
			if _, err := value(t, w, "a"); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("after an hour: %v; want %s", err, want)
			}
		}
		if got := w.counts("ns"); got != (callCount{1, 1}) || hanging.closed.Load() || builder.built.Load() != 2 {
			t.Errorf("%+v calls, closed %v, %d scalers; want one that was abandoned, with a scaler in use, and 2", got,
				hanging.closed.Load(), builder.built.Load())
		}
		close(until)
		synctest.Wait()
		if got := w.counts("ns"); got != (callCount{}) || !hanging.closed.Load() {
			t.Errorf("%+v calls, closed %v; want none, and a closed scaler", got, hanging.closed.Load())
		}
		if got, err := value(t, w, "a"); err != nil || got != 4 {
			t.Errorf("after its end: %v, %v; want another scaler", got, err)
		}
	})
}

// Each call of this scaler takes 70 s: the metric pauses for 2, 4, 8 and 8 minutes.
func TestPausesAreLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := reads(func(context.Context, int64) (int64, error) {
			time.Sleep(70 * time.Second) //nolint:forbidigo // virtual time
			return 0, errors.New("no response")
		})
		w := (&fakeBuilder{scalers: []*scaler{slow}}).worker()
		began := time.Now()
		var at []time.Duration
		for time.Since(began) < 30*time.Minute {
			before := slow.calls.Load()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, err := w.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: request("a", nil), MetricName: "queue"})
			cancel()
			if err == nil {
				t.Fatal("it has a value")
			}
			if slow.calls.Load() > before {
				at = append(at, time.Since(began).Round(time.Minute))
			}
			time.Sleep(time.Second) //nolint:forbidigo // virtual time
		}
		want := []time.Duration{0, 3 * time.Minute, 8 * time.Minute, 17 * time.Minute, 26 * time.Minute}
		if !slices.Equal(at, want) {
			t.Errorf("calls at %v, want %v", at, want)
		}
		time.Sleep(2 * time.Minute) //nolint:forbidigo // virtual time
	})
}

// The metrics of one author hang. Those of other namespaces do not notice, and the errors say why the author's fail.
func TestNamespaceThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		hanging := hangs(until)
		w := New(Config{Log: logr.Discard(), SetHanging: func(bool) {}, Build: buildOf(map[string]*scaler{
			"author": hanging, "other": fixed(4),
		})})
		poll := func() (errs []error) {
			errs = make([]error, 3*callsPerNamespace)
			var wg sync.WaitGroup
			for n := range errs {
				wg.Go(func() { _, errs[n] = valueOf(t, w, requestIn("author", fmt.Sprint(n), nil)) })
			}
			wg.Wait()
			return errs
		}
		for minute := range 30 {
			for _, err := range poll() {
				if err == nil {
					t.Fatal("a metric that hangs has a value")
				}
			}
			if got, err := valueOf(t, w, requestIn("other", "a", nil)); err != nil || got != 4 {
				t.Fatalf("after %d minutes the other author's metric has %v, %v", minute, got, err)
			}
			time.Sleep(time.Minute) //nolint:forbidigo // virtual time
		}
		// An edit makes another metric, with the same namespace.
		_, err := valueOf(t, w, requestIn("author", "0", map[string]string{"listName": "edited"}))
		if err == nil || !strings.Contains(err.Error(), "for namespace author do not end") {
			t.Errorf("an edited metric: %v", err)
		}
		if calls, got := hanging.calls.Load(), w.counts("author"); calls != callsPerNamespace ||
			got != (callCount{callsPerNamespace, callsPerNamespace}) {
			t.Errorf("%d calls, %+v; want %d that were abandoned", calls, got, callsPerNamespace)
		}
		close(until)
		time.Sleep(lastPause) //nolint:forbidigo // virtual time
		for n, err := range poll() {
			if err != nil {
				t.Errorf("after their end: metric %d has %v", n, err)
			}
		}
	})
}

// Calls that only take a while wait for each other.
func TestManyMetricsOfANamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := reads(func(context.Context, int64) (int64, error) {
			time.Sleep(time.Second) //nolint:forbidigo // virtual time
			return 3, nil
		})
		w := (&fakeBuilder{scalers: []*scaler{slow}}).worker()
		var wg sync.WaitGroup
		began := time.Now()
		for n := range 4 * callsPerNamespace {
			wg.Go(func() {
				if got, err := value(t, w, fmt.Sprint(n)); err != nil || got != 3 {
					t.Errorf("metric %d has %v, %v", n, got, err)
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("it took %s, want 4s: %d calls at a time", took, callsPerNamespace)
		}
	})
}

// A scaler that does not close counts as a call that does not end. The next scaler goes on, but gets no successor.
func TestHangingClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		var timeout time.Duration
		failing := errors.New("connection reset")
		first := reads(func(context.Context, int64) (int64, error) { return 0, failing })
		first.onClose = func(ctx context.Context) {
			deadline, _ := ctx.Deadline()
			timeout = time.Until(deadline)
			<-until
		}
		second := reads(func(_ context.Context, call int64) (int64, error) {
			if call == 1 {
				return 2, nil
			}
			return 0, failing
		})
		builder := &fakeBuilder{scalers: []*scaler{first, second, fixed(3)}}
		w := builder.worker()
		if got, err := value(t, w, "a"); err != nil || got != 2 {
			t.Errorf("got %v, %v; want the value of the second scaler", got, err)
		}
		for range 3 {
			time.Sleep(time.Hour) //nolint:forbidigo // virtual time
			if _, err := value(t, w, "a"); err == nil || !strings.Contains(err.Error(), failing.Error()) {
				t.Errorf("got %v, want the error of the second scaler", err)
			}
		}
		if got := w.counts("ns"); got != (callCount{1, 1}) || timeout != callTimeout || builder.built.Load() != 2 {
			t.Errorf("%+v calls, %s to close, %d scalers; want one that was abandoned, %s and 2", got, timeout,
				builder.built.Load(), callTimeout)
		}
		close(until)
		synctest.Wait()
		time.Sleep(reuseFor) //nolint:forbidigo // virtual time
		if got, err := value(t, w, "a"); err != nil || got != 3 {
			t.Errorf("after its end: %v, %v", got, err)
		}
		synctest.Wait()
		if got := w.counts("ns"); got != (callCount{}) {
			t.Errorf("%+v calls after all have ended", got)
		}
	})
}

// A metric whose scaler panics, and does not close, gets no other one.
func TestNoScalerBesideOneThatDoesNotClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		first := reads(func(context.Context, int64) (int64, error) { panic("nil map") })
		first.onClose = func(context.Context) { <-until }
		builder := &fakeBuilder{scalers: []*scaler{first, fixed(3)}}
		w := builder.worker()
		if _, err := value(t, w, "a"); err == nil {
			t.Error("it has a value")
		}
		time.Sleep(abandonAfter + time.Second) //nolint:forbidigo // virtual time
		if _, err := value(t, w, "a"); err == nil || !strings.Contains(err.Error(), errUnclosed.Error()) {
			t.Errorf("got %v", err)
		}
		if !w.areAllHanging(time.Now()) {
			t.Error("the metric does not hang")
		}
		close(until)
		time.Sleep(reuseFor) //nolint:forbidigo // virtual time
		if got, err := value(t, w, "a"); err != nil || got != 3 {
			t.Errorf("after its end: %v, %v", got, err)
		}
	})
}

// When the calls of all metrics hang, another process harms none.
func TestSaysThatAllHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		defer close(until)
		builder := &fakeBuilder{scalers: []*scaler{hangs(until), fixed(4)}}
		w := builder.worker()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go w.Run(ctx)
		poll := func(minutes int, objects ...string) {
			for range minutes {
				for _, object := range objects {
					_, _ = value(t, w, object)
				}
				time.Sleep(time.Minute) //nolint:forbidigo // virtual time
			}
			synctest.Wait()
		}
		if poll(3); builder.hanging.Load() {
			t.Error("without metrics it hangs")
		}
		if poll(4, "a"); builder.hanging.Load() {
			t.Error("it hangs too early: the call may end")
		}
		if poll(3, "a"); !builder.hanging.Load() {
			t.Error("it does not say that the only metric hangs")
		}
		if poll(3, "a", "b"); builder.hanging.Load() {
			t.Error("it hangs, although a metric does not")
		}
		if _, err := w.IsActive(t.Context(), deleted("b")); err != nil {
			t.Fatal(err)
		}
		if poll(3, "a"); !builder.hanging.Load() {
			t.Error("it does not say that the remaining metric hangs")
		}
	})
}

func deleted(object string) *pb.ScaledObjectRef {
	return &pb.ScaledObjectRef{ScalerMetadata: map[string]string{job.DeletedKey: "ns/" + object + "/queue"}}
}

func TestForgetsDeletedMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := fixed(1), fixed(2)
		w := (&fakeBuilder{scalers: []*scaler{first, second}}).worker()
		for _, object := range []string{"a", "b"} {
			if _, err := value(t, w, object); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if _, err := w.IsActive(t.Context(), deleted("a")); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if !first.closed.Load() || second.closed.Load() || len(w.metrics) != 1 {
			t.Errorf("closed %v, %v, %d metrics; want the first one closed, and one metric", first.closed.Load(),
				second.closed.Load(), len(w.metrics))
		}
	})
}

// A scaler whose names change does not fill the memory.
func TestForgetsOldCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changing := fixed(1)
		n := 0
		changing.onSpecs = func() { n++; changing.names = []string{fmt.Sprint("s0-", n)} }
		w := (&fakeBuilder{scalers: []*scaler{changing}}).worker()
		for range 20 {
			if _, err := w.IsActive(t.Context(), request("a", nil)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second) //nolint:forbidigo // virtual time
		}
		for _, m := range w.metrics {
			if calls := len(m.calls); n != 20 || calls > 2 {
				t.Errorf("%d calls are kept, of %d names", calls, n)
			}
		}
	})
}

func takes(d time.Duration) func(context.Context) {
	return func(context.Context) { time.Sleep(d) } //nolint:forbidigo // virtual time
}

// The process waits for its scalers to close, but not for those that hang.
func TestClosesAllAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		closing func(context.Context)
		want    time.Duration
	}{
		"a slow one":        {takes(time.Second), time.Second},
		"one that hangs":    {takes(time.Hour), shutdownTimeout},
		"one that is quick": {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := fixed(1)
				s.onClose = c.closing
				w := (&fakeBuilder{scalers: []*scaler{s}}).worker()
				if _, err := value(t, w, "a"); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				began := time.Now()
				w.Run(ctx)
				if took := time.Since(began); took != c.want || s.closed.Load() != (c.want < shutdownTimeout) {
					t.Errorf("it took %s, closed %v; want %s", took, s.closed.Load(), c.want)
				}
				time.Sleep(time.Hour) //nolint:forbidigo // virtual time
			})
		})
	}
}
