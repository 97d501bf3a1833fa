// Package horizontal is the loop that autoscales horizontally: it observes every HorizontalPodAutoscaler and
// WorkloadAutoscaler, passes the observation to the core, and acts on the decision. "HPA" stands for both kinds in its
// comments.
//
// The controller decides an HPA at once when it is new or its spec changes, and every sync period after that. With
// Config.Triggers it also decides once for each round of scrapes over the nodes of the HPA's pods, at most 200 ms after
// the first new samples; and when a pod of the target appears, becomes ready or not, fails or goes, or when another
// writer sets the target's replica count.
//
// Such decisions cause no more requests. Responses of the custom and external metrics APIs are used until the HPA's
// next sync period, with their timestamps, and so is the scale of a target that no cache has. The controller reads
// metrics.k8s.io, where it needs it, at most once a second because of pods, and every five seconds in place of kubelets
// that it cannot read. Until a kubelet has been read twice, as at the start, few HPAs request metrics.k8s.io at once:
// the others are decided when their samples arrive, or within a sync period.
//
// No decision waits for a slow API if it can be made on other values. Requests outlive the decision that makes them,
// and a response that arrives later triggers another decision. Until then the last value is used for a sync period;
// after that the metric proposes nothing, and the replica count is not lowered.
//
// The packages below are its parts: schedule has the queue of HPAs; scaling reads and writes the scale of the target;
// readings reads the metrics; status writes status and events; takeover detects other controllers; monitor has the
// loop's series; calls bounds the calls to the API server.
//
// Lock order: the lock of hpaRecords comes before the locks of a record's parts and of scaledTargets. No function that
// waits is called under it. A function whose name ends in Locked is called with its type's lock held.
package horizontal

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/calls"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/monitor"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/scaling"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/schedule"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/status"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// stallTimeout is the time without a decision, while an HPA is due, after which the loop counts as hung. All calls of a
// decision together take less: while the API server is slow or away, decisions fail, but they end.
const stallTimeout = 5 * time.Minute

// Controller is the loop. Its parts have the state and the locks.
type Controller struct {
	config     Config
	queue      *schedule.Queue
	workers    calls.Workers
	records    *hpaRecords
	pods       *podindex.Index
	handler    *hpaHandler
	triggers   *triggers
	reconciler *reconciler
	inspectors *inspectors
	series     *monitor.Series

	hpaInformer cache.SharedIndexInformer
	// filling is true from the start of Run until the caches are filled.
	filling atomic.Bool
}

// New checks the configuration and wires the parts. It starts nothing.
func New(cfg Config) (*Controller, error) {
	if cfg.FieldManager == "" {
		cfg.FieldManager = FieldManager
	}
	if cfg.TakeoverDelay == 0 {
		cfg.TakeoverDelay = DefaultTakeoverDelay
	}
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("horizontal controller: %w", err)
	}
	hpas := cfg.Informers.Autoscaling().V2().HorizontalPodAutoscalers()
	c := &Controller{
		config: cfg, queue: schedule.New(), workers: calls.NewWorkers(cfg.Workers),
		records: newHPARecords(cfg.SampleInterval), pods: podindex.NewOwned(cfg.Targets), hpaInformer: hpas.Informer(),
	}
	var err error
	if c.series, err = monitor.New(cfg.Registerer); err != nil {
		return nil, fmt.Errorf("horizontal controller: %w", err)
	}
	c.inspectors = newInspectors(&cfg)
	c.triggers = &triggers{
		isOn: cfg.Triggers, syncPeriod: cfg.SyncPeriod, direct: cfg.Direct, own: cfg.Own, queue: c.queue, records: c.records,
		pods: c.pods, reports: c.series.Reports,
	}
	if c.reconciler, err = c.newReconciler(); err != nil {
		return nil, fmt.Errorf("horizontal controller: %w", err)
	}
	c.handler = &hpaHandler{
		queue: c.queue, records: c.records, triggers: c.triggers, pods: c.pods, contests: c.reconciler.contests,
		status: c.reconciler.status, series: c.series, mode: cfg.HPAs, divergences: cfg.Options.Divergences,
	}
	return c, nil
}

func (c *Controller) newReconciler() (*reconciler, error) {
	cfg := &c.config
	reads, writes := calls.NewSlots(callsPerWorker*cfg.Workers), calls.NewSlots(callsPerWorker*cfg.Workers)
	writer, err := status.NewWriter(cfg.Client.AutoscalingV2(), &status.Config{
		Workers: c.workers, Reads: reads, Writes: writes, Events: cfg.Events, Series: c.series, Log: cfg.Log,
		SyncPeriod: cfg.SyncPeriod, Triggers: cfg.Triggers, StatusInterval: cfg.StatusInterval,
		EventInterval: cfg.EventInterval, WorkloadAutoscalers: cfg.WorkloadAutoscalers,
		FieldManager: cfg.FieldManager,
	})
	if err != nil {
		return nil, err
	}
	hpas := cfg.Informers.Autoscaling().V2().HorizontalPodAutoscalers().Lister()
	o := &observer{
		get: func(key observe.Key) (observehorizontal.Autoscaler, error) {
			if key.Kind == observe.WorkloadAutoscaler {
				return cfg.WorkloadAutoscalers.Get(key)
			}
			hpa, err := hpas.HorizontalPodAutoscalers(key.Namespace).Get(key.Name)
			if err != nil {
				return observehorizontal.Autoscaler{}, err
			}
			return observehorizontal.HPA(hpa), nil
		},
		pods: c.pods, records: c.records, conflict: cfg.Conflict, options: cfg.Options,
		startUp: c.series.Startup.StartUp,
	}
	o.scaler, err = scaling.New(&scaling.Config{
		Clients: cfg.Clients, Targets: cfg.Targets,
		FieldManager: cfg.FieldManager, Apps: cfg.Client.AppsV1(),
		Workers: c.workers, Reads: reads, Writes: writes,
		Unchanged: o.unchanged, MayScale: o.mayScale, SyncPeriod: cfg.SyncPeriod, Triggers: cfg.Triggers,
	})
	if err != nil {
		return nil, err
	}
	o.reader = readings.New(&readings.Config{
		Source: cfg.Metrics, Direct: cfg.Direct, Own: cfg.Own, Queue: c.queue, Workers: c.workers, Series: c.series,
		Log:        cfg.Log,
		SyncPeriod: cfg.SyncPeriod, Triggers: cfg.Triggers,
	})
	r := &reconciler{
		hpas: cfg.HPAs, divergences: cfg.Options.Divergences, syncPeriod: cfg.SyncPeriod, past: cfg.Past, log: cfg.Log,
		queue: c.queue, workers: c.workers, records: c.records, triggers: c.triggers, observer: o,
		status: writer,
		contests: takeover.New(&takeover.Config{
			FieldManager: cfg.FieldManager, Mode: cfg.HPAs, Delay: cfg.TakeoverDelay, Series: c.series, Events: cfg.Events,
			Log: cfg.Log,
		}),
		comparer:   takeover.Comparer{SyncPeriod: cfg.SyncPeriod, Count: c.series.Shadow, Log: cfg.Log},
		inspectors: c.inspectors, series: c.series,
	}
	r.keeper, err = r.newKeeper(cfg)
	return r, err
}

// Inspect passes each decision on an HPA to an inspector until it is stopped.
func (c *Controller) Inspect(key observe.Key, inspector Inspector) (stop func()) {
	return c.inspectors.add(key, inspector)
}

// NotDecided returns why Plimsoll does not act on an object; empty if it does.
func (c *Controller) NotDecided(key observe.Key) string {
	if c.config.HPAs.Ignores(key.Kind) {
		return "plimsoll ignores HorizontalPodAutoscalers (--horizontal-pod-autoscalers=ignore)"
	}
	record := c.records.find(key)
	if record == nil || c.config.HPAs.Compares(key.Kind) {
		return ""
	}
	return c.reconciler.contests.Why(&record.contest)
}

// Knows reports whether decisions are made on an object here.
func (c *Controller) Knows(key observe.Key) bool { return c.records.find(key) != nil }

// EncodedHistory returns the recorded load of an object, as package loadhistory encodes it; nil if there is none. It is
// not whole until the object's checkpoint has been read.
func (c *Controller) EncodedHistory(key observe.Key) (encoded []byte, isWhole bool, err error) {
	record := c.records.find(key)
	if record == nil {
		return nil, true, nil
	}
	isWhole = c.reconciler.keeper == nil || record.isRestored.Load()
	encoded, err = record.loads.Encode()
	return encoded, isWhole, err
}

// EncodedMetricHistories returns the load of each metric since the start; none for an object with a single metric.
func (c *Controller) EncodedMetricHistories(key observe.Key) ([]monitor.EncodedMetric, error) {
	record := c.records.find(key)
	if record == nil {
		return nil, nil
	}
	return record.loads.EncodeMetrics()
}

// Run starts the informers and decides until the context ends; decisions whose writes have begun finish first.
func (c *Controller) Run(ctx context.Context) error {
	c.filling.Store(true)
	defer c.filling.Store(false)
	pods, err := c.config.Pods.AddHandler(c.podHandler())
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	c.reconciler.contests.Start()
	hpas, err := c.hpaInformer.AddEventHandler(c.handler)
	if err != nil {
		return fmt.Errorf("watching HorizontalPodAutoscalers: %w", err)
	}
	unwatch, err := c.watchTargets()
	if err != nil {
		return fmt.Errorf("watching targets: %w", err)
	}
	defer func() {
		// The informers may outlive this run; its handlers must not.
		unwatch()
		pods.Remove()
		_ = c.hpaInformer.RemoveEventHandler(hpas)
	}()
	c.config.Informers.Start(ctx.Done())
	c.config.Pods.Start(ctx)
	c.config.Targets.Start(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced, hpas.HasSynced, c.config.Targets.HasSynced) {
		return ctx.Err()
	}
	c.config.Log.V(1).Info("caches are filled", "objects", c.records.count())
	c.filling.Store(false)
	c.series.Running.Set(1)
	defer c.series.Running.Set(0)
	if c.config.WorkloadAutoscalers != nil {
		defer c.config.WorkloadAutoscalers.Run(ctx, c.handler, c.handler.workloadsListed)()
	}
	reader := c.reconciler.observer.reader
	defer reader.Collect(ctx, readings.Watch{
		Nodes: c.pods.Nodes, Moved: c.pods.Moved(), Sampled: c.triggers.sampled, Own: c.triggers.ownWatch(),
	})()
	defer reader.Wait()
	if c.reconciler.keeper != nil {
		defer c.reconciler.keeper.Start(ctx)()
	}
	if c.config.Past != nil {
		defer c.config.Past.Start(ctx)()
	}
	c.loop(ctx)
	return nil
}

// watchTargets watches the replica counts of targets and the ReplicaSets that they own.
func (c *Controller) watchTargets() (stop func(), err error) {
	stopCounts, err := c.triggers.watch(c.config.Targets)
	if err != nil {
		return nil, err
	}
	changed := c.triggers.podsChanged()
	stopOwners, err := c.config.Targets.WatchOwners(func(namespace, replicaSet string, isNew bool) {
		if keys := c.pods.OwnerChanged(namespace, replicaSet, isNew); changed != nil {
			changed(keys)
		}
	})
	if err != nil {
		stopCounts()
		return nil, err
	}
	return func() { stopCounts(); stopOwners() }, nil
}

// Ready returns an error while Run fills its caches.
func (c *Controller) Ready() error {
	if c.filling.Load() {
		return errors.New("the caches are being filled")
	}
	return nil
}

// loop hands every HPA that is due to a worker.
func (c *Controller) loop(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		item, isDue := c.queue.Wait(ctx.Done(), timer)
		// Acquire a worker only now: decisions that wait for a metrics API need workers too.
		if !isDue || !c.workers.Acquire(ctx) {
			return
		}
		running.Go(func() { c.reconciler.work(ctx, item) })
	}
}

// Alive returns an error if the loop starts no decision that is due. A loop that waits to lead, or fills its caches, is
// alive.
func (c *Controller) Alive() error {
	if c.filling.Load() {
		return nil
	}
	if stalled := c.queue.Stalled(time.Now()); stalled > stallTimeout {
		return fmt.Errorf("nothing was decided for %s though it is due", stalled.Round(time.Second))
	}
	return nil
}
