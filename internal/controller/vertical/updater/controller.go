// Package updater is the loop that brings recommendations to running pods: it
// evicts them, or resizes them in place, as the core decides.
package updater

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/admission"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/conditions"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/updater/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// Config is what a Controller needs.
type Config struct {
	Client   kubernetes.Interface
	Statuses conditions.Statuses
	// Sources are started by the process.
	workloads.Sources
	// Conflicts finds what horizontal autoscalers divide by; nil finds nothing.
	Conflicts func(*vpav1.VerticalPodAutoscaler, []string) []conflict.Conflict
	// Used reads what the containers of a workload's pods use, by the pods' names; nil
	// where nobody knows.
	Used func(ctx context.Context, namespace string, pods []string) map[string]map[string]vertical.Amounts
	// Resizes reports whether the API server can resize pods; nil if it can.
	Resizes    func() bool
	Events     record.EventRecorder
	Registerer prometheus.Registerer
	Log        logr.Logger

	// Flags are what the operator asks for where an object says nothing.
	Flags update.Policy
	Gates observevertical.Gates
	Lease admission.Lease
	// Interval is the time between passes, and the longest that one may take.
	Interval time.Duration
	// EvictionRate and EvictionBurst limit evictions, and resizes for themselves.
	EvictionRate  float64
	EvictionBurst int
	// MaxEvictionPercent of all pods that are looked after may be evicted within
	// MaxEvictionWindow; 0 is no bound.
	MaxEvictionPercent float64
	MaxEvictionWindow  time.Duration
	// UnboostWorkers is how many start-up boosts are ended at a time.
	UnboostWorkers int
	// Namespace is the one to look at; all if it is empty. Ignored are left out.
	Namespace string
	Ignored   []string
}

// Controller is the loop.
type Controller struct {
	cfg        Config
	workloads  *workloads.Finder
	metrics    *metrics
	limits     *rateLimits
	conditions *conditions.Writer
	budget     clusterBudget
	claims     quotaClaims
	synced     atomic.Bool
	// active is when a pass last ended.
	active     atomic.Int64
	lastPasses lastPasses
	// changes are kept by the informer.
	changes admission.Changes

	// What follows is the passes' own: one runs at a time.

	states map[types.UID]update.State
	names  map[types.UID]types.NamespacedName
	// last is where the last pass that was stopped ended.
	last      string
	admission *admission.Watch
	// hasPassed reports that there was a pass.
	hasPassed bool
	// stale counts passes that were left out as nobody renewed the Lease.
	stale int
	// unboosts are when a boost that could not be ended is tried again.
	unboosts map[types.UID]time.Time
}

// New checks the configuration and adds what it needs to the informers, which must
// not run yet.
func New(cfg Config) (*Controller, error) {
	if cfg.Client == nil || cfg.Statuses == nil || cfg.Autoscalers == nil || cfg.Informers == nil || cfg.Pods == nil ||
		cfg.Owners == nil || cfg.Events == nil {
		return nil, errors.New("updater: a client, informers, owners and a recorder are needed")
	}
	if cfg.Interval <= 0 {
		return nil, fmt.Errorf("updater: an interval of %s", cfg.Interval)
	}
	if !cfg.Lease.Ignored && (cfg.Lease.Name == "" || cfg.Lease.Timeout <= 0) {
		return nil, errors.New("updater: the admission controller's Lease needs a name and a timeout")
	}
	m, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, err
	}
	c := &Controller{
		cfg: cfg, metrics: m, limits: newRateLimits(&cfg),
		states: map[types.UID]update.State{}, names: map[types.UID]types.NamespacedName{},
		unboosts: map[types.UID]time.Time{},
	}
	if _, err := cfg.Autoscalers.AddEventHandler(&c.changes); err != nil {
		return nil, fmt.Errorf("updater: watching objects: %w", err)
	}
	c.admission = &admission.Watch{
		Client: cfg.Client, Lease: cfg.Lease, Observed: cfg.Flags.Divergences.Has(divergence.ObservedLease),
	}
	c.workloads, err = workloads.New(workloads.Config{
		Sources: cfg.Sources, Conflicts: cfg.Conflicts, Resizes: cfg.Resizes,
		Covers: c.admission.Covers, Log: cfg.Log, Flags: &c.cfg.Flags, Gates: cfg.Gates, Namespace: cfg.Namespace,
		Ignored: cfg.Ignored,
	})
	if err != nil {
		return nil, fmt.Errorf("updater: %w", err)
	}
	c.conditions = conditions.New(cfg.Statuses, cfg.Autoscalers.GetStore(), m.conditions(), cfg.Log)
	c.budget.left = newClusterBudget(&cfg)
	return c, nil
}

// Run passes over all workloads each interval until ctx ends. As upstream, the
// first pass is one interval after the start.
func (c *Controller) Run(ctx context.Context) error {
	if !cache.WaitForCacheSync(ctx.Done(), c.workloads.HasSynced) {
		return nil
	}
	c.synced.Store(true)
	c.active.Store(time.Now().UnixNano())
	if c.cfg.Flags.Divergences.Has(divergence.SurviveRestart) {
		c.limits.empty(time.Now())
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
			c.pass(limited)
			cancel()
			c.active.Store(time.Now().UnixNano())
		case <-leases.C:
			if _, err := c.admission.Alive(ctx); err != nil {
				c.cfg.Log.V(1).Info("between passes", "error", err.Error())
			}
		case <-boosts.C:
			if c.cfg.Gates.CPUStartupBoost {
				c.endBoosts(ctx)
			}
		}
	}
}

// Ready is an error until the caches are filled.
func (c *Controller) Ready() error {
	if !c.synced.Load() {
		return errors.New("updater: caches are being filled")
	}
	return nil
}

// healthyPasses is after how many intervals without a pass the loop counts as
// stuck, as upstream.
const healthyPasses = 5

// Alive is an error if no pass has ended for long.
func (c *Controller) Alive() error {
	last := c.active.Load()
	if since := time.Since(time.Unix(0, last)); last != 0 && since > healthyPasses*c.cfg.Interval {
		return fmt.Errorf("updater: no pass has ended for %s", since.Round(time.Second))
	}
	return nil
}
