package updater

import (
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// clusterBudget is what may be evicted in the whole cluster; several workers share
// it.
type clusterBudget struct {
	mu sync.Mutex

	// What follows is guarded by mu.

	left disruption.ClusterBudget
	// pods is how many have a VerticalPodAutoscaler.
	pods int
	// refused is the first workload of a pass whose eviction has to wait.
	refused string
	// hasBegun is set from the first pass on.
	hasBegun bool
}

// newClusterBudget is what the flags allow; without the divergence it has no bound.
func newClusterBudget(cfg *Config) *clusterBudget {
	b := &clusterBudget{}
	if cfg.Defaults.Divergences.Has(divergence.ClusterBudget) {
		b.left = disruption.ClusterBudget{Percent: cfg.MaxEvictionPercent, Window: cfg.MaxEvictionWindow}
	}
	return b
}

func (b *clusterBudget) take(key string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	ok := b.left.Take(time.Now(), b.pods)
	if !ok && b.refused == "" {
		b.refused = key
	}
	return ok
}

func (b *clusterBudget) refund() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left.Refund()
}

// firstRefused is the key of the first workload of the pass whose eviction has to wait; empty if none has to.
func (b *clusterBudget) firstRefused() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

// evictionsLeft is how many pods may still be evicted; nil is no bound.
func (b *clusterBudget) evictionsLeft(now time.Time) *int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if left, isBounded := b.left.Left(now, b.pods); isBounded {
		return &left
	}
	return nil
}

// begin counts the pods of a pass. The first pass of a process counts what the one
// before evicted, as far as pods show it.
func (b *clusterBudget) begin(now time.Time, tasks []*task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	isFirst := !b.hasBegun
	b.pods, b.refused, b.hasBegun = 0, "", true
	var created []time.Time
	for _, t := range tasks {
		b.pods += len(t.Pods)
		for i := range t.observed.Pods {
			if pod := &t.observed.Pods[i]; isFirst && pod.Admitted {
				created = append(created, pod.Created)
			}
		}
	}
	if isFirst {
		b.left.Resume(now, created)
	}
}
