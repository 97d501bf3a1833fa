// Package recommender is the loop that recommends requests: it samples what the
// containers of each VerticalPodAutoscaler's pods use, has the core decide, and
// writes status and checkpoints.
//
// Use is sampled several times in an interval, of which CPU's mean and memory's
// highest counts; statuses are decided each interval, and of new or changed objects, and of those whose
// containers ran out of memory, within a second. A pass costs what the pods of
// VerticalPodAutoscalers cost, however many others there are.
//
// Checkpoints are read at the start, and nothing is decided before they are: a
// recommender that begins anew would overwrite them. They are written only when
// there is something new, each at its own time, and all of them at the end.
package recommender

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/collect/prometheushistory"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender/oom"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender/sampling"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
)

// DefaultName is that of the recommender of objects that name none.
const DefaultName = "default"

// Targets finds the workload that an object means.
type Targets interface {
	TargetOf(namespace string, ref *autoscalingv1.CrossVersionObjectReference) (ownership.Target, error)
	// Await waits until what has to be asked for was, but not for long.
	Await(ctx context.Context, references iter.Seq2[string, *autoscalingv1.CrossVersionObjectReference])
	HasSynced() bool
}

// Store is the API server's part of status and checkpoints.
type Store interface {
	UpdateStatus(ctx context.Context, object *vpav1.VerticalPodAutoscaler,
		change func(*vpav1.VerticalPodAutoscalerStatus) bool) (*vpav1.VerticalPodAutoscaler, error)
	EachCheckpoint(ctx context.Context, namespace string, visit func(*vpav1.VerticalPodAutoscalerCheckpoint)) error
	WriteCheckpoint(ctx context.Context, checkpoint *vpav1.VerticalPodAutoscalerCheckpoint) error
	DeleteCheckpoint(ctx context.Context, namespace, name string) error
}

var (
	_ Targets = (*ownership.Tree)(nil)
	_ Store   = (*vpa.Client)(nil)
)

// Conflicts finds what horizontal autoscalers of an object's workload control, of a
// workload with these containers.
type Conflicts = func(object *vpav1.VerticalPodAutoscaler, containers []string) []conflict.Conflict

// Config is all that the recommender needs. The informers are shared with others,
// and started by them.
type Config struct {
	Objects, Pods cache.SharedIndexInformer
	// Evictions has events of the reason Evicted; it may be nil.
	Evictions cache.SharedIndexInformer
	Targets   Targets
	Store     Store
	// Sources are where use is measured.
	sampling.Sources
	// Conflicts says what horizontal autoscalers of the same workload control. It may
	// be nil.
	Conflicts      Conflicts
	SkipsConflicts bool
	// History is where the past comes from; nil for checkpoints.
	History    History
	Events     record.EventRecorder
	Registerer prometheus.Registerer
	Log        logr.Logger

	// Name is the recommender's.
	Name string
	// Namespace is the only one that is looked at, all if it is empty; Ignored are not.
	Namespace string
	Ignored   []string
	// Interval is how often statuses are decided, CollectInterval how often checkpoints
	// that nobody needs are looked for.
	Interval, CollectInterval time.Duration
	// FlushTimeout bounds the writing of checkpoints at the end.
	FlushTimeout time.Duration
	// Workers is how many statuses and checkpoints are written at a time.
	Workers int
	// NoOverrides ignores what objects say about aggregation and running out of
	// memory, as upstream does unless the feature gate PerVPAConfig is on.
	NoOverrides bool
	// IntegerCPU lets objects ask for whole CPUs.
	IntegerCPU bool
	// Policy is the flags that take part in a decision.
	Policy recommend.Policy
}

// Recommender is the loop.
type Recommender struct {
	config  Config
	log     logr.Logger
	metrics *metrics
	pods    *podindex.Index
	ooms    *oom.Watcher
	sampler *sampling.Sampler
	// checkpoints share the tracks.
	checkpoints *checkpoints
	// ready is set once the first pass is over; active is when something was last done.
	ready  atomic.Bool
	active atomic.Int64
	urgent *urgent

	// tracks are the loop's own, but for what sampling shares: see track.
	tracks map[types.NamespacedName]*track
	// parked are workloads whose object is gone.
	parked map[types.UID]parked
	// unreadable are the objects of the last pass whose spec could not be read.
	unreadable []*vpav1.VerticalPodAutoscaler
	// past is what pods used before, by namespace; nil after the first pass.
	past map[string][]*prometheushistory.Pod
}

// New checks the configuration. It starts nothing.
func New(cfg Config) (*Recommender, error) {
	switch {
	case cfg.Objects == nil, cfg.Pods == nil, cfg.Targets == nil, cfg.Store == nil, cfg.Metrics == nil, cfg.Events == nil,
		cfg.Registerer == nil:
		return nil, errors.New("recommender: informers, targets, a store, metrics, events and a registerer are needed")
	case cfg.Interval <= 0, cfg.CollectInterval <= 0, cfg.FlushTimeout <= 0:
		return nil, errors.New("recommender: intervals and timeouts must be positive")
	case cfg.Workers < 1:
		return nil, fmt.Errorf("recommender: at least one worker is needed, but there are %d", cfg.Workers)
	}
	if cfg.Name == "" {
		cfg.Name = DefaultName
	}
	series, err := newMetrics(cfg.Registerer)
	if err != nil {
		return nil, fmt.Errorf("recommender: %w", err)
	}
	r := &Recommender{
		config: cfg, log: cfg.Log, metrics: series, pods: podindex.New(), urgent: newUrgent(),
		tracks: map[types.NamespacedName]*track{}, parked: map[types.UID]parked{},
	}
	r.checkpoints = &checkpoints{config: &r.config, log: cfg.Log, tracks: r.tracks}
	r.ooms = oom.NewWatcher(cfg.Pods.GetStore(), cfg.Policy.Usage.Divergences, r.urgent.signal)
	r.sampler = sampling.New(sampling.Config{
		Sources: cfg.Sources, Pods: r.pods, Policy: &r.config.Policy, Namespace: cfg.Namespace, Interval: cfg.Interval,
		Responded: series.Responded, Log: cfg.Log,
	})
	return r, nil
}

// Ready is an error until the first pass is over.
func (r *Recommender) Ready() error {
	if !r.ready.Load() {
		return errors.New("the recommender is reading checkpoints")
	}
	return nil
}

// Alive is an error if nothing was done for five intervals, as upstream.
func (r *Recommender) Alive(now time.Time) error {
	last := r.active.Load()
	if quiet := now.Sub(time.Unix(0, last)); last != 0 && quiet > 5*r.config.Interval {
		return fmt.Errorf("no pass since %s", quiet.Round(time.Second))
	}
	return nil
}

// Run recommends until the context ends, and then writes the checkpoints that have
// something new.
func (r *Recommender) Run(ctx context.Context) error {
	stop, synced, err := r.listen()
	if err != nil {
		return err
	}
	defer stop()
	if !cache.WaitForCacheSync(ctx.Done(), append(synced, r.config.Targets.HasSynced)...) {
		return nil
	}
	begin := r.checkpoints.restore
	if r.config.History != nil {
		begin = r.recall
	}
	if !begin(ctx) {
		return nil
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	beside.Go(func() { r.sampler.Run(ctx) })
	r.loop(ctx)
	r.checkpoints.flush(context.WithoutCancel(ctx))
	return nil
}

// listen feeds the loop from the informers.
func (r *Recommender) listen() (stop func(), synced []cache.InformerSynced, err error) {
	var stops []func()
	stop = func() {
		for _, f := range stops {
			f()
		}
	}
	feeds := []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{r.config.Pods, r.pods.Handler(nil)}, {r.config.Pods, r.ooms.Pods()}, {r.config.Objects, objects{r}},
	}
	if r.config.Evictions != nil {
		feeds = append(feeds, struct {
			informer cache.SharedIndexInformer
			handler  cache.ResourceEventHandler
		}{r.config.Evictions, r.ooms.Evictions()})
	}
	for _, feed := range feeds {
		registration, err := feed.informer.AddEventHandler(feed.handler)
		if err != nil {
			stop()
			return nil, nil, fmt.Errorf("recommender: watching: %w", err)
		}
		// It fails only where the informer has ended.
		stops = append(stops, func() { _ = feed.informer.RemoveEventHandler(registration) })
		if feed.informer != r.config.Evictions {
			// Whoever may not read events can still recommend.
			synced = append(synced, registration.HasSynced)
		}
	}
	return stop, synced, nil
}

// settle is how long urgent objects are gathered.
const settle = time.Second

// loop passes over all objects each interval, and over urgent ones between.
func (r *Recommender) loop(ctx context.Context) {
	ticker := time.NewTicker(r.config.Interval)
	defer ticker.Stop()
	r.pass(ctx, time.Now(), nil)
	r.ready.Store(true)
	r.log.Info("recommending", "objects", len(r.tracks))
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			r.pass(ctx, now, nil)
		case <-r.urgent.wake:
			select {
			case <-ctx.Done():
				return
			case now := <-time.After(settle):
				r.pass(ctx, now, r.urgent.take())
			}
		}
	}
}

// urgent are the objects that are to be decided at once.
type urgent struct {
	// wake has an element when there is one, or a container ran out of memory.
	wake chan struct{}

	// mu guards what follows.
	mu    sync.Mutex
	names map[types.NamespacedName]struct{}
}

func newUrgent() *urgent {
	return &urgent{wake: make(chan struct{}, 1), names: map[types.NamespacedName]struct{}{}}
}

func (u *urgent) add(name types.NamespacedName) {
	u.mu.Lock()
	u.names[name] = struct{}{}
	u.mu.Unlock()
	u.signal()
}

func (u *urgent) signal() {
	select {
	case u.wake <- struct{}{}:
	default:
	}
}

func (u *urgent) take() map[types.NamespacedName]struct{} {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.names
	u.names = map[types.NamespacedName]struct{}{}
	return taken
}
