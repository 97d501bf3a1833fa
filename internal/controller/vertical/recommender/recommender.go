// Package recommender is the loop that recommends requests: it samples the use of the containers of each
// VerticalPodAutoscaler's pods, passes the samples to the core, and writes the status and checkpoints.
//
// It samples several times in an interval; the mean of CPU and the maximum of memory count. It decides each object
// every interval; a new or changed object, or one whose containers ran out of memory, within a second. The cost of a
// pass depends on the pods of VerticalPodAutoscalers, however many others the cluster has.
//
// It reads checkpoints at the start, and decides nothing before that: a recommender without history would overwrite
// them. It writes them only when they have changed, each at its own time, and all of them at the end.
package recommender

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
)

// Recommender is the loop.
type Recommender struct {
	config Config
	urgent *urgent
	passes *passes
	// ready is set once the first pass has ended; active is when a pass last ended.
	ready  atomic.Bool
	active atomic.Int64
}

// New checks the configuration. It starts nothing.
func New(cfg Config) (*Recommender, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if cfg.Name == "" {
		cfg.Name = DefaultName
	}
	r := &Recommender{config: cfg, urgent: newUrgent()}
	var err error
	if r.passes, err = newPasses(&r.config, r.urgent.signal); err != nil {
		return nil, fmt.Errorf("recommender: %w", err)
	}
	return r, nil
}

// Ready returns an error until the first pass has ended.
func (r *Recommender) Ready() error {
	if !r.ready.Load() {
		return errors.New("the recommender is reading checkpoints")
	}
	return nil
}

// Alive returns an error if no pass has ended for five intervals, as upstream.
func (r *Recommender) Alive(now time.Time) error {
	last := r.active.Load()
	if quiet := now.Sub(time.Unix(0, last)); last != 0 && quiet > 5*r.config.Interval {
		return fmt.Errorf("no pass has ended since %s", quiet.Round(time.Second))
	}
	return nil
}

// Run recommends until the context ends, and then writes the changed checkpoints.
func (r *Recommender) Run(ctx context.Context) error {
	stop, synced, err := r.listen()
	if err != nil {
		return err
	}
	defer stop()
	if !cache.WaitForCacheSync(ctx.Done(), append(synced, r.config.Targets.HasSynced)...) {
		return nil
	}
	if !r.passes.begin(ctx) {
		return nil
	}
	var background sync.WaitGroup
	defer background.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	background.Go(func() { r.passes.sampler.Run(ctx) })
	r.loop(ctx)
	r.passes.end(context.WithoutCancel(ctx))
	return nil
}

func (r *Recommender) listen() (stop func(), synced []cache.InformerSynced, err error) {
	h := handlers{}
	h.addOfPods(r.config.Pods.AddHandler(r.passes.pods.Handler(nil)))
	h.addOfPods(r.config.Pods.AddPodHandler(r.passes.ooms.Pods()))
	h.synced = append(h.synced, h.add(r.config.Objects, r.urgent))
	if r.config.Evictions != nil {
		// Do not wait for events: a recommender without the permission to read them can still recommend.
		h.add(r.config.Evictions, r.passes.ooms.Evictions())
	}
	if h.err != nil {
		h.remove()
		return nil, nil, fmt.Errorf("recommender: watching: %w", h.err)
	}
	return h.remove, h.synced, nil
}

// handlers has the handlers that were added to informers, and the errors of those that were not.
type handlers struct {
	removals []func()
	synced   []cache.InformerSynced
	err      error
}

// addOfPods records a handler that was added to the cache of pods.
func (h *handlers) addOfPods(registration *podcache.Registration, err error) {
	if err != nil {
		h.err = errors.Join(h.err, err)
		return
	}
	h.removals, h.synced = append(h.removals, registration.Remove), append(h.synced, registration.HasSynced)
}

// add adds a handler to an informer, and returns a function that reports whether it has the first list.
func (h *handlers) add(informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) cache.InformerSynced {
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		h.err = errors.Join(h.err, err)
		return nil
	}
	// It fails only if the informer has ended.
	h.removals = append(h.removals, func() { _ = informer.RemoveEventHandler(registration) })
	return registration.HasSynced
}

func (h *handlers) remove() {
	for _, remove := range h.removals {
		remove()
	}
}

// gatherTime is the time for which urgent objects are collected for one pass.
const gatherTime = time.Second

// loop runs a pass over all objects every interval, and over urgent ones between.
func (r *Recommender) loop(ctx context.Context) {
	ticker := time.NewTicker(r.config.Interval)
	defer ticker.Stop()
	pass := func(now time.Time, of scope) {
		r.passes.pass(ctx, now, of)
		r.active.Store(time.Now().UnixNano())
	}
	pass(time.Now(), scope{isWhole: true})
	r.ready.Store(true)
	r.config.Log.Info("recommender started", "objects", len(r.passes.tracks.byName))
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			pass(now, scope{isWhole: true})
		case <-r.urgent.wake:
			select {
			case <-ctx.Done():
				return
			case now := <-time.After(gatherTime):
				pass(now, scope{named: r.urgent.take()})
			}
		}
	}
}
