// Package read collects the facts about a cluster, with the permissions of the caller. It writes nothing.
package read

import (
	"context"
	"errors"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

// Config says what is read, and how.
type Config struct {
	REST    *rest.Config
	Program doctor.Program
	// Timeout is for each thing that is read, from when its reading begins.
	Timeout time.Duration
}

// reader reads into facts. Each task has fields of its own.
type reader struct {
	api     *api
	timeout time.Duration
	facts   *doctor.Facts
}

// Read collects the facts. What cannot be read is noted in them; it is an error only if the API server does not answer
// at all.
func Read(ctx context.Context, config Config) (*doctor.Facts, error) {
	api, err := newAPI(config.REST)
	if err != nil {
		return nil, err
	}
	r := &reader{api: api, timeout: config.Timeout, facts: &doctor.Facts{Program: config.Program}}
	if err := r.within(ctx, r.server); err != nil {
		return nil, err
	}
	var all sync.WaitGroup
	for _, task := range []func(context.Context){
		r.controllerManager, r.autoscalers, r.scaledObjects, r.installation, r.others, r.apiServices, r.samples,
		r.nodes, r.definitions, r.webhooks,
	} {
		all.Go(func() { task(ctx) })
	}
	all.Wait()
	r.facts.Now = time.Now()
	return r.facts, ctx.Err()
}

// within calls a function with a context that ends after the timeout.
func (r *reader) within(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	return call(ctx)
}

// reading reads one thing within the timeout.
func reading[T any](
	ctx context.Context, r *reader, what request, call func(context.Context) (T, error),
) doctor.Reading[T] {
	var read doctor.Reading[T]
	err := r.within(ctx, func(ctx context.Context) (err error) {
		read.Value, err = call(ctx)
		return err
	})
	read.Unread = what.unread(err)
	return read
}

// isUnserved reports that the API server does not know what was requested.
func isUnserved(err error) bool { return apierrors.IsNotFound(err) }

// isAnswer reports that the API server answered, if only to refuse.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// each calls a function for each item, eight at a time.
func each[T any](items []T, call func(int, *T)) {
	const atOnce = 8
	slots := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i := range items {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			call(i, &items[i])
		})
	}
	all.Wait()
}
