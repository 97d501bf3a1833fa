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

// versions selects the version of a metrics API to request. The group's document is served by the API server itself,
// not by the server of the metrics.
type versions struct {
	source *source
	group  string
	// choose returns the supported versions of a group, the preferred one first.
	choose func(*metav1.APIGroup) []schema.GroupVersion
	// fallback is requested while none is known; empty makes that an error.
	fallback schema.GroupVersion
	// period is how long the versions are cached.
	period time.Duration

	// mu guards what follows.
	mu      sync.Mutex
	offered []schema.GroupVersion
	until   time.Time
	// sought is the time of the last discovery after a version that was not served.
	sought time.Time
}

// all returns the versions to request, the preferred one first; never empty without an error. The lock is not held
// during the call: two callers that find the cache expired make a call each, in their own slots, and never wait for the
// other's.
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

// other returns another version than the one that is not served, if discovery has one now. It makes at most one
// discovery request a second.
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

// prefer puts a version first until the next discovery.
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
