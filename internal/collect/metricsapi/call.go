package metricsapi

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Call names the object that a request to a metrics API is for, and records when the request began. It is passed in the
// context, as the response does not depend on it. Objects take turns in waiting for a slot; calls without an object
// share one queue.
type Call struct {
	Object types.NamespacedName
	// Began is set to when the call got its slot.
	Began time.Time
}

type callKey struct{}

// WithCall returns a context whose calls belong to one object. They are made one after the other.
func WithCall(ctx context.Context, call *Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// CallOf returns the context's call; it is never nil.
func CallOf(ctx context.Context) *Call {
	if call, isCall := ctx.Value(callKey{}).(*Call); isCall {
		return call
	}
	return &Call{}
}
