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
)

const (
	// renewal is after how long an answer is asked for again.
	renewal = 10 * time.Minute
	// retrial is after how long an error is asked for again. Without an answer it doubles after each
	// call, up to renewal.
	retrial = 30 * time.Second
	// withoutScale is how long a kind counts as one without a scale: so often one of its
	// objects is asked for, however many there are.
	withoutScale = time.Minute
	// oblivion is after how long an answer that is not used is dropped.
	oblivion = time.Hour
	// turn is how often Run checks what is to be asked again.
	turn = time.Second
	// askersPerKind is how many objects of a kind are asked for at a time, one while calls for the
	// kind get no answer; maxAskers is how many of all kinds are.
	askersPerKind, maxAskers = 4, 32
	// patience is how long Await waits.
	patience = 5 * time.Second
)

// answer is a scale, or why there is none.
type answer struct {
	scale *autoscalingv1.Scale
	err   error
	// at is when it came, zero before the first; used is when it was last read.
	at, used time.Time
	// isQueued is set while it waits for an asker or is asked for.
	isQueued bool
	// unanswered counts the last calls without an answer.
	unanswered int
}

// isStale reports whether it is to be asked for again. A scale without a selector
// is one whose controller has not written its status yet.
func (a *answer) isStale(now time.Time) bool {
	age := now.Sub(a.at)
	switch {
	case a.unanswered > 1:
		return age >= min(retrial<<min(a.unanswered-1, 10), renewal)
	case a.err != nil, a.unanswered > 0, a.scale.Status.Selector == "":
		return age >= retrial
	default:
		return age >= renewal
	}
}

// kindQueue is what is known of all objects of a kind.
type kindQueue struct {
	// first are to be asked for that never were, the last of them first: a pod that is
	// admitted now waits for no others. After them, in turn, come those that were.
	first, again []key
	askers       int
	// isSilent is set while calls for the kind get no answer.
	isSilent bool
	// unsupported is why no object of the kind has a scale; it holds until then.
	unsupported error
	until       time.Time
	// used is when an object of it was last queued.
	used time.Time
}

func (q *kindQueue) waiting() int { return len(q.first) + len(q.again) }

// known is the answer that is known already. That it is old does not matter: Run
// renews it. One that is not known is asked for by Run.
func (t *Tree) known(k key) *answer {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	a, known := t.asked[k]
	if !known {
		a = &answer{isQueued: true}
		t.asked[k] = a
		q := t.queue(now, k)
		q.first = append(q.first, k)
		t.wakeUp()
	}
	a.used = now
	if !a.at.IsZero() {
		return &answer{scale: a.scale, err: a.err}
	}
	why := errNotAsked
	if t.kinds[k.kind].isSilent {
		why = ErrUnknown // that may take long
	}
	return &answer{err: fmt.Errorf("%s %s/%s: %w", k.kind.Kind, k.namespace, k.name, why)}
}

// queue is that of an object's kind. The caller holds mu.
func (t *Tree) queue(now time.Time, k key) *kindQueue {
	q := t.kinds[k.kind]
	if q == nil {
		q = &kindQueue{}
		t.kinds[k.kind] = q
	}
	q.used = now
	return q
}

func (t *Tree) wakeUp() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Run asks for what was read and is not known, renews what is old, and drops what is not used,
// until ctx ends. Each kind has askers of its own, so that one that hangs delays no other.
func (t *Tree) Run(ctx context.Context) {
	defer t.asking.Wait()
	ticker := time.NewTicker(turn)
	defer ticker.Stop()
	for {
		t.startAskers(ctx)
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		case now := <-ticker.C:
			t.enqueueStale(now)
		}
	}
}

// enqueueStale queues what is old and drops what is not used.
func (t *Tree) enqueueStale(now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for k, a := range t.asked {
		switch {
		case a.isQueued:
		case now.Sub(a.used) > oblivion:
			delete(t.asked, k)
		case a.isStale(now):
			a.isQueued = true
			q := t.queue(now, k)
			q.again = append(q.again, k)
		}
	}
	for kind, q := range t.kinds {
		if q.waiting() == 0 && q.askers == 0 && now.Sub(q.used) > oblivion {
			delete(t.kinds, kind)
		}
	}
}

// startAskers starts as many as may work.
func (t *Tree) startAskers(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, q := range t.kinds {
		for t.askers < maxAskers && q.askers < q.most() {
			q.askers++
			t.askers++
			t.asking.Go(func() { t.askAll(ctx, q) })
		}
	}
}

// most is how many askers a kind may have now.
func (q *kindQueue) most() int {
	if q.isSilent {
		return min(1, q.waiting())
	}
	return min(askersPerKind, q.askers+q.waiting())
}

// askAll asks for the objects of a kind, one after the other, until none waits.
func (t *Tree) askAll(ctx context.Context, q *kindQueue) {
	for {
		k, unsupported, ok := t.next(ctx, q)
		if !ok {
			return
		}
		if unsupported != nil {
			t.settle(q, k, nil, unsupported)
			continue
		}
		scale, err := t.get(ctx, k)
		t.settle(q, k, scale, err)
	}
}

// next takes an object from the queue, with why it need not be asked for; false ends
// the asker.
func (t *Tree) next(ctx context.Context, q *kindQueue) (k key, unsupported error, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if q.waiting() == 0 || ctx.Err() != nil || q.isSilent && q.askers > 1 {
		q.askers--
		t.askers--
		return key{}, nil, false
	}
	if last := len(q.first) - 1; last >= 0 {
		k, q.first = q.first[last], q.first[:last]
	} else {
		k, q.again = q.again[0], q.again[1:]
	}
	if time.Now().Before(q.until) {
		return k, q.unsupported, true
	}
	return k, nil, true
}

// settle notes an answer. Where there is none, the last one stays.
func (t *Tree) settle(q *kindQueue, k key, scale *autoscalingv1.Scale, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, isUnknown := time.Now(), errors.Is(err, ErrUnknown)
	if q.isSilent = isUnknown; errors.Is(err, ErrUnsupported) && !now.Before(q.until) {
		q.unsupported, q.until = err, now.Add(withoutScale)
	}
	a := t.asked[k] // what is queued is not forgotten
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

// get reads the scale, of the first resource of the kind that has one.
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
			why = err // of two resources, the one that has scales says more
		}
	}
	return nil, why
}

func (t *Tree) getOne(ctx context.Context, k key, resource schema.GroupResource) (*autoscalingv1.Scale, error) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	return t.scales.Scales(k.namespace).Get(ctx, resource, k.name, metav1.GetOptions{})
}

// classify distinguishes what is certain from what may be different the next time. A custom
// resource without a scale subresource is answered for like one that is not there.
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
