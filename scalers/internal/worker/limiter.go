package worker

import (
	"context"
	"fmt"
	"sync"
)

// callsPerNamespace is the most calls of scalers that may be under way for a namespace. It is above what namespaces
// need: 300 metrics that are read at once, in 200 ms each, take a second.
const callsPerNamespace = 64

// limiter bounds the calls for each namespace. A call counts until it ends, also one that was abandoned: otherwise the
// author of metrics that hang could use up the process, which other authors' metrics are in too.
type limiter struct {
	mu sync.Mutex
	// namespaces has those with calls under way.
	namespaces map[string]*callCount
	// changed is closed, and replaced, when a call ends or is abandoned.
	changed chan struct{}
}

// callCount counts the calls under way for a namespace, and those of them that were abandoned.
type callCount struct{ running, abandoned int }

func newLimiter() *limiter {
	return &limiter{namespaces: map[string]*callCount{}, changed: make(chan struct{})}
}

// acquire counts a call, which the caller releases. It waits for the end of another one if there are too many, but not
// if none of them is about to end.
func (l *limiter) acquire(ctx context.Context, namespace string) error {
	for {
		isCounted, changed, err := l.tryAcquire(namespace)
		if isCounted || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return l.tooMany(namespace)
		}
	}
}

// tryAcquire counts a call. If there are too many, it returns a channel that is closed when it may be tried again.
func (l *limiter) tryAcquire(namespace string) (isCounted bool, changed chan struct{}, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch count := l.countLocked(namespace); {
	case count.running < callsPerNamespace:
		count.running++
		return true, nil, nil
	case count.abandoned >= callsPerNamespace:
		return false, nil, fmt.Errorf("%d calls of KEDA's scalers for namespace %s do not end, the most for a namespace: "+
			"the namespace has metrics that hang", callsPerNamespace, namespace)
	default:
		return false, l.changed, nil
	}
}

// tooMany is the error of a call that waited in vain.
func (l *limiter) tooMany(namespace string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	hint := ""
	if count := l.namespaces[namespace]; count != nil && count.abandoned > 0 {
		hint = "; some of them do not end"
	}
	return fmt.Errorf("%d calls of KEDA's scalers are under way for namespace %s, the most for a namespace%s",
		callsPerNamespace, namespace, hint)
}

// add counts a call that must not wait, beyond the bound too.
func (l *limiter) add(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.countLocked(namespace).running++
}

// abandon counts a call as abandoned.
func (l *limiter) abandon(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.countLocked(namespace).abandoned++
	l.notifyLocked()
}

// release ends a call.
func (l *limiter) release(namespace string, isAbandoned bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := l.countLocked(namespace)
	count.running--
	if isAbandoned {
		count.abandoned--
	}
	if count.running == 0 {
		delete(l.namespaces, namespace)
	}
	l.notifyLocked()
}

// wait waits until there are no calls, or until the context ends.
func (l *limiter) wait(ctx context.Context) {
	for {
		l.mu.Lock()
		running, changed := len(l.namespaces), l.changed
		l.mu.Unlock()
		if running == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (l *limiter) countLocked(namespace string) *callCount {
	count := l.namespaces[namespace]
	if count == nil {
		count = &callCount{}
		l.namespaces[namespace] = count
	}
	return count
}

func (l *limiter) notifyLocked() {
	close(l.changed)
	l.changed = make(chan struct{})
}
