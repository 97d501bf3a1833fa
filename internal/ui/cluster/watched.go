package cluster

import (
	"context"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/explain/apierror"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// watched has the objects of a kind.
type watched struct {
	kind, resource string
	// namespace restricts them to one namespace; empty means all.
	namespace string
	informer  cache.SharedIndexInformer

	mu sync.Mutex
	// guarded by mu: why the objects cannot be read, since when, and the verb of the last request
	err   error
	since time.Time
	verb  string
}

// failed records why the objects of a kind cannot be read. The informer tries again.
func (w *watched) failed(_ context.Context, _ *cache.Reflector, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.since = time.Now()
	}
	w.err = err
}

// note returns why objects of a kind are not shown, or are old; false if they are current, or if the cluster cannot
// have any.
func (w *watched) note() (view.Note, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	isRead := w.informer.HasSynced()
	switch {
	case w.err == nil && isRead, w.err != nil && apierrors.IsNotFound(w.err) && !isRead:
		return view.Note{}, false
	case w.err == nil:
		return view.Note{What: w.kind + "s", Why: "they are being read", IsPending: true}, true
	}
	why := apierror.Request{Verb: w.verb, Resource: w.resource, Namespace: w.namespace}.Sentence(w.err).Error()
	if isRead {
		why = "they are shown as they were at " + w.since.Format(time.TimeOnly) + ": " + why
	}
	return view.Note{What: w.kind + "s", Why: why}, true
}

// through returns a configuration whose requests w observes. An informer does not report that a watch is refused, and
// tries again: it reports neither a refused connection nor the statuses 429 and 500.
func (w *watched) through(config *rest.Config) *rest.Config {
	own := rest.CopyConfig(config)
	own.Wrap(func(next http.RoundTripper) http.RoundTripper { return &seen{next: next, by: w} })
	return own
}

// seen observes the requests for the objects of a kind.
type seen struct {
	next http.RoundTripper
	by   *watched
}

// RoundTrip implements http.RoundTripper. The objects are current once a watch begins: a list alone becomes outdated.
func (s *seen) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := s.next.RoundTrip(r)
	verb := "list"
	if r.URL.Query().Get("watch") != "" {
		verb = "watch"
	}
	s.by.mu.Lock()
	s.by.verb = verb
	if err == nil && verb == "watch" && response.StatusCode < http.StatusBadRequest {
		s.by.err = nil
	}
	s.by.mu.Unlock()
	switch {
	case r.Context().Err() != nil: // the client ended it
	case err != nil:
		s.by.failed(r.Context(), nil, err)
	case response.StatusCode == http.StatusTooManyRequests, response.StatusCode >= http.StatusInternalServerError:
		s.by.failed(r.Context(), nil, apierrors.NewGenericServerResponse(response.StatusCode, verb,
			schema.ParseGroupResource(s.by.resource), "", "", 0, true))
	}
	return response, err
}
