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
	// ready is set once the first pass is over; active is when something was last done.
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
		return fmt.Errorf("no pass has ended since %s", quiet.Round(time.Second))
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
	if !r.passes.begin(ctx) {
		return nil
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	beside.Go(func() { r.passes.sampler.Run(ctx) })
	r.loop(ctx)
	r.passes.end(context.WithoutCancel(ctx))
	return nil
}

// listen feeds the loop from the informers.
func (r *Recommender) listen() (stop func(), synced []cache.InformerSynced, err error) {
	h := handlers{}
	h.addOfPods(r.config.Pods.AddHandler(r.passes.pods.Handler(nil)))
	h.addOfPods(r.config.Pods.AddPodHandler(r.passes.ooms.Pods()))
	h.synced = append(h.synced, h.add(r.config.Objects, r.urgent))
	if r.config.Evictions != nil {
		// A recommender that may not read events can still recommend.
		h.add(r.config.Evictions, r.passes.ooms.Evictions())
	}
	if h.err != nil {
		h.remove()
		return nil, nil, fmt.Errorf("recommender: watching: %w", h.err)
	}
	return h.remove, h.synced, nil
}

// handlers are those that were added to informers, and why others were not.
type handlers struct {
	removals []func()
	synced   []cache.InformerSynced
	err      error
}

// addOfPods takes what was added to the cache of pods.
func (h *handlers) addOfPods(registration *podcache.Registration, err error) {
	if err != nil {
		h.err = errors.Join(h.err, err)
		return
	}
	h.removals, h.synced = append(h.removals, registration.Remove), append(h.synced, registration.HasSynced)
}

// add adds a handler to an informer, and returns whether it has the first list.
func (h *handlers) add(informer cache.SharedIndexInformer, handler cache.ResourceEventHandler) cache.InformerSynced {
	registration, err := informer.AddEventHandler(handler)
	if err != nil {
		h.err = errors.Join(h.err, err)
		return nil
	}
	// It fails only where the informer has ended.
	h.removals = append(h.removals, func() { _ = informer.RemoveEventHandler(registration) })
	return registration.HasSynced
}

func (h *handlers) remove() {
	for _, remove := range h.removals {
		remove()
	}
}

// gatherTime is how long urgent objects are gathered.
const gatherTime = time.Second

// loop passes over all objects every interval, and over urgent ones between.
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
