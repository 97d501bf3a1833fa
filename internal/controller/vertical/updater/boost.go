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
	// unboostPeriod is the time between two checks for start-up boosts that have ended.
	unboostPeriod = 5 * time.Second
	// unboostRetry is the time until the next attempt after removing a boost failed.
	unboostRetry = time.Minute
)

// boosts removes start-up boosts that have ended. It runs between passes.
type boosts struct {
	workloads *workloads.Finder
	decider   *decider
	actor     *actor
	// interval is the longest duration of a run, workers the number of workloads handled at once.
	interval time.Duration
	workers  int
	// retryAt is when the next attempt for a pod is due after a failure.
	retryAt map[types.UID]time.Time
}

// end removes the start-up boosts that have ended. It does not need the admission controller: the pods are not
// replaced.
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

// isDue reports whether there is a ready pod whose boost may have ended.
func (b *boosts) isDue(now time.Time) bool {
	for pod := range b.workloads.ReadyBoosted() {
		if !now.Before(b.retryAt[pod.UID]) {
			return true
		}
	}
	return false
}

// endOf removes the boosts of one workload, and returns the pods for which that failed.
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
