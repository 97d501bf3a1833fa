// Package horizontal is the loop that autoscales horizontally: it observes each
// HorizontalPodAutoscaler, has the core decide and acts on the decision.
//
// The loop is driven by time: an object is decided at once when it is new or its
// spec changes, and each sync period after that. With Config.Triggers it is also
// decided as soon as something is known: once for each round of scrapes over its
// pods' nodes, at most 200 ms after the first new samples; and when a pod of its
// target appears, becomes ready or not, fails or goes, or when somebody else sets
// its target's count.
//
// Such decisions do not ask more of others. Answers of the custom and external
// metrics APIs serve until the object's next sync period, with the times that
// they came with, and so does the scale of a target that is in no cache; metrics.k8s.io, where it is needed, is asked once a second at
// most because of pods, and each five seconds while it stands in for kubelets that
// cannot be read. While no kubelet has been read twice, as at the start, few objects ask
// at once: the others are decided when their samples are there, or within a sync period.
//
// No decision waits for an API that is slow, where there is something to go by without
// it. Requests outlive the decision that makes them, and an answer that comes later leads
// to another one. Until then the last value serves for a sync period; after that the
// metric asks for nothing, and the count is not lowered.
package horizontal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	autoscalinglisters "k8s.io/client-go/listers/autoscaling/v2"
	scaleclient "k8s.io/client-go/scale"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/calls"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/monitor"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/schedule"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/status"
	"github.com/plimsoll-dev/plimsoll/internal/kube/targets"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// FieldManager is Plimsoll's name in managedFields.
const FieldManager = takeover.FieldManager

// callsPerWorker bounds what is read or written at once of objects of one kind. Such a
// call waits for the API server and takes next to no time here.
const callsPerWorker = 10

// Config is all that the controller needs. Times and clients are injected, so
// that virtual time can drive it.
type Config struct {
	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory
	Scales    scaleclient.ScalesGetter
	// ScaleWrites writes scales, Scales if it is nil; it has no limiter of its own. Before
	// each write, and before it is looked at once more whether the decision still holds,
	// WriteLimiter is waited for, and ScaleKinds, with which it finds out how a scale is
	// written, is asked; both may be nil.
	ScaleWrites  scaleclient.ScalesGetter
	ScaleKinds   scaleclient.ScaleKindResolver
	WriteLimiter flowcontrol.RateLimiter
	Mapper       meta.RESTMapper
	Metrics      MetricsSource
	// Direct knows resource metrics without asking; without it, or where it does not
	// know enough, Metrics is asked for them too. It may be nil.
	Direct Direct
	// Conflict says how a vertical autoscaler is in the way of an object's
	// Utilization targets; empty when none is. It is asked at each decision, from
	// several goroutines, and answers from caches. It may be nil.
	Conflict func(*autoscalingv2.HorizontalPodAutoscaler) string
	// Events may be nil in shadow mode, where none are recorded.
	Events     record.EventRecorder
	Registerer prometheus.Registerer
	Log        logr.Logger

	// SyncPeriod is how often each object is decided, at least.
	SyncPeriod time.Duration
	// Triggers lets new samples, pods and counts lead to decisions between.
	Triggers bool
	// Workers is how many objects are decided at once. One that waits for a metrics
	// API, for its target's scale or for a write does not count.
	Workers int
	// StatusInterval is how long numbers alone are no reason to write status; 0
	// writes each change.
	StatusInterval time.Duration
	// EventInterval is how long a warning is not repeated; 0 repeats each.
	EventInterval time.Duration
	// Options are the flags that take part in a decision.
	Options observehorizontal.Options
	// FieldManager is this installation's name in managedFields; FieldManager if it is empty.
	FieldManager string
	// Shadow decides and writes nothing.
	Shadow bool
}

// Controller is the loop.
type Controller struct {
	config Config
	log    logr.Logger
	series *monitor.Series

	objects  autoscalinglisters.HorizontalPodAutoscalerLister
	informer cache.SharedIndexInformer
	podsFeed cache.SharedIndexInformer
	targets  *targets.Cache
	scales   *scale.Client
	status   *status.Writer
	pods     *podindex.Index
	queue    *schedule.Queue
	contests takeover.Detector
	comparer takeover.Comparer
	// filling is true from the start of Run until the caches are filled.
	filling atomic.Bool
	// inspected counts inspectors.
	inspected atomic.Int32
	// requesting are the requests to metrics APIs that are under way.
	requesting sync.WaitGroup
	workers    calls.Workers
	// readers are for the reads that are under way, writers for the writes.
	readers, writers *calls.Slots
	// numbers are writes of statuses for their numbers alone.
	numbers *rate.Limiter
	// early are questions to metrics.k8s.io that need not wait for kubelets' samples.
	early *rate.Limiter
	// scratches pools unused buffers of decisions.
	scratches sync.Pool
	// subscribers pools unused lists of those that are told of a node's samples.
	subscribers sync.Pool

	// mu guards what follows.
	mu      sync.Mutex
	records map[types.NamespacedName]*track
	// byTarget are the objects by what they scale.
	byTarget map[targets.ID][]types.NamespacedName
	// present counts the objects in the cache.
	present int
	// wentBack is when resource versions were last found to have gone back.
	wentBack time.Time
	// inspectors are told of decisions, by object.
	inspectors map[types.NamespacedName][]*Inspector
}

// New checks the configuration and wires the parts. It starts nothing.
func New(cfg Config) (*Controller, error) {
	cfg.FieldManager = cmp.Or(cfg.FieldManager, FieldManager)
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("horizontal controller: %w", err)
	}
	known := targets.New(cfg.Informers.Apps().V1())
	scales, err := scale.New(scale.Config{
		Scales: cfg.Scales, Writes: cfg.ScaleWrites, Kinds: cfg.ScaleKinds, Mapper: cfg.Mapper, Known: known,
		FieldManager: cfg.FieldManager,
	})
	if err != nil {
		return nil, fmt.Errorf("horizontal controller: %w", err)
	}
	writer, err := status.New(cfg.Client.AutoscalingV2(), cfg.FieldManager)
	if err != nil {
		return nil, fmt.Errorf("horizontal controller: %w", err)
	}
	series, err := monitor.New(cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("horizontal controller: %w", err)
	}
	objects := cfg.Informers.Autoscaling().V2().HorizontalPodAutoscalers()
	return &Controller{
		config:   cfg,
		log:      cfg.Log,
		series:   series,
		objects:  objects.Lister(),
		informer: objects.Informer(),
		podsFeed: cfg.Informers.Core().V1().Pods().Informer(),
		targets:  known,
		scales:   scales,
		status:   writer,
		pods:     podindex.New(),
		contests: takeover.Detector{FieldManager: cfg.FieldManager, Shadow: cfg.Shadow, Series: series, Events: cfg.Events, Log: cfg.Log},
		comparer: takeover.Comparer{SyncPeriod: cfg.SyncPeriod, Count: series.Shadow, Log: cfg.Log},
		queue:    schedule.New(),
		workers:  calls.NewWorkers(cfg.Workers),
		readers:  calls.NewSlots(callsPerWorker * cfg.Workers),
		writers:  calls.NewSlots(callsPerWorker * cfg.Workers),
		numbers:  rate.NewLimiter(paceOf(0, cfg.StatusInterval), leastPace),
		early:    rate.NewLimiter(earlyPerSecond, earlyBurst),
		records:  map[types.NamespacedName]*track{},
		byTarget: map[targets.ID][]types.NamespacedName{},

		inspectors: map[types.NamespacedName][]*Inspector{},
	}, nil
}

func (c *Config) validate() error {
	switch {
	case c.Client == nil, c.Informers == nil, c.Scales == nil, c.Mapper == nil, c.Metrics == nil, c.Registerer == nil:
		return errors.New("a client, informers, scales, a mapper, metrics and a registerer are needed")
	case c.Events == nil && !c.Shadow:
		return errors.New("an event recorder is needed")
	case c.SyncPeriod <= 0:
		return fmt.Errorf("the sync period must be positive, but is %s", c.SyncPeriod)
	case c.Workers < 1:
		return fmt.Errorf("at least one worker is needed, but there are %d", c.Workers)
	}
	return nil
}

// Run starts the informers and decides until the context ends; decisions that
// have begun to write finish first.
func (c *Controller) Run(ctx context.Context) error {
	c.filling.Store(true)
	defer c.filling.Store(false)
	pods, err := c.podsFeed.AddEventHandler(c.podsHandler())
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	objects, err := c.informer.AddEventHandler(c.handler())
	if err != nil {
		return fmt.Errorf("watching HorizontalPodAutoscalers: %w", err)
	}
	unwatch, err := c.watchCounts()
	if err != nil {
		return fmt.Errorf("watching targets: %w", err)
	}
	defer func() {
		// The informers may outlive this run; its handlers must not.
		unwatch()
		_ = c.podsFeed.RemoveEventHandler(pods)
		_ = c.informer.RemoveEventHandler(objects)
	}()
	c.config.Informers.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced, objects.HasSynced, c.targets.HasSynced) {
		return ctx.Err()
	}
	c.log.V(1).Info("caches are filled", "objects", c.count())
	c.filling.Store(false)
	c.series.Running.Set(1)
	defer c.series.Running.Set(0)
	defer c.collect(ctx)()
	defer c.requesting.Wait()
	c.loop(ctx)
	return nil
}

// collect lets kubelets be scraped until ctx ends; wait returns when none is any
// more.
func (c *Controller) collect(ctx context.Context) (wait func()) {
	var collecting sync.WaitGroup
	if c.config.Direct != nil {
		watch := podusage.Watch{Nodes: c.pods.Nodes, Moved: c.pods.Moved(), Sampled: c.sampled}
		collecting.Go(func() { c.config.Direct.Run(ctx, watch) })
	}
	return collecting.Wait
}

// Ready is an error while Run fills its caches.
func (c *Controller) Ready() error {
	if c.filling.Load() {
		return errors.New("the caches are being filled")
	}
	return nil
}

// loop hands each object that is due to a worker.
func (c *Controller) loop(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		item, isDue := c.queue.Wait(ctx.Done(), timer)
		// A worker is acquired only now: decisions that wait for a metrics API need workers too.
		if !isDue || !c.workers.Acquire(ctx) {
			return
		}
		running.Go(func() { c.work(ctx, item) })
	}
}

func (c *Controller) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.records)
}
