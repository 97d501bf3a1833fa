package ownership

import (
	"context"
	"errors"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/internal/fairqueue"
)

const (
	// renewal is the age at which a result is requested again.
	renewal = 10 * time.Minute
	// retryAfter is the age at which an error is requested again. Without a response it doubles after each call, up to
	// renewal.
	retryAfter = 30 * time.Second
	// withoutScale is how long a kind counts as one without a scale: one request per kind in this time, however many
	// objects it has.
	withoutScale = time.Minute
	// unusedExpiry is the time after which an unused result is dropped.
	unusedExpiry = time.Hour
	// checkPeriod is the period at which Run checks for stale results.
	checkPeriod = time.Second
	// maxCallsPerKind bounds the concurrent calls for a kind, to one while its calls get no response; maxCalls those for
	// all kinds.
	maxCallsPerKind, maxCalls = 4, 32
	// patience is how long Await waits.
	patience = 5 * time.Second
)

// answer is a scale, or the error in place of one.
type answer struct {
	scale *autoscalingv1.Scale
	err   error
	// at is its time, zero before the first response; used is when it was last read.
	at, used time.Time
	// call is its place in the queue. isQueued is true until the call has ended.
	call     fairqueue.Item[key]
	isQueued bool
	// unanswered counts the last calls without an answer.
	unanswered int
}

// isStale reports whether to request it again. A scale without a selector is one whose controller has not written its
// status yet.
func (a *answer) isStale(now time.Time) bool {
	age := now.Sub(a.at)
	switch {
	case a.unanswered > 1:
		return age >= min(retryAfter<<min(a.unanswered-1, 10), renewal)
	case a.err != nil, a.unanswered > 0, a.scale.Status.Selector == "":
		return age >= retryAfter
	default:
		return age >= renewal
	}
}

// kindState is the state of all objects of a kind.
type kindState struct {
	// calls has the calls that wait or run.
	calls *fairqueue.Queue[key]
	// isSilent is set while calls for the kind get no answer.
	isSilent bool
	// unsupported is the reason why no object of the kind has a scale, valid until the given time.
	unsupported error
	until       time.Time
	// used is when an object of it was last queued.
	used time.Time
}

// known returns the cached result, whatever its age: Run renews it. It queues a request for a missing one.
func (t *Tree) known(k key) *answer {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	a, ok := t.asked[k]
	if !ok {
		a = &answer{}
		t.asked[k] = a
		// The latest request goes first, and before all renewals: a pod that is being admitted must not wait for others.
		t.enqueueLocked(now, k, a, -now.UnixNano())
		t.wakeUp()
	}
	a.used = now
	if !a.at.IsZero() {
		return &answer{scale: a.scale, err: a.err}
	}
	why := errNotAsked
	if t.kinds[k.kind].isSilent {
		why = ErrUnknown // the response may take long
	}
	return &answer{err: fmt.Errorf("%s %s/%s: %w", k.kind.Kind, k.namespace, k.name, why)}
}

// enqueueLocked queues the call. Calls of a lower rank go first.
func (t *Tree) enqueueLocked(now time.Time, k key, a *answer, rank int64) {
	kind := t.kinds[k.kind]
	if kind == nil {
		kind = &kindState{calls: fairqueue.New(t.calls, maxCallsPerKind)}
		t.kinds[k.kind] = kind
	}
	kind.used = now
	a.isQueued, a.call.Of = true, k
	kind.calls.Push(&a.call, rank)
}

func (t *Tree) wakeUp() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Run requests missing scales, renews stale ones, and drops unused ones, until ctx ends. Kinds take turns, so that one
// that hangs delays no other.
func (t *Tree) Run(ctx context.Context) {
	defer t.asking.Wait()
	ticker := time.NewTicker(checkPeriod)
	defer ticker.Stop()
	for {
		t.mu.Lock()
		t.beginLocked(ctx)
		t.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		case now := <-ticker.C:
			t.enqueueStale(now)
		}
	}
}

// enqueueStale queues stale results and drops unused ones.
func (t *Tree) enqueueStale(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, a := range t.asked {
		switch {
		case a.isQueued:
		case now.Sub(a.used) > unusedExpiry:
			delete(t.asked, k)
		case a.isStale(now):
			t.enqueueLocked(now, k, a, now.UnixNano())
		}
	}
	for kind, state := range t.kinds {
		if state.calls.IsIdle() && now.Sub(state.used) > unusedExpiry {
			delete(t.kinds, kind)
		}
	}
}

// beginLocked starts the calls whose turn it is. It ends those at once whose kind has no scales.
func (t *Tree) beginLocked(ctx context.Context) {
	for ctx.Err() == nil {
		k, ok := t.calls.Next()
		if !ok {
			return
		}
		kind := t.kinds[k.kind]
		if time.Now().Before(kind.until) {
			t.settleLocked(kind, k, nil, kind.unsupported)
			continue
		}
		t.asking.Go(func() {
			scale, err := t.get(ctx, k)
			t.mu.Lock()
			defer t.mu.Unlock()
			t.settleLocked(kind, k, scale, err)
			t.beginLocked(ctx)
		})
	}
}

// settleLocked ends a call and keeps its result. Without a response, the last one stays.
func (t *Tree) settleLocked(kind *kindState, k key, scale *autoscalingv1.Scale, err error) {
	now, isUnknown := time.Now(), errors.Is(err, ErrUnknown)
	kind.calls.Done()
	kind.calls.Limit = maxCallsPerKind
	if kind.isSilent = isUnknown; isUnknown {
		kind.calls.Limit = 1
	}
	if errors.Is(err, ErrUnsupported) && !now.Before(kind.until) {
		kind.unsupported, kind.until = err, now.Add(withoutScale)
	}
	a := t.asked[k] // queued results are never dropped
	a.at, a.isQueued = now, false
	a.unanswered++
	if !isUnknown {
		a.unanswered = 0
	}
	if a.scale == nil || !isUnknown {
		a.scale, a.err = scale, err
	}
	close(t.answered)
	t.answered = make(chan struct{})
}

// get reads the scale from the first resource of the kind that has one.
func (t *Tree) get(ctx context.Context, k key) (*autoscalingv1.Scale, error) {
	mappings, err := t.mapper.RESTMappings(k.kind)
	if meta.IsNoMatchError(err) {
		return nil, as(ErrUnsupported, err)
	}
	if err != nil {
		return nil, as(ErrUnknown, err)
	}
	var why error
	asked := map[schema.GroupResource]bool{} // versions of a resource have one scale
	for _, mapping := range mappings {
		resource := mapping.Resource.GroupResource()
		if asked[resource] {
			continue
		}
		asked[resource] = true
		scale, err := t.getOne(ctx, k, resource)
		if err == nil {
			return scale, nil
		}
		if err = classify(err); why == nil || errors.Is(why, ErrUnsupported) {
			why = err // of two resources, the error of the one with scales is more specific
		}
	}
	return nil, why
}

func (t *Tree) getOne(ctx context.Context, k key, resource schema.GroupResource) (*autoscalingv1.Scale, error) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	return t.scales.Scales(k.namespace).Get(ctx, resource, k.name, metav1.GetOptions{})
}

// classify separates definite errors from those that may pass. For a custom resource without a scale subresource the
// API server returns NotFound, as for a missing object.
func classify(err error) error {
	switch {
	case apierrors.IsMethodNotSupported(err), meta.IsNoMatchError(err):
		return as(ErrUnsupported, err)
	case apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse):
		// No such path, rather than no such object.
		return as(ErrUnsupported, err)
	case apierrors.IsNotFound(err):
		return as(ErrNotFound, err)
	}
	return as(ErrUnknown, err)
}
