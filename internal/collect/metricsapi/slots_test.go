package metricsapi

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/fairqueue"
)

func slotsForTest(t *testing.T, n int) *slots {
	t.Helper()
	loads, err := newLoads(nil)
	if err != nil {
		t.Fatal(err)
	}
	return newSlots(n, 10*time.Second, loads.of("test", &Config{Log: logr.Discard()}))
}

func ofObject(ctx context.Context, name string) context.Context {
	namespace, object, _ := strings.Cut(name, "/")
	return WithCall(ctx, &Call{Object: types.NamespacedName{Namespace: namespace, Name: object}})
}

// sleep is a call that takes so long.
func sleep(d time.Duration) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// check reports slots that are not all free again.
func (s *slots) check(t *testing.T, n int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.all.IsIdle() || !s.slow.IsIdle() || !s.regular.IsIdle() || s.preempted != 0 {
		t.Errorf("%d of %d slots are taken, %d of slow calls; %d wait", s.all.Running(), n, s.slow.Running(),
			s.all.Waiting())
	}
}

func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slotsForTest(t, 1)
		var order []string
		var calls sync.WaitGroup
		for i, object := range []string{"a/1", "a/1", "a/1", "a/2", "a/2", "b/1", "b/1", "c/1"} {
			calls.Go(func() {
				err := s.run(ofObject(t.Context(), object), fmt.Sprint(i), func(ctx context.Context) error {
					order = append(order, object)
					return sleep(time.Millisecond)(ctx)
				})
				if err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		calls.Wait()
		// The first one came to an empty queue.
		want := []string{"a/1", "a/1", "b/1", "c/1", "a/2", "b/1", "a/1", "a/2"}
		if !slices.Equal(order, want) {
			t.Errorf("the order is %q, want %q", order, want)
		}
		s.check(t, 1)
	})
}

// A caller that gives up leaves the queue, or releases its slot.
func TestGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slotsForTest(t, 2)
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for i := range 10 {
			calls.Go(func() {
				if err := s.run(ofObject(ctx, "a/1"), fmt.Sprint(i), sleep(time.Hour)); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			})
		}
		time.Sleep(500 * time.Millisecond) //nolint:forbidigo // virtual time: all wait or are under way
		cancel()
		calls.Wait()
		s.check(t, 2)
		// A cancelled call has no known duration, so it is not slow.
		if len(s.slowSince) > 0 {
			t.Errorf("slow: %v", s.slowSince)
		}
	})
}

func TestPanicGivesTheSlotBack(t *testing.T) {
	s := slotsForTest(t, 1)
	func() {
		defer func() { _ = recover() }()
		_ = s.run(t.Context(), "call", func(context.Context) error { panic("oops") })
	}()
	s.check(t, 1)
}

// A call that was slow has its whole timeout in a quarter of the slots, until it is quick.
func TestSlowCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slotsForTest(t, 8)
		run := func(call string, d time.Duration) (took time.Duration, err error) {
			began := time.Now()
			err = s.run(ofObject(t.Context(), "a/"+call), call, sleep(d))
			return time.Since(began), err
		}
		if _, err := run("quick", 10*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		var calls sync.WaitGroup
		for i := range 8 {
			calls.Go(func() {
				if took, err := run(fmt.Sprint("slow-", i), 3*time.Second); err != nil {
					t.Errorf("failed after %s: %v", took, err)
				}
			})
		}
		synctest.Wait()
		if took, err := run("quick", 10*time.Millisecond); err != nil || took > 300*time.Millisecond {
			t.Errorf("behind eight that are slow for the first time: %s, %v", took, err)
		}
		calls.Wait()
		if len(s.slowSince) == 0 {
			t.Errorf("none is slow; calls take %s on average", s.average)
		}
		for i := range 8 {
			calls.Go(func() { _, _ = run(fmt.Sprint("slow-", i), 10*time.Millisecond) })
		}
		calls.Wait()
		if len(s.slowSince) > 0 {
			t.Errorf("slow after all were quick: %v", s.slowSince)
		}
		s.check(t, 8)
	})
}

// Where all calls take long, long is not slow.
func TestSlowAPIKeepsItsSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slotsForTest(t, 4)
		began := time.Now()
		var calls sync.WaitGroup
		for i := range 40 {
			calls.Go(func() {
				if err := s.run(ofObject(t.Context(), fmt.Sprint("a/", i)), fmt.Sprint(i), sleep(3*time.Second)); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if took := time.Since(began); took != 30*time.Second {
			t.Errorf("forty calls of 3 s in 4 slots took %s", took)
		}
	})
}

func TestQueueIsBounded(t *testing.T) {
	s := slotsForTest(t, 1)
	for range maxWaiting {
		s.slow.Push(&fairqueue.Item[*slot]{}, 0)
	}
	if err := s.run(t.Context(), "call", sleep(0)); !errors.Is(err, ErrQueueFull) {
		t.Errorf("got %v", err)
	}
}

// The timeout begins with the slot, and so does the duration in the error.
func TestTimeoutBeginsWithTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slotsForTest(t, 1)
		began := time.Now()
		var calls sync.WaitGroup
		calls.Go(func() { _ = s.run(ofObject(t.Context(), "a/1"), "1", sleep(9*time.Second)) })
		synctest.Wait()
		call := &Call{Object: types.NamespacedName{Namespace: "a", Name: "2"}}
		if err := s.run(WithCall(t.Context(), call), "2", sleep(9*time.Second)); err != nil {
			t.Error(err)
		}
		if call.Began.Sub(began) != 9*time.Second {
			t.Errorf("it began after %s", call.Began.Sub(began))
		}
		if err := s.run(ofObject(t.Context(), "a/3"), "3", sleep(11*time.Second)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		calls.Wait()
	})
}

// TestSlowCallsAreRememberedInFewBytes: a call's text holds selectors and names of any length, written by untrusted
// users.
func TestSlowCallsAreRememberedInFewBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := slotsForTest(t, 1)
		const calls, length = 50, 1 << 20
		used := func() uint64 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return m.HeapAlloc
		}
		name := func(i int) string { return strings.Repeat(string(rune('a'+i)), length) }
		before := used()
		for i := range calls {
			if err := s.run(ofObject(t.Context(), "a/1"), name(i), sleep(11*time.Second)); !errors.Is(err,
				context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
		if grown := int64(used()) - int64(before); grown > 5*length {
			t.Errorf("%d calls with texts of 1 MiB each are remembered in %d MiB", calls, grown>>20)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.slowSince) != calls {
			t.Errorf("%d slow calls are remembered, want %d", len(s.slowSince), calls)
		}
	})
}
