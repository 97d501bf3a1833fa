package metricsapi

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Call names the object that a metrics API is asked for, and records when the call began. It
// is in the context, as what is asked for does not depend on it. Objects take
// turns in waiting for a slot; calls without an object share one queue.
type Call struct {
	Object types.NamespacedName
	// Began is set to when the call got its slot.
	Began time.Time
}

type callKey struct{}

// WithCall makes the calls under the context one object's. They are made one after the
// other.
func WithCall(ctx context.Context, call *Call) context.Context {
	return context.WithValue(ctx, callKey{}, call)
}

// CallOf is the context's call, and never nil.
func CallOf(ctx context.Context) *Call {
	if call, isCall := ctx.Value(callKey{}).(*Call); isCall {
		return call
	}
	return &Call{}
}
