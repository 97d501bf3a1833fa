package updater

import (
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// clusterBudget limits the evictions in the whole cluster; workers share it.
type clusterBudget struct {
	mu sync.Mutex

	// What follows is guarded by mu.

	left disruption.ClusterBudget
	// pods is the number of pods with a VerticalPodAutoscaler.
	pods int
	// refused is the first workload of a pass whose eviction has to wait.
	refused string
	// hasBegun is set from the first pass on.
	hasBegun bool
}

// newClusterBudget returns the budget of the flags; without the divergence it is unlimited.
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

// firstRefused returns the key of the first workload of the pass whose eviction has to wait; empty if there is none.
func (b *clusterBudget) firstRefused() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused
}

// evictionsLeft returns the number of pods that may still be evicted; nil without a limit.
func (b *clusterBudget) evictionsLeft(now time.Time) *int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if left, isBounded := b.left.Left(now, b.pods); isBounded {
		return &left
	}
	return nil
}

// begin counts the pods of a pass. The first pass of a process includes the evictions of the previous process, as far
// as pods show them.
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
