// Package updater is the loop that applies recommendations to running pods: it evicts them, or resizes them in place,
// as the core decides.
package updater

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/admission"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// Controller is the loop.
type Controller struct {
	cfg       Config
	workloads *workloads.Finder
	// changes is a handler of the informer.
	changes    admission.Changes
	admission  *admission.Watch
	conditions *conditionWriter
	passes     *passes
	boosts     boosts
	synced     atomic.Bool
	// active is when a pass last ended.
	active atomic.Int64
}

// New checks the configuration and adds handlers and indexes to the informers, which must not run yet.
func New(cfg Config) (*Controller, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, err
	}
	c := &Controller{cfg: cfg}
	if _, err := cfg.Autoscalers.AddEventHandler(&c.changes); err != nil {
		return nil, fmt.Errorf("updater: watching objects: %w", err)
	}
	c.admission = &admission.Watch{
		Client: cfg.Client, Lease: cfg.Lease, Observed: cfg.Defaults.Divergences.Has(divergence.ObservedLease),
	}
	c.workloads, err = workloads.New(workloads.Config{
		Sources: cfg.Sources, Conflicts: cfg.Conflicts, Resizes: cfg.Resizes,
		Covers: c.admission.Covers, Log: cfg.Log, Defaults: &c.cfg.Defaults, Gates: cfg.Gates, Namespace: cfg.Namespace,
		Ignored: cfg.Ignored,
	})
	if err != nil {
		return nil, fmt.Errorf("updater: %w", err)
	}
	c.conditions = newConditionWriter(cfg.Statuses, cfg.Autoscalers.GetStore(), m.conditions(), cfg.Log)
	c.wire(m)
	return c, nil
}

func (c *Controller) wire(m *metrics) {
	cfg, objects := &c.cfg, c.cfg.Autoscalers.GetStore()
	actor := newActor(cfg, m, &c.changes)
	decider := &decider{guard: actor.guard, workloads: c.workloads, states: newStates()}
	c.passes = &passes{
		objects: objects, divergences: cfg.Defaults.Divergences, log: cfg.Log, metrics: m, admission: c.admission,
		features: features{
			gates: cfg.Gates, resizes: cfg.Resizes, objects: objects, isOurs: c.workloads.IsOurs,
			conditions: c.conditions, events: cfg.Events,
		},
		workloads: c.workloads, decider: decider, actor: actor, conditions: c.conditions,
	}
	c.boosts = boosts{
		workloads: c.workloads, decider: decider, actor: actor, interval: cfg.Interval, workers: cfg.UnboostWorkers,
		retryAt: map[types.UID]time.Time{},
	}
}

// Run runs a pass over all workloads every interval until ctx ends. As upstream, the first pass is one interval after
// the start.
func (c *Controller) Run(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), c.workloads.HasSynced) {
		return nil
	}
	c.synced.Store(true)
	c.active.Store(time.Now().UnixNano())
	if c.cfg.Defaults.Divergences.Has(divergence.SurviveRestart) {
		c.passes.actor.limits.empty(time.Now())
	}
	endConditions := c.conditions.Run(ctx)
	defer endConditions()
	passes := time.NewTicker(c.cfg.Interval)
	defer passes.Stop()
	boosts := time.NewTicker(unboostPeriod)
	defer boosts.Stop()
	leases := time.NewTicker(c.cfg.Lease.Period())
	defer leases.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-passes.C:
			limited, cancel := context.WithTimeout(ctx, c.cfg.Interval)
			c.passes.pass(limited)
			cancel()
			c.active.Store(time.Now().UnixNano())
		case <-leases.C:
			if _, err := c.admission.Alive(ctx); err != nil {
				c.cfg.Log.V(1).Info("reading the admission controller's Lease failed", "err", err.Error())
			}
		case <-boosts.C:
			if c.cfg.Gates.CPUStartupBoost {
				c.boosts.end(ctx)
			}
		}
	}
}

// Ready returns an error until the caches are filled.
func (c *Controller) Ready() error {
	if !c.synced.Load() {
		return errors.New("updater: caches are being filled")
	}
	return nil
}

// healthyPasses is the number of intervals without a pass after which the loop counts as stuck, as upstream.
const healthyPasses = 5

// Alive returns an error if no pass has ended for that long.
func (c *Controller) Alive() error {
	last := c.active.Load()
	if since := time.Since(time.Unix(0, last)); last != 0 && since > healthyPasses*c.cfg.Interval {
		return fmt.Errorf("updater: no pass has ended for %s", since.Round(time.Second))
	}
	return nil
}
