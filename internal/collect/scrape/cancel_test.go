package scrape

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
)

// TestCancelledAtItsEnd: a scrape may succeed in the moment in which it is cancelled for others. The context of its
// worker has ended then: the next target's scrape would fail at once.
func TestCancelledAtItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := New(Config[kubelet.Target]{
			Scrape:        func(context.Context, kubelet.Target) (time.Duration, error) { return 0, nil },
			MaxConcurrent: 1,
		})
		if err != nil {
			t.Fatal(err)
		}
		r.Add(some(0, 1, 2, 3, 4, 5)...)
		contexts := map[*worker[kubelet.Target]]context.Context{}
		// As Run does, but that the scrape ends when the test says so.
		start := func() *entry[kubelet.Target] {
			e, _ := r.start()
			if e == nil {
				t.Fatal("no scrape starts")
			}
			if e.worker == nil {
				own, cancel := context.WithCancelCause(t.Context())
				e.worker = &worker[kubelet.Target]{next: make(chan *entry[kubelet.Target], 1), cancel: cancel}
				contexts[e.worker] = own
			}
			return e
		}
		// One is quick, and three become slow. The fifth becomes slow too, so that the first of them is cancelled.
		first := start()
		r.end(first.worker, first, 0, nil)
		slow := start()
		for range 3 {
			<-time.After(DefaultSlowAfter)
			start()
		}
		<-time.After(DefaultSlowAfter)
		start()
		if contexts[slow.worker].Err() == nil {
			t.Fatal("the slowest scrape is not cancelled")
		}
		if r.end(slow.worker, slow, 0, nil) || len(r.idle) > 0 {
			t.Error("a worker waits for a target with a context that has ended")
		}
	})
}
