// Package checkpoints keeps what was learnt of autoscalers over restarts: it reads all AutoscalerCheckpoints when the
// controller begins to lead, and writes each autoscaler's once an hour, at its own time.
package checkpoints

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	kubecheckpoints "github.com/plimsoll-dev/plimsoll/internal/kube/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

const (
	// savePeriod is how often an autoscaler's checkpoint is written: as much is lost if the process is killed.
	savePeriod = time.Hour
	// keepTime is how long what was read waits for its autoscaler, after all was read.
	keepTime = 10 * time.Minute
	// maxUnknownBytes bounds what is kept for autoscalers that are not in the caches. Whoever may create checkpoints
	// may name any.
	maxUnknownBytes = 64 << 20
	// fillTimeout is how long the caches are waited for: a cache that cannot be filled keeps nothing else from being read.
	fillTimeout = time.Minute
	// maxAhead is by how much another leader's clock may be ahead.
	maxAhead = time.Hour
)

// Client is the API server's part.
type Client interface {
	Each(ctx context.Context, visit func(*plimsollv1alpha1.AutoscalerCheckpoint)) error
	Get(ctx context.Context, name types.NamespacedName) (*plimsollv1alpha1.AutoscalerCheckpoint, error)
	Create(ctx context.Context, checkpoint *plimsollv1alpha1.AutoscalerCheckpoint) (resourceVersion string, err error)
	Replace(ctx context.Context, checkpoint *plimsollv1alpha1.AutoscalerCheckpoint) (resourceVersion string, err error)
	Delete(ctx context.Context, name types.NamespacedName, uid types.UID) error
}

var _ Client = (*kubecheckpoints.Client)(nil)

// ErrBusy is Encode's where the autoscaler is being decided. It is asked again a second later.
var ErrBusy = errors.New("the autoscaler is being decided")

// Data is what is saved of an autoscaler; either part may be empty.
type Data struct{ History, Forecast []byte }

func (d *Data) isEmpty() bool { return len(d.History)+len(d.Forecast) == 0 }

// Saved is what was read of an autoscaler. Whoever may write checkpoints in its namespace may have made it up.
type Saved struct {
	Data
	SavedAt time.Time
}

// Config is what a Keeper is made of.
type Config struct {
	Client Client
	// Encode is what is known of an autoscaler, at the moment at which it is written. No lock is held.
	Encode func(key observe.Key, uid types.UID) (Data, error)
	// IsKnown reports whether the autoscaler is in the caches.
	IsKnown func(key observe.Key, uid types.UID) bool
	// Filled is closed when the caches have what there is; nil if they have it from the start. What is read before that
	// is of no known autoscaler.
	Filled <-chan struct{}
	// MayFlush reports whether the process still leads after its context has ended.
	MayFlush   func() bool
	Registerer prometheus.Registerer
	Log        logr.Logger
}

// Keeper reads and writes checkpoints.
type Keeper struct {
	config   Config
	series   *series
	problems problems
	// wake holds a token when an entry is due earlier than before.
	wake chan struct{}

	// mu guards what follows.
	mu sync.Mutex
	// isLoaded says that all checkpoints were read.
	isLoaded bool
	// kept are those that were read and not taken; unknownBytes is the size of those for no known autoscaler.
	kept         map[observe.Key]kept
	unknownBytes int
	// entries are the autoscalers whose checkpoints are written, due has those that are not being written.
	entries map[observe.Key]*entry
	due     timing.Queue[*entry]
}

// kept is a checkpoint that was read.
type kept struct {
	saved   Saved
	uid     types.UID
	version string
	// unknown is its part of unknownBytes.
	unknown int
}

// entry is an autoscaler whose checkpoint is written. Whoever took it out of the queue has it alone, but for isGone,
// which the Keeper's lock guards.
type entry struct {
	key observe.Key
	uid types.UID
	// version is the resource version of the checkpoint; empty if none is known.
	version string
	// saved is when it was last written, by this process or an earlier one; zero if it was not.
	saved time.Time
	due   time.Time
	place int
	// isWriting says that it is not in the queue, isGone that it does not return there.
	isWriting, isGone bool
}

// Before implements timing.Item.
func (e *entry) Before(other *entry) bool { return e.due.Before(other.due) }

// Place implements timing.Item.
func (e *entry) Place() *int { return &e.place }

// next is when it is written again after now: at its own time in each period.
func (e *entry) next(now time.Time) time.Time {
	return timing.Next(now, timing.Phase(string(e.uid), savePeriod), savePeriod)
}

// New makes a Keeper that has read nothing, and starts nothing.
func New(c *Config) (*Keeper, error) {
	if c.Client == nil || c.Encode == nil || c.IsKnown == nil || c.MayFlush == nil || c.Registerer == nil {
		return nil, errors.New("a client, a registerer, and functions that encode, know and permit are needed")
	}
	counters, err := newSeries(c.Registerer)
	if err != nil {
		return nil, err
	}
	return &Keeper{
		config: *c, series: counters, problems: problems{log: c.Log}, wake: make(chan struct{}, 1),
		kept: map[observe.Key]kept{}, entries: map[observe.Key]*entry{},
	}, nil
}

// Take is what was saved of an autoscaler. It is final if nothing will be found later; until then nothing of it is
// saved, as that would replace what is not read yet. Each call until then asks for little.
func (k *Keeper) Take(key observe.Key, uid types.UID) (saved Saved, isFound, isFinal bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	one, isKept := k.kept[key]
	isFound = isKept && one.uid == uid
	if !isFound && !k.isLoaded {
		return Saved{}, false, false
	}
	if isFound {
		delete(k.kept, key)
		k.unknownBytes -= one.unknown
		k.series.read(resultRestored)
	} else {
		if isKept {
			k.series.read(resultForeign)
		}
		one = kept{}
	}
	e := &entry{key: key, uid: uid, version: one.version, saved: one.saved.SavedAt}
	if now := time.Now(); e.saved.After(now) {
		e.saved = now
	}
	k.trackLocked(e)
	return one.saved, isFound, true
}

// trackLocked has an autoscaler's checkpoint written from now on.
func (k *Keeper) trackLocked(e *entry) {
	k.forgetLocked(e.key)
	e.due = e.next(time.Now())
	k.entries[e.key] = e
	k.pushLocked(e)
}

// pushLocked puts an entry into the queue.
func (k *Keeper) pushLocked(e *entry) {
	e.isWriting = false
	k.due.Push(e)
	if k.due.First() != e {
		return
	}
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// Forget drops an autoscaler that is gone. The API server deletes its checkpoint.
func (k *Keeper) Forget(key observe.Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.forgetLocked(key)
}

func (k *Keeper) forgetLocked(key observe.Key) {
	e := k.entries[key]
	if e == nil {
		return
	}
	delete(k.entries, key)
	e.isGone = true
	if !e.isWriting {
		k.due.Remove(e)
	}
}

// Start reads and writes until ctx ends. Finish waits for that, and writes what is not saved if the process still
// leads. It is called when no autoscaler is being decided any more.
func (k *Keeper) Start(ctx context.Context) (finish func()) {
	var running sync.WaitGroup
	running.Go(func() {
		if !k.awaitCaches(ctx) || !k.load(ctx) {
			return
		}
		running.Go(func() { k.saveDue(ctx) })
		if timing.Pause(ctx, keepTime) == nil {
			k.dropKept()
		}
	})
	return func() {
		running.Wait()
		k.flush(context.WithoutCancel(ctx))
	}
}

// awaitCaches waits until the caches are filled, for some time; false if ctx ended.
func (k *Keeper) awaitCaches(ctx context.Context) bool {
	if k.config.Filled == nil {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(fillTimeout)
	defer timer.Stop()
	select {
	case <-k.config.Filled:
	case <-timer.C:
		k.config.Log.Info("checkpoints of autoscalers are read before all caches are filled", "waited", fillTimeout.String())
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
