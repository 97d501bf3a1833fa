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
)

const (
	// renewal is after how long an answer is asked for again.
	renewal = 10 * time.Minute
	// retrial is after how long one that is an error is. Kinds that nobody knew are
	// found then if the mapper has looked for them since.
	retrial = 30 * time.Second
	// oblivion is after how long an answer that nobody looks at is forgotten.
	oblivion = time.Hour
	// turn is how often Run looks what is to be asked.
	turn = time.Second
)

// answer is a scale, or why there is none.
type answer struct {
	scale *autoscalingv1.Scale
	err   error
	// at is when it came, zero if nobody asked yet; used is when it was last looked
	// at.
	at, used time.Time
}

// isStale reports whether it is to be asked for again. A scale without a selector
// is one whose controller has not written its status yet.
func (a *answer) isStale(now time.Time) bool {
	switch age := now.Sub(a.at); {
	case a.err != nil, a.scale.Status.Selector == "":
		return age >= retrial
	default:
		return age >= renewal
	}
}

// remember is the answer that is known already. That it is old does not matter:
// Run renews it.
func (t *Tree) remember(k key) *answer {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, known := t.asked[k]
	if !known {
		a = &answer{err: fmt.Errorf("%s %s/%s: %w", k.kind.Kind, k.namespace, k.name, ErrUnknown)}
		t.asked[k] = a
	}
	a.used = time.Now()
	return &answer{scale: a.scale, err: a.err}
}

// ask is the answer that is known if it is fresh, otherwise a new one.
func (t *Tree) ask(ctx context.Context, k key) *answer {
	now := time.Now()
	t.mu.Lock()
	if a, known := t.asked[k]; known && !a.isStale(now) {
		a.used = now
		defer t.mu.Unlock()
		return &answer{scale: a.scale, err: a.err}
	}
	t.mu.Unlock()
	return t.renew(ctx, k, now)
}

// renew asks the API server. While it cannot tell, what it said before holds.
func (t *Tree) renew(ctx context.Context, k key, used time.Time) *answer {
	scale, err := t.get(ctx, k)
	t.mu.Lock()
	defer t.mu.Unlock()
	a, known := t.asked[k]
	if !known {
		a = &answer{}
		t.asked[k] = a
	}
	a.at, a.used = time.Now(), later(a.used, used)
	if a.scale == nil || !errors.Is(err, ErrUnknown) {
		a.scale, a.err = scale, err
	}
	return &answer{scale: a.scale, err: a.err}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
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
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	for _, mapping := range mappings {
		var scale *autoscalingv1.Scale
		scale, err = t.scales.Scales(k.namespace).Get(ctx, mapping.Resource.GroupResource(), k.name, metav1.GetOptions{})
		if err == nil {
			return scale, nil
		}
	}
	return nil, classify(err)
}

// classify tells what is known from what may be otherwise the next time. A
// custom resource without a scale subresource is answered for like one that is
// not there.
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

// Run asks for what TopmostKnown was asked for and did not know, renews what is
// old, and forgets what nobody looks at, until ctx ends.
func (t *Tree) Run(ctx context.Context) {
	ticker := time.NewTicker(turn)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			for _, k := range t.due(now) {
				t.renew(ctx, k, time.Time{})
			}
		}
	}
}

func (t *Tree) due(now time.Time) []key {
	t.mu.Lock()
	defer t.mu.Unlock()
	var due []key
	for k, a := range t.asked {
		switch {
		case now.Sub(a.used) > oblivion:
			delete(t.asked, k)
		case a.isStale(now):
			due = append(due, k)
		}
	}
	return due
}
