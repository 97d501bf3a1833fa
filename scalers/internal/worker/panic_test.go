package worker

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A scaler that panicked may be in any state. Another one is made at the next call, after a delay.
func TestPanics(t *testing.T) {
	panicking := func() { panic("nil map") }
	for name, c := range map[string]struct {
		first   *scaler
		onBuild func(int64)
		// closed is whether there is a scaler to close.
		closed bool
	}{
		"in a reading":   {reads(func(context.Context, int64) (int64, error) { panic("nil map") }), nil, true},
		"in the targets": {&scaler{onSpecs: panicking}, nil, true},
		"when it is made": {fixed(1), func(n int64) {
			if n == 1 {
				panic("nil map")
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				builder := &fakeBuilder{scalers: []*scaler{c.first, fixed(3)}, onBuild: c.onBuild}
				w := builder.worker()
				for range 2 {
					// The second request is too early for another scaler.
					_, err := value(t, w, "a")
					if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "panicked") {
						t.Errorf("got %v", err)
					}
					time.Sleep(reuseFor) //nolint:forbidigo // virtual time
				}
				if built := builder.built.Load(); built != 1 || c.first.closed.Load() != c.closed {
					t.Errorf("%d attempts to make a scaler, closed %v; want 1, %v", built, c.first.closed.Load(), c.closed)
				}
				if got, err := value(t, w, "b"); err != nil || got != 3 {
					t.Errorf("the other metric has %v, %v", got, err)
				}
				if got, err := value(t, w, "a"); err != nil || got != 3 {
					t.Errorf("after %s: %v, %v; want the value of another scaler", firstRetry, got, err)
				}
				if len(w.limiter.namespaces) != 0 {
					t.Error("a call that panicked counts for ever")
				}
			})
		})
	}
}

// The delay doubles while each scaler panics.
func TestPanicsAreRetriedLaterAndLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		builder := &fakeBuilder{scalers: []*scaler{
			reads(func(context.Context, int64) (int64, error) { panic("nil map") }),
		}}
		w := builder.worker()
		for range 60 {
			if _, err := value(t, w, "a"); err == nil {
				t.Fatal("no error")
			}
			time.Sleep(time.Second) //nolint:forbidigo // virtual time
		}
		// At 0, 1, 3, 7, 15 and 31 s.
		if built := builder.built.Load(); built != 6 {
			t.Errorf("%d scalers in a minute, want 6", built)
		}
	})
}

func TestPanicOfClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := reads(func(context.Context, int64) (int64, error) { return 0, errors.New("connection reset") })
		first.onClose = func(context.Context) { panic("closed twice") }
		w := (&fakeBuilder{scalers: []*scaler{first, fixed(3)}}).worker()
		if got, err := value(t, w, "a"); err != nil || got != 3 {
			t.Errorf("got %v, %v", got, err)
		}
		synctest.Wait()
		if len(w.limiter.namespaces) != 0 {
			t.Error("the closing counts for ever")
		}
	})
}
