package world

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// DefaultTick is fine enough for a reader that polls every second, and cheap: 10,000 pods take about a millisecond.
const DefaultTick = 250 * time.Millisecond

// ReasonInvalidParameter is the reason of the Warning events about annotations.
const ReasonInvalidParameter = "InvalidSimulationParameter"

// Config selects the cluster to model.
type Config struct {
	Client kubernetes.Interface
	// Seed chooses the noise.
	Seed uint64
	// Tick is the step of the model; 0 means DefaultTick.
	Tick time.Duration
	// Log may be nil.
	Log *slog.Logger
}

// World is the model of one cluster. Its methods are safe for concurrent use.
type World struct {
	client kubernetes.Interface
	tick   time.Duration
	synced chan struct{}

	mu    sync.RWMutex
	state // guarded by mu
}

// state is the model's state of the cluster.
type state struct {
	log        *slog.Logger
	recorder   record.EventRecorder // nil unless Run runs
	model      *workloadmodel.Model
	at         time.Time     // of the last step
	step       time.Duration // how long that was
	steps      uint64        // steps of the model so far
	nodes      map[string]*node
	namespaces map[string]*namespace
	byAddress  map[netip.Addr]*pod // that serve metrics
	warned     map[warning]bool
}

// namespace groups the objects that can belong together, so that a change only affects its neighbours.
type namespace struct {
	pods     map[string]*pod
	services map[string]*service
}

// warning identifies a recorded event, so that the thousand pods of one template cause one.
type warning struct{ namespace, owner, message string }

// New returns a world that is empty until Run reads the cluster.
func New(config Config) (*World, error) {
	if config.Client == nil {
		return nil, errors.New("a world needs a client")
	}
	if config.Tick < 0 {
		return nil, fmt.Errorf("tick %v is negative", config.Tick)
	}
	if config.Tick == 0 {
		config.Tick = DefaultTick
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	return &World{
		client: config.Client, tick: config.Tick, synced: make(chan struct{}),
		state: state{
			log: config.Log, model: workloadmodel.New(config.Seed), nodes: map[string]*node{},
			namespaces: map[string]*namespace{}, byAddress: map[netip.Addr]*pod{}, warned: map[warning]bool{},
		},
	}, nil
}

// Run follows the cluster and moves the model in real time until ctx ends. It is called once.
func (w *World) Run(ctx context.Context) error {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: w.client.CoreV1().Events("")})
	w.start(time.Now(), broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "plimsoll-sim"}))

	factory := informers.NewSharedInformerFactoryWithOptions(w.client, 0, informers.WithTransform(dropManagedFields))
	defer factory.Shutdown()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before Shutdown, which waits for the informers
	told, err := w.watch(factory)
	if err != nil {
		return fmt.Errorf("watch the cluster: %w", err)
	}
	factory.StartWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), told...) {
		return nil // ended before it began
	}
	w.advance(time.Now())
	close(w.synced)

	ticker := time.NewTicker(w.tick)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			w.advance(time.Now())
		}
	}
}

// Synced is closed once Run has read the cluster.
func (w *World) Synced() <-chan struct{} { return w.synced }

func (w *World) start(now time.Time, recorder record.EventRecorder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at, w.recorder = now, recorder
}

// advance moves the model to now.
func (w *World) advance(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !now.After(w.at) {
		return
	}
	w.step = now.Sub(w.at)
	w.model.Advance(w.step)
	w.at = now
	w.steps++
}

func (w *state) namespace(name string) *namespace {
	ns := w.namespaces[name]
	if ns == nil {
		ns = &namespace{pods: map[string]*pod{}, services: map[string]*service{}}
		w.namespaces[name] = ns
	}
	return ns
}

// warn reports an object's error once per owner.
func (w *state) warn(object runtime.Object, about warning) {
	if w.warned[about] {
		return
	}
	w.warned[about] = true
	w.log.Warn(about.message, "namespace", about.namespace, "object", about.owner)
	if w.recorder != nil {
		w.recorder.Event(object, corev1.EventTypeWarning, ReasonInvalidParameter, about.message)
	}
}
