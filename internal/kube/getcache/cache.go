// Package getcache caches objects that are read from the API server one at a time, each with a GET.
//
// An object stays in use while the API server does not respond. The objects of one namespace do not affect others: the
// reads for a namespace, and its part of the cache, are bounded. So are the reads for all namespaces together.
package getcache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/fairqueue"
)

const (
	// timeout bounds one request to the API server.
	timeout = 5 * time.Second
	// patience is how long a caller with an older value waits for a new read.
	patience = 500 * time.Millisecond
	// MaxUnconfirmed is how long a value is used while the API server does not respond.
	MaxUnconfirmed = 10 * time.Minute
	// readsPerSecond and readBurst bound the reads for a namespace, maxObjects the objects in its cache.
	readsPerSecond, readBurst = 10, 100
	maxObjects                = 1000
	// maxBytes bounds the total size of a namespace's objects, as Config.Bytes counts it.
	maxBytes  = 8 << 20
	tidyEvery = time.Minute
)

// ErrUnusable is wrapped by errors of Config.Get that result from the object itself: it exists, but must not be used.
var ErrUnusable = errors.New("not usable")

var (
	errLimited = fmt.Errorf("more than %d of them are read per second for the namespace: it is read later", readsPerSecond)
	errFull    = fmt.Errorf("more than %d of them are used in the namespace", maxObjects)
	errLarge   = fmt.Errorf("with it, those used in the namespace have more than %d bytes: %w", maxBytes, ErrUnusable)
)

// Key is the name of an object.
type Key struct{ Namespace, Name string }

// Config configures a Cache.
type Config[V any] struct {
	// Get reads an object. Its values are shared, so they must not be changed.
	Get func(ctx context.Context, key Key) (V, error)
	// Bytes returns the memory that an object needs; nil if all are small.
	Bytes func(V) int
	// Age is when an object is read again, in the background; half of it later, callers wait for that.
	Age time.Duration
	// FailureAge is when an object is read again after a failure.
	FailureAge time.Duration
}

// Cache caches objects. It is safe for concurrent use.
type Cache[V any] struct {
	config Config[V]

	// mu guards the following, and the entries.
	mu         sync.Mutex
	namespaces map[string]*namespace[V]
	tidied     time.Time
	// reads has the queues of namespaces below it.
	reads *queue[V]
}

// namespace has the objects of one namespace.
type namespace[V any] struct {
	limiter *rate.Limiter
	entries map[string]*entry[V]
	tidied  time.Time
	// reads has the reads that wait for their turn or run.
	reads *queue[V]
}

// New makes a Cache. It reads nothing yet.
func New[V any](config Config[V]) (*Cache[V], error) {
	if config.Get == nil || config.Age <= 0 || config.FailureAge <= 0 {
		return nil, errors.New("a cache of objects: Get and ages are needed")
	}
	return &Cache[V]{
		config: config, namespaces: map[string]*namespace[V]{}, reads: fairqueue.New[*read[V]](nil, maxReads),
	}, nil
}

// Get returns the object, from the API server unless it is cached. All callers that wait for an object share one read.
func (c *Cache[V]) Get(ctx context.Context, key Key) (V, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, reading, err := c.findLocked(key)
	if err != nil {
		return *new(V), err
	}
	if reading != nil {
		hasValue := e.hasValue
		c.mu.Unlock()
		err = wait(ctx, reading, hasValue)
		c.mu.Lock()
		if err != nil {
			return *new(V), fmt.Errorf("waiting for the API server: %w", err)
		}
	}
	return e.result()
}

// findLocked returns the entry of the object, and the read to wait for; nil if the entry is usable now.
func (c *Cache[V]) findLocked(key Key) (e *entry[V], reading <-chan struct{}, err error) {
	now := time.Now()
	n, e, err := c.entryLocked(key, now)
	if err != nil {
		return nil, nil, err
	}
	e.used = now
	e.expire(now)
	if e.isDue(now, &c.config) && n.limiter.AllowN(now, 1) {
		c.queueLocked(&read[V]{key: key, entry: e, namespace: n, at: now})
	}
	if e.isUsable(now, &c.config) {
		return e, nil, nil
	}
	return e, e.reading, nil
}

// wait waits for a read, and only for a short time if there is an older value.
func wait(ctx context.Context, reading <-chan struct{}, hasValue bool) error {
	var enough <-chan time.Time
	if hasValue {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		enough = timer.C
	}
	select {
	case <-reading:
	case <-enough:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// entryLocked returns the entry of an object; it adds a missing one.
func (c *Cache[V]) entryLocked(key Key, now time.Time) (*namespace[V], *entry[V], error) {
	if now.Sub(c.tidied) >= tidyEvery {
		c.tidied = now
		c.tidyLocked(now)
	}
	n := c.namespaces[key.Namespace]
	if n == nil {
		n = &namespace[V]{
			limiter: rate.NewLimiter(readsPerSecond, readBurst), entries: map[string]*entry[V]{},
			reads: fairqueue.New(c.reads, maxReadsEach),
		}
		c.namespaces[key.Namespace] = n
	}
	e := n.entries[key.Name]
	if e != nil {
		return n, e, nil
	}
	if len(n.entries) >= maxObjects {
		if now.Sub(n.tidied) >= time.Second {
			n.tidy(now, &c.config)
		}
		if len(n.entries) >= maxObjects {
			return nil, nil, errFull
		}
	}
	e = &entry[V]{}
	n.entries[key.Name] = e
	return n, e, nil
}

// tidyLocked removes unused entries and namespaces.
func (c *Cache[V]) tidyLocked(now time.Time) {
	for name, n := range c.namespaces {
		n.tidy(now, &c.config)
		if len(n.entries) == 0 && n.limiter.TokensAt(now) >= readBurst {
			delete(c.namespaces, name)
		}
	}
}

func (n *namespace[V]) tidy(now time.Time, config *Config[V]) {
	n.tidied = now
	for name, e := range n.entries {
		if e.isIdle(now, config) {
			delete(n.entries, name)
		}
	}
}

// hasRoomLocked reports whether the value fits beside the other objects of the namespace.
func (c *Cache[V]) hasRoomLocked(n *namespace[V], e *entry[V], value V) bool {
	if c.config.Bytes == nil {
		return true
	}
	bytes := c.config.Bytes(value)
	for _, other := range n.entries {
		if other != e && other.hasValue {
			bytes += other.bytes
		}
	}
	e.bytes = c.config.Bytes(value)
	return bytes <= maxBytes
}

// isAnswer reports whether the error is an answer about the object. After any other error an older value stays in use.
func isAnswer(err error) bool {
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonNotFound, metav1.StatusReasonGone, metav1.StatusReasonForbidden,
		metav1.StatusReasonUnauthorized:
		return true
	default:
		return errors.Is(err, ErrUnusable)
	}
}
