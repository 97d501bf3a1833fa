// Package checkpoints saves the histories and forecasts of autoscalers across restarts: it reads all
// AutoscalerCheckpoints when the controller begins to lead, and writes each autoscaler's once an hour, spread over the
// hour.
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
	// savePeriod is the time between two writes of an autoscaler's checkpoint. It bounds the loss if the process is
	// killed.
	savePeriod = time.Hour
	// keepTime is the time that checkpoints wait for their autoscalers, after all were read.
	keepTime = 10 * time.Minute
	// maxUnknownBytes bounds the checkpoints kept for autoscalers that are not in the caches. A user who may create
	// checkpoints may name any autoscaler.
	maxUnknownBytes = 64 << 20
	// fillTimeout is the longest wait for the caches: one that cannot be filled must not prevent reading.
	fillTimeout = time.Minute
	// maxAhead is the tolerated clock skew of another leader.
	maxAhead = time.Hour
)

// Client reads and writes AutoscalerCheckpoints.
type Client interface {
	Each(ctx context.Context, visit func(*plimsollv1alpha1.AutoscalerCheckpoint)) error
	Get(ctx context.Context, name types.NamespacedName) (*plimsollv1alpha1.AutoscalerCheckpoint, error)
	Create(ctx context.Context, checkpoint *plimsollv1alpha1.AutoscalerCheckpoint) (resourceVersion string, err error)
	Replace(ctx context.Context, checkpoint *plimsollv1alpha1.AutoscalerCheckpoint) (resourceVersion string, err error)
	Delete(ctx context.Context, name types.NamespacedName, uid types.UID) error
}

var _ Client = (*kubecheckpoints.Client)(nil)

// ErrBusy is returned by Encode while the autoscaler is being decided. The Keeper retries a second later.
var ErrBusy = errors.New("the autoscaler is being decided")

// Data is the content of a checkpoint; either part may be empty.
type Data struct{ History, Forecast []byte }

func (d *Data) isEmpty() bool { return len(d.History)+len(d.Forecast) == 0 }

// Saved is the content of a checkpoint that was read. It is untrusted: a user with write access to checkpoints in the
// namespace may have made it up.
type Saved struct {
	Data
	SavedAt time.Time
}

// Config configures a Keeper.
type Config struct {
	Client Client
	// Encode returns the data of an autoscaler when its checkpoint is written. The Keeper calls it without a lock.
	Encode func(key observe.Key, uid types.UID) (Data, error)
	// IsKnown reports whether the autoscaler is in the caches.
	IsKnown func(key observe.Key, uid types.UID) bool
	// Filled is closed when the caches are filled; nil if they are from the start. Checkpoints that are read earlier count
	// as those of unknown autoscalers.
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
	// wake has an element after an entry became the first one due.
	wake chan struct{}

	// mu guards the following.
	mu sync.Mutex
	// isLoaded is set once all checkpoints were read.
	isLoaded bool
	// kept has the checkpoints that were read and not taken; unknownBytes is the size of those for unknown autoscalers.
	kept         map[observe.Key]kept
	unknownBytes int
	// entries has the autoscalers whose checkpoints are written, due those that are not being written.
	entries map[observe.Key]*entry
	due     timing.Queue[*entry]
}

// kept is a checkpoint that no autoscaler has taken yet.
type kept struct {
	saved   Saved
	uid     types.UID
	version string
	// unknown is its share of unknownBytes.
	unknown int
}

// entry is an autoscaler whose checkpoint is written. The goroutine that took it out of the queue owns it, except
// isGone, which the Keeper's lock guards.
type entry struct {
	key observe.Key
	uid types.UID
	// version is the resource version of the checkpoint; empty if none is known.
	version string
	// saved is when it was last written, by this process or an earlier one; the zero time if never.
	saved time.Time
	due   time.Time
	place int
	// isWriting is set while the entry is not in the queue, isGone once it must not return there.
	isWriting, isGone bool
}

// Before implements timing.Item.
func (e *entry) Before(other *entry) bool { return e.due.Before(other.due) }

// Place implements timing.Item.
func (e *entry) Place() *int { return &e.place }

// next returns when it is written next after now: at its own offset in each period.
func (e *entry) next(now time.Time) time.Time {
	return timing.Next(now, timing.Phase(string(e.uid), savePeriod), savePeriod)
}

// New returns a Keeper that has read nothing. It starts nothing.
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

// Take returns the checkpoint of an autoscaler. If isFinal is false, it may be read later, and the caller asks again; a
// call takes little time. Until then the Keeper does not write the autoscaler's checkpoint, as that would replace the
// one that it has not read.
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

// trackLocked schedules the writes of an autoscaler's checkpoint.
func (k *Keeper) trackLocked(e *entry) {
	k.forgetLocked(e.key)
	e.due = e.next(time.Now())
	k.entries[e.key] = e
	k.pushLocked(e)
}

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

// Forget drops a deleted autoscaler. The API server deletes its checkpoint.
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

// Start reads and writes until ctx ends. finish waits for that, and writes the unsaved checkpoints if the process still
// leads. The caller calls it once no autoscaler is being decided.
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

// awaitCaches waits until the caches are filled, or for fillTimeout; false if ctx ended.
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
