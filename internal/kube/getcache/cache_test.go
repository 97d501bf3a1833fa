package getcache

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	age        = 40 * time.Second
	failureAge = 10 * time.Second
)

var (
	group = schema.GroupResource{Resource: "secrets"}
	one   = Key{"team-a", "one"}
)

// server answers reads.
type server struct {
	// mu guards the following.
	mu sync.Mutex
	// value and err are the answer, which takes so long.
	value string
	err   error
	takes time.Duration
	// reads counts by namespace.
	reads map[string]int
}

func (s *server) set(value string, err error, takes time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value, s.err, s.takes = value, err, takes
}

func (s *server) count(namespace string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads[namespace]
}

func (s *server) get(ctx context.Context, key Key) (string, error) {
	s.mu.Lock()
	s.reads[key.Namespace]++
	value, err, takes := s.value, s.err, s.takes
	s.mu.Unlock()
	select {
	case <-time.After(takes):
		return value, err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// bubble runs a test with a Cache of the server, in virtual time.
func bubble(t *testing.T, test func(t *testing.T, s *server, c *Cache[string])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &server{value: "first", reads: map[string]int{}}
		c, err := New(Config[string]{Get: s.get, Age: age, FailureAge: failureAge})
		if err != nil {
			t.Fatal(err)
		}
		test(t, s, c)
		<-time.After(timeout)
	})
}

// want gets the object, which must not take longer than most.
func want(t *testing.T, c *Cache[string], value string, most time.Duration) {
	t.Helper()
	began := time.Now()
	got, err := c.Get(t.Context(), one)
	if took := time.Since(began); got != value || err != nil || took > most {
		t.Fatalf("%q, %v after %s; want %q within %s", got, err, took, value, most)
	}
}

// TestRefresh: an object in use is read again while its older value is used.
func TestRefresh(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, c *Cache[string]) {
		want(t, c, "first", 0)
		s.set("second", nil, time.Second)
		for range 10 {
			<-time.After(age/10 - 1)
			want(t, c, "first", 0)
		}
		if n := s.count("team-a"); n != 1 {
			t.Errorf("%d reads", n)
		}
		<-time.After(10)
		want(t, c, "first", 0)
		<-time.After(time.Second + 1)
		want(t, c, "second", 0)
		if n := s.count("team-a"); n != 2 {
			t.Errorf("%d reads", n)
		}
	})
}

// TestUnavailable: while the API server fails or does not answer, an object stays in use, but not for ever.
func TestUnavailable(t *testing.T) {
	for name, fail := range map[string]func(*server){
		"refuses":   func(s *server) { s.set("", errors.New("connection refused"), 0) },
		"is silent": func(s *server) { s.set("", nil, time.Hour) },
		"is busy":   func(s *server) { s.set("", apierrors.NewTooManyRequests("later", 1), 0) },
		"has a bug": func(s *server) { s.set("", apierrors.NewInternalError(errors.New("bug")), 0) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *server, c *Cache[string]) {
				want(t, c, "first", 0)
				fail(s)
				began := time.Now()
				for time.Since(began) < MaxUnconfirmed-time.Second {
					want(t, c, "first", 0)
					<-time.After(time.Second)
				}
				if n := s.count("team-a"); n < 30 || n > 62 {
					t.Errorf("%d reads in 10 minutes", n)
				}
				<-time.After(time.Second)
				if value, err := c.Get(t.Context(), one); err == nil {
					t.Errorf("%q is used after %s", value, MaxUnconfirmed)
				}
				s.set("second", nil, 0)
				<-time.After(failureAge)
				want(t, c, "second", 0)
			})
		})
	}
}

// TestAnswers: an object is no longer used after such an answer.
func TestAnswers(t *testing.T) {
	for name, answer := range map[string]error{
		"not found":    apierrors.NewNotFound(group, "one"),
		"forbidden":    fmt.Errorf("the controller may not read it: %w", apierrors.NewForbidden(group, "one", nil)),
		"unauthorized": apierrors.NewUnauthorized("who are you"),
		"unusable":     fmt.Errorf("it has no annotation: %w", ErrUnusable),
	} {
		bubble(t, func(t *testing.T, s *server, c *Cache[string]) {
			want(t, c, "first", 0)
			s.set("", answer, 0)
			<-time.After(age)
			want(t, c, "first", 0)
			synctest.Wait()
			if value, err := c.Get(t.Context(), one); value != "" || !errors.Is(err, answer) {
				t.Errorf("%s: %q, %v", name, value, err)
			}
			s.set("", nil, time.Hour)
			<-time.After(failureAge)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if value, err := c.Get(ctx, one); value != "" || err == nil {
				t.Errorf("%s: %q comes back", name, value)
			}
		})
	}
}

// TestUnused: an object that was unused for long is used again only after another read, or if the API server does not
// respond.
func TestUnused(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, c *Cache[string]) {
		want(t, c, "first", 0)
		<-time.After(2 * age)
		s.set("second", nil, patience-1)
		want(t, c, "second", patience)
		<-time.After(2 * age)
		s.set("third", nil, time.Hour)
		want(t, c, "second", patience)
		<-time.After(timeout)
		want(t, c, "second", 0)
	})
}

// TestNamespaces: the objects of a namespace cost no more requests than the bound, whether they exist or not, and the
// first read of another namespace starts at once.
func TestNamespaces(t *testing.T) {
	for _, answer := range []error{nil, apierrors.NewNotFound(group, "x")} {
		bubble(t, func(t *testing.T, s *server, c *Cache[string]) {
			s.set("first", answer, 0)
			limited := 0
			const seconds = 60
			for range seconds {
				for i := range 2 * maxObjects {
					if _, err := c.Get(t.Context(), Key{"hostile", fmt.Sprint("x-", i)}); errors.Is(err, errLimited) {
						limited++
					}
				}
				<-time.After(time.Second)
			}
			if n := s.count("hostile"); n > readBurst+seconds*readsPerSecond || n < seconds*readsPerSecond || limited == 0 {
				t.Errorf("%d reads, %d refused", n, limited)
			}
			if n := len(c.namespaces["hostile"].entries); n > maxObjects {
				t.Errorf("%d objects", n)
			}
			s.set("first", nil, 0)
			want(t, c, "first", 0)
			if n := s.count("team-a"); n != 1 {
				t.Errorf("%d reads", n)
			}
		})
	}
}

// TestBytes: a namespace with large objects keeps the first ones, and other namespaces keep all of theirs. One that
// grows beyond the bound is no longer used, and there is room again once others are unused.
func TestBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{value: strings.Repeat("x", maxBytes/4), reads: map[string]int{}}
		c, err := New(Config[string]{
			Get: s.get, Bytes: func(v string) int { return len(v) }, Age: age, FailureAge: failureAge,
		})
		if err != nil {
			t.Fatal(err)
		}
		usable := func(namespace string) (n int) {
			for i := range 10 {
				switch _, err := c.Get(t.Context(), Key{namespace, fmt.Sprint(i)}); {
				case err == nil:
					n++
				case !errors.Is(err, ErrUnusable):
					t.Error(err)
				}
			}
			return n
		}
		for range 5 {
			if hostile, other := usable("hostile"), usable("team-a"); hostile != 4 || other != 4 {
				t.Errorf("%d and %d objects", hostile, other)
			}
			<-time.After(age + failureAge)
		}
		s.set(strings.Repeat("x", maxBytes+1), nil, 0)
		<-time.After(2 * age)
		if n := usable("hostile"); n != 0 {
			t.Errorf("%d objects that are larger now", n)
		}
		<-time.After(MaxUnconfirmed)
		s.set(strings.Repeat("x", maxBytes), nil, 0)
		if n := usable("hostile"); n != 1 {
			t.Errorf("%d objects", n)
		}
		<-time.After(timeout)
	})
}

// TestOneRead: many callers that need an object at once cost one request, and an unused object is dropped.
func TestOneRead(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, c *Cache[string]) {
		s.set("first", nil, time.Second)
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if value, err := c.Get(t.Context(), one); value != "first" || err != nil {
					t.Error(value, err)
				}
			})
		}
		all.Wait()
		if n := s.count("team-a"); n != 1 {
			t.Errorf("%d reads", n)
		}
		<-time.After(MaxUnconfirmed)
		_, _ = c.Get(t.Context(), Key{"team-b", "one"})
		if len(c.namespaces) != 1 {
			t.Errorf("%d namespaces", len(c.namespaces))
		}
	})
}

// TestImpatient: a caller whose context has ended does not wait, which changes nothing for others.
func TestImpatient(t *testing.T) {
	bubble(t, func(t *testing.T, s *server, c *Cache[string]) {
		s.set("first", nil, 2*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Get(ctx, one); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		want(t, c, "first", time.Second)
	})
}
