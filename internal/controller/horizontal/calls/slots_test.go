package calls

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	kindA = schema.GroupKind{Group: "example.com", Kind: "A"}
	kindB = schema.GroupKind{Group: "example.com", Kind: "B"}
)

// TestSlotsOfOneKindLeaveOthersTheirs: calls about one kind that hang take no slots of another kind.
func TestSlotsOfOneKindLeaveOthersTheirs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(2)
		for range 2 {
			if err := s.Acquire(t.Context(), kindA, time.Now(), time.Second); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if err := s.Acquire(t.Context(), kindA, began, time.Second); !errors.Is(err, ErrNoSlot) ||
			time.Since(began) != time.Second {
			t.Errorf("the third of two: %v after %s, want %v after a second", err, time.Since(began), ErrNoSlot)
		}
		if !s.TryAcquire(kindB) || s.TryAcquire(kindA) {
			t.Error("want a slot for the other kind alone")
		}
		s.Release(kindB)
		s.Release(kindA)
		s.Release(kindA)
		for _, kind := range []schema.GroupKind{kindA, kindB} {
			if !s.kindLocked(kind).IsIdle() {
				t.Errorf("a slot of %s is taken without a call", kind)
			}
		}
	})
}

// TestSlotsGoToLongestWaiting: the age of the work counts, not the time in the queue, because a call that gave up
// returns later.
func TestSlotsGoToLongestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, start := NewSlots(1), time.Now()
		if !s.TryAcquire(kindA) {
			t.Fatal("no slot")
		}
		var order []int
		for _, since := range []int{3, 1, 2, 1} {
			go func() {
				if err := s.Acquire(t.Context(), kindA, start.Add(time.Duration(since)*time.Second),
					time.Minute); err != nil {
					t.Error(err)
				}
				order = append(order, since)
			}()
			synctest.Wait()
		}
		for range 4 {
			s.Release(kindA)
			synctest.Wait()
		}
		if !slices.Equal(order, []int{1, 1, 2, 3}) {
			t.Errorf("slots went to those of %v, want those of 1, 1, 2, 3", order)
		}
	})
}

// TestKindsAreForgotten: untrusted users choose the names of kinds.
func TestKindsAreForgotten(t *testing.T) {
	s := NewSlots(1)
	for i := range 10_000 {
		kind := schema.GroupKind{Group: "example.com", Kind: strconv.Itoa(i)}
		if !s.TryAcquire(kind) {
			t.Fatal("no slot")
		}
		s.Release(kind)
	}
	if n := s.kinds.Len(); n > 200 {
		t.Errorf("%d kinds are remembered without a call", n)
	}
}

// TestSlotsUnderLoad: with many goroutines, some of which give up, the number of running calls stays within its limit,
// and no slot is lost.
func TestSlotsUnderLoad(t *testing.T) {
	s := NewSlots(3)
	var all sync.WaitGroup
	var running [2]atomic.Int32
	for i := range 64 {
		all.Go(func() {
			n := i % 2
			kind := []schema.GroupKind{kindA, kindB}[n]
			for range 100 {
				if s.Acquire(t.Context(), kind, time.Now(), time.Duration(i)*10*time.Microsecond) != nil {
					continue
				}
				if running[n].Add(1) > 3 {
					t.Error("more than three calls run")
				}
				runtime.Gosched()
				running[n].Add(-1)
				s.Release(kind)
			}
		})
	}
	all.Wait()
	if !s.kindLocked(kindA).IsIdle() || !s.kindLocked(kindB).IsIdle() {
		t.Error("a slot is used without a call")
	}
}

// TestSlotsSurviveGivingUp: neither a call that waited too long nor one that ended loses a slot.
func TestSlotsSurviveGivingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSlots(1)
		if !s.TryAcquire(kindA) {
			t.Fatal("no slot")
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _ = s.Acquire(ctx, kindA, time.Now(), time.Minute) }()
		go func() { _ = s.Acquire(t.Context(), kindA, time.Now(), time.Second) }()
		synctest.Wait()
		cancel()
		time.Sleep(2 * time.Second) //nolint:forbidigo // virtual time: the second one gives up
		s.Release(kindA)
		if !s.kindLocked(kindA).IsIdle() {
			t.Error("a slot is used without a call")
		}
		if err := s.Acquire(ctx, kindA, time.Now(), time.Second); !errors.Is(err, context.Canceled) {
			t.Errorf("after the end: %v", err)
		}
	})
}
