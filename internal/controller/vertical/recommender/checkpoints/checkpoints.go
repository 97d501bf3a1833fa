// Package checkpoints reads all VerticalPodAutoscalerCheckpoints when the recommender starts, writes the changed ones,
// spread over time, and deletes those that no container needs.
package checkpoints

import (
	"context"
	"hash/fnv"
	"iter"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
)

const (
	// savePeriod is the longest time between two writes of a container's checkpoint while its history changes. It bounds
	// the loss if the process is killed.
	savePeriod = 15 * time.Minute
	// shortestPeriod is that time, after the second write, where few checkpoints are due: up to fewPerPass are written in
	// each pass. Ten is upstream's --min-checkpoints.
	shortestPeriod = 3 * time.Minute
	fewPerPass     = 10
	// maxFirst is the number of containers whose first checkpoints are written in one pass; the others follow in the next
	// passes.
	maxFirst = 1000
)

// Client reads and writes VerticalPodAutoscalerCheckpoints.
type Client interface {
	EachCheckpoint(ctx context.Context, namespace string, visit func(*vpav1.VerticalPodAutoscalerCheckpoint)) error
	WriteCheckpoint(ctx context.Context, checkpoint *vpav1.VerticalPodAutoscalerCheckpoint) error
	DeleteCheckpoint(ctx context.Context, namespace, name string) error
}

var _ Client = (*vpa.Client)(nil)

// Autoscaler is a VerticalPodAutoscaler that this recommender decides.
type Autoscaler struct {
	Name  types.NamespacedName
	State *recommend.State
	// LookupFailed is set if the last lookup of its workload failed.
	LookupFailed bool
}

// has reports whether the state has a history of the container.
func (a *Autoscaler) has(container string) bool {
	return slices.ContainsFunc(a.State.Containers, func(c recommend.Container) bool { return c.Name == container })
}

// Autoscalers has the VerticalPodAutoscalers that this recommender decides. They do not change while a checkpoint is
// written.
type Autoscalers interface {
	Autoscaler(name types.NamespacedName) (a Autoscaler, exists bool)
	All() iter.Seq[Autoscaler]
}

// Config configures a Store.
type Config struct {
	Client Client
	// VPAs is the cache of all VerticalPodAutoscalers, those of other recommenders too.
	VPAs cache.Store
	// Autoscalers are this recommender's.
	Autoscalers Autoscalers
	// Namespace restricts the checkpoints to one namespace; empty means all.
	Namespace string
	// IsIgnored reports whether the recommender ignores a namespace.
	IsIgnored func(namespace string) bool
	// Policy is that of the flags.
	Policy *recommend.Policy
	// CollectInterval is the time between two deletions of checkpoints that no container needs.
	CollectInterval time.Duration
	// FlushTimeout bounds Flush.
	FlushTimeout time.Duration
	// Workers is the number of concurrent writes.
	Workers int
	Log     logr.Logger
}

// Store reads, writes and deletes checkpoints. It must be used by one goroutine at a time.
type Store struct {
	Config

	// unclaimed has the checkpoints whose VerticalPodAutoscalers have not appeared yet.
	unclaimed map[types.NamespacedName][]stored
	// due is when the checkpoint of each container may be written again, by VerticalPodAutoscaler.
	due map[types.NamespacedName]map[string]time.Time
	// collected is when checkpoints were last deleted.
	collected time.Time
}

// stored is a checkpoint that was read.
type stored struct {
	container string
	saved     usage.Checkpoint
	// at is when it was written.
	at time.Time
	// damage is the error if it cannot be used.
	damage string
}

// NewStore returns a Store that has read nothing.
func NewStore(c Config) *Store {
	return &Store{Config: c, due: map[types.NamespacedName]map[string]time.Time{}}
}

// maySave reports whether the history of an object is complete enough to save: without keep-history, as with upstream,
// it is dropped while the target cannot be looked up.
func (s *Store) maySave(a *Autoscaler) bool {
	return !a.LookupFailed || s.Policy.Has(divergence.KeepHistory)
}

// spread returns the offset in the period at which a container's checkpoint is written, so that all are not written at
// once.
func spread(name types.NamespacedName, container string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name.String() + "/" + container)) // it never fails
	return savePeriod * time.Duration(h.Sum32()%1000) / 1000
}
