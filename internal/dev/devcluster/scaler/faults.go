package scaler

import (
	"context"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Call is a call of the protocol.
type Call string

// The calls.
const (
	IsActive       Call = "IsActive"
	StreamIsActive Call = "StreamIsActive"
	GetMetricSpec  Call = "GetMetricSpec"
	GetMetrics     Call = "GetMetrics"
)

// Fault is the fault of a call. Its parts can be combined; the zero value is a sound call.
type Fault struct {
	// Delay comes before the response, or before the failure.
	Delay time.Duration
	// Hangs reports that there is no response.
	Hangs bool
	// Code, if it is not OK, is the status that is answered.
	Code codes.Code
	// Floods makes a stream send true all the time.
	Floods bool
	// ExtraValues adds this many values of 1, and ExtraBytes that much text.
	ExtraValues, ExtraBytes int
}

// Faults are the present faults of all calls. It is safe for concurrent use; its zero value has none.
type Faults struct {
	mu sync.RWMutex
	// guarded by mu
	calls map[Call]Fault
}

// Set sets the fault of a call; the zero value heals it. A stream that is open is not affected.
func (f *Faults) Set(call Call, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[Call]Fault{}
	}
	f.calls[call] = fault
}

// Clear heals everything.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = nil
}

func (f *Faults) of(call Call) Fault {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.calls[call]
}

// apply waits and fails as the fault demands.
func (f Fault) apply(ctx context.Context) error {
	var after <-chan time.Time
	if !f.Hangs {
		timer := time.NewTimer(f.Delay)
		defer timer.Stop()
		after = timer.C
	}
	select {
	case <-after:
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
	if f.Code != codes.OK {
		return status.Error(f.Code, "a fault of the development scaler")
	}
	return nil
}

func (f Fault) text() string { return strings.Repeat("x", f.ExtraBytes) }
