package updater

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/actions"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

const (
	// unboostPeriod is how often pods with a start-up boost are looked at.
	unboostPeriod = 5 * time.Second
	// unboostRetry is after how long a boost that could not be ended is tried again.
	unboostRetry = time.Minute
)

// endBoosts ends the start-up boosts that are over, whether the admission
// controller lives or not: nobody need give these pods anything.
func (c *Controller) endBoosts(ctx context.Context) {
	now := time.Now()
	if !c.boostEnds(now) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Interval)
	defer cancel()
	shared := &workloads.Shared{}
	limit := make(chan struct{}, max(1, c.cfg.UnboostWorkers))
	var mu sync.Mutex // guards failed
	failed := map[types.UID]bool{}
	var done sync.WaitGroup
	for _, w := range c.workloads.Find(ctx) {
		if !slices.ContainsFunc(w.Pods, observevertical.IsBoosted) {
			continue
		}
		t := &task{Workload: w}
		if !c.decideOne(now, t, shared) {
			continue
		}
		limit <- struct{}{}
		done.Go(func() {
			defer func() { <-limit }()
			uids := c.unboost(ctx, t)
			mu.Lock()
			defer mu.Unlock()
			for _, uid := range uids {
				failed[uid] = true
			}
		})
	}
	done.Wait()
	c.unboosts = map[types.UID]time.Time{}
	for uid := range failed {
		c.unboosts[uid] = now.Add(unboostRetry)
	}
}

// boostEnds reports whether there is a pod to look at more closely.
func (c *Controller) boostEnds(now time.Time) bool {
	for pod := range c.workloads.ReadyBoosted() {
		if !now.Before(c.unboosts[pod.UID]) {
			return true
		}
	}
	return false
}

// unboost returns the pods where it did not work.
func (c *Controller) unboost(ctx context.Context, t *task) (failed []types.UID) {
	var ok bool
	defer c.catch(t.Workload, &ok)
	t.decision.EndBoosts(&t.state, func(a update.Action) update.Result {
		result := update.Result{Outcome: update.Deferred}
		if c.limits.wait(ctx, a.Kind) {
			var err error
			result.Outcome, err = actions.Do(ctx, c.cfg.Client, c.cfg.Log.WithValues("vpa", t.Key()), a)
			result.At = time.Now()
			c.metrics.acted(t, update.Unboost, result.Outcome)
			c.recordEvents(t, a, result.Outcome, err)
		}
		if result.Outcome != update.Done {
			failed = append(failed, types.UID(a.Pod.UID))
		}
		return result
	})
	return failed
}
