package getcache

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// gauge counts the reads of a server that are under way, and the most at a time.
type gauge struct {
	mu        sync.Mutex
	now, most map[string]int
}

const all = "all namespaces"

func (g *gauge) add(namespace string, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, name := range []string{namespace, all} {
		g.now[name] += n
		g.most[name] = max(g.most[name], g.now[name])
	}
}

func (g *gauge) peak(namespace string) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most[namespace]
}

// gauged returns a Cache of the server, and a gauge of its concurrent reads.
func gauged(t *testing.T, s *server) (*Cache[string], *gauge) {
	t.Helper()
	g := &gauge{now: map[string]int{}, most: map[string]int{}}
	c, err := New(Config[string]{Age: age, FailureAge: failureAge, Get: func(ctx context.Context, key Key) (string, error) {
		g.add(key.Namespace, 1)
		defer g.add(key.Namespace, -1)
		return s.get(ctx, key)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return c, g
}

// burst gets many objects of each namespace at once. It calls done with the result of each.
func burst(c *Cache[string], namespaces int, done func(took time.Duration, err error)) *sync.WaitGroup {
	var all sync.WaitGroup
	for i := range namespaces * readBurst {
		all.Go(func() {
			began := time.Now()
			_, err := c.Get(context.Background(), Key{fmt.Sprint("hostile-", i%namespaces), fmt.Sprint(i / namespaces)})
			done(time.Since(began), err)
		})
	}
	return &all
}

// TestSilentServer: while the API server is silent, few reads are running, and no goroutine waits for another one.
// Callers with a value do not wait, and the others no longer than for one read.
func TestSilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{value: "first", reads: map[string]int{}}
		c, g := gauged(t, s)
		want(t, c, "first", 0)
		s.set("", nil, time.Hour)
		before := runtime.NumGoroutine()
		const namespaces = 10
		callers := burst(c, namespaces, func(took time.Duration, err error) {
			if took > timeout || err == nil {
				t.Errorf("%v after %s", err, took)
			}
		})
		synctest.Wait()
		if n := runtime.NumGoroutine() - before - namespaces*readBurst; n > maxReads {
			t.Errorf("%d goroutines read", n)
		}
		callers.Wait()
		for range 10 * age / time.Second {
			for range 10 {
				go func() { _, _ = c.Get(t.Context(), Key{"hostile-0", fmt.Sprint(time.Now())}) }()
			}
			want(t, c, "first", 0)
			<-time.After(time.Second)
		}
		if n, each := g.peak(all), g.peak("hostile-1"); n > maxReads || each > maxReadsEach {
			t.Errorf("%d reads at a time, %d of a namespace", n, each)
		}
		s.set("second", nil, 0)
		<-time.After(timeout + failureAge)
		want(t, c, "first", 0)
		synctest.Wait()
		want(t, c, "second", 0)
	})
}

// TestTurns: the reads of many namespaces take turns, so that a read of another namespace waits for one of theirs. All
// are read.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{value: "first", reads: map[string]int{}}
		c, g := gauged(t, s)
		const takes, namespaces = 50 * time.Millisecond, 10
		s.set("first", nil, takes)
		callers := burst(c, namespaces, func(took time.Duration, err error) {
			if took > namespaces*readBurst/maxReads*takes+2*takes || err != nil {
				t.Errorf("%v after %s", err, took)
			}
		})
		<-time.After(takes / 2)
		want(t, c, "first", 2*takes)
		callers.Wait()
		if n, each := g.peak(all), g.peak("hostile-1"); n != maxReads || each > maxReadsEach {
			t.Errorf("%d reads at a time, %d of a namespace", n, each)
		}
		<-time.After(timeout)
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.reads.IsIdle() {
			t.Error("reads are left")
		}
	})
}

// TestSlowServer: a read that waits for too long is dropped, and made later if it is still needed.
func TestSlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{value: "first", reads: map[string]int{}}
		c, _ := gauged(t, s)
		s.set("first", nil, time.Second)
		var mu sync.Mutex
		refused := 0
		burst(c, 1, func(took time.Duration, err error) {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, errBusy) && took == maxQueued:
				refused++
			case err != nil:
				t.Errorf("%v after %s", err, took)
			}
		}).Wait()
		if n := s.count("hostile-0"); n != readBurst-refused || refused < readBurst/2 {
			t.Errorf("%d reads, %d refused", n, refused)
		}
		<-time.After(failureAge)
		if n := s.count("hostile-0"); n != readBurst-refused {
			t.Errorf("%d reads although nothing is needed", n)
		}
		for range age / time.Second {
			burst(c, 1, func(time.Duration, error) {})
			<-time.After(time.Second)
		}
		for i := range readBurst {
			if _, err := c.Get(t.Context(), Key{"hostile-0", fmt.Sprint(i)}); err != nil {
				t.Error(err)
			}
		}
		<-time.After(timeout)
	})
}
