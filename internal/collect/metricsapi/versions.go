package metricsapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// versions knows by which version a metrics API is asked. The group's document is
// served by the API server itself, not by what serves the metrics.
type versions struct {
	source *source
	group  string
	// choose picks those of the versions of a group that are known here, the best first.
	choose func(*metav1.APIGroup) []schema.GroupVersion
	// fallback is asked for while none is known; empty if that is an error.
	fallback schema.GroupVersion
	// period is how long an answer is remembered.
	period time.Duration

	// mu guards what follows.
	mu      sync.Mutex
	offered []schema.GroupVersion
	until   time.Time
	// sought is when the versions were last looked up because one was not served.
	sought time.Time
}

// all are the versions to ask for, the best first; never empty without an error. The lock is not held over the call:
// two who find the answer outdated ask twice, each in its slot, and nobody waits for another's call.
func (v *versions) all(ctx context.Context) ([]schema.GroupVersion, error) {
	v.mu.Lock()
	offered, until := v.offered, v.until
	v.mu.Unlock()
	if time.Now().Before(until) {
		return offered, nil
	}
	found, err := v.discover(ctx)
	switch {
	case err == nil:
		offered = found
	case v.fallback.Empty():
		return nil, err
	case len(offered) == 0:
		offered = []schema.GroupVersion{v.fallback}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.offered, v.until = offered, time.Now().Add(v.period)
	return offered, nil
}

// other is another version than one that is not served, if there is one by now. It looks that up once a second.
func (v *versions) other(ctx context.Context, than schema.GroupVersion) (version schema.GroupVersion, isThere bool) {
	v.mu.Lock()
	if now := time.Now(); now.Sub(v.sought) >= time.Second {
		v.sought, v.until = now, time.Time{}
	}
	v.mu.Unlock()
	offered, err := v.all(ctx)
	i := slices.IndexFunc(offered, func(o schema.GroupVersion) bool { return o != than })
	if err != nil || i < 0 {
		return schema.GroupVersion{}, false
	}
	return offered[i], true
}

// prefer has a version asked for first until the versions are looked up again.
func (v *versions) prefer(version schema.GroupVersion) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.offered = []schema.GroupVersion{version}
}

func (v *versions) discover(ctx context.Context) ([]schema.GroupVersion, error) {
	body, err := v.source.client.Get().AbsPath("/apis", v.group).MaxRetries(0).DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("no %s (%s) registered", v.source.name, v.group)
	}
	if err != nil {
		return nil, err
	}
	var group metav1.APIGroup
	if err := json.Unmarshal(body, &group); err != nil {
		return nil, fmt.Errorf("the versions of the %s cannot be read: %w", v.source.name, err)
	}
	known := v.choose(&group)
	if len(known) == 0 {
		return nil, errors.New("no known available metric versions found")
	}
	return known, nil
}
