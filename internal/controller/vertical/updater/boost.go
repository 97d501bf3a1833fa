package updater

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

const (
	// unboostPeriod is the time between two checks for start-up boosts that are over.
	unboostPeriod = 5 * time.Second
	// unboostRetry is after how long a boost that could not be ended is tried again.
	unboostRetry = time.Minute
)

// boosts ends start-up boosts that are over. It runs between passes.
type boosts struct {
	workloads *workloads.Finder
	decider   *decider
	actor     *actor
	// interval is how long it may take, workers how many workloads are handled at a time.
	interval time.Duration
	workers  int
	// retryAt is when boosts that could not be ended are tried again, by pod.
	retryAt map[types.UID]time.Time
}

// end ends the start-up boosts that are over, whether the admission controller is alive or not: the pods are not made
// anew.
func (b *boosts) end(ctx context.Context) {
	now := time.Now()
	if !b.isDue(now) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, b.interval)
	defer cancel()
	shared := &workloads.Shared{}
	limit := make(chan struct{}, max(1, b.workers))
	var mu sync.Mutex // guards failed
	failed := map[types.UID]bool{}
	var done sync.WaitGroup
	for _, w := range b.workloads.Find(ctx) {
		if !slices.ContainsFunc(w.Pods, observevertical.IsBoosted) {
			continue
		}
		t := &task{Workload: w}
		if !b.decider.decide(now, t, shared) {
			continue
		}
		limit <- struct{}{}
		done.Go(func() {
			defer func() { <-limit }()
			uids := b.endOf(ctx, t)
			mu.Lock()
			defer mu.Unlock()
			for _, uid := range uids {
				failed[uid] = true
			}
		})
	}
	done.Wait()
	b.retryAt = map[types.UID]time.Time{}
	for uid := range failed {
		b.retryAt[uid] = now.Add(unboostRetry)
	}
}

// isDue reports whether there is a ready pod whose boost may be over.
func (b *boosts) isDue(now time.Time) bool {
	for pod := range b.workloads.ReadyBoosted() {
		if !now.Before(b.retryAt[pod.UID]) {
			return true
		}
	}
	return false
}

// endOf ends those of one workload, and returns the pods where that failed.
func (b *boosts) endOf(ctx context.Context, t *task) (failed []types.UID) {
	var ok bool
	defer b.actor.guard.catch(t.Workload, &ok)
	t.decision.EndBoosts(&t.state, func(a update.Action) update.Result {
		result := b.actor.endBoost(ctx, t, a)
		if result.Outcome != update.Done {
			failed = append(failed, types.UID(a.Pod.UID))
		}
		return result
	})
	return failed
}
