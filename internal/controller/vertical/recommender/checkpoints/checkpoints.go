// Package checkpoints has the life of VerticalPodAutoscalerCheckpoints: it reads them all when the recommender starts,
// writes those that have something new, each at its own time, and deletes those that no container needs.
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
	// savePeriod is how often a container's checkpoint is written while there is
	// something new in it: as much is lost if the process is killed.
	savePeriod = 15 * time.Minute
	// maxFirst is how many containers' first checkpoints are written in one pass; the
	// others are in the next ones.
	maxFirst = 1000
)

// Client is the API server's part.
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
	// LookupFailed: its workload was not found the last time.
	LookupFailed bool
}

// has reports whether there is a history of the container.
func (a *Autoscaler) has(container string) bool {
	return slices.ContainsFunc(a.State.Containers, func(c recommend.Container) bool { return c.Name == container })
}

// Autoscalers are the VerticalPodAutoscalers that this recommender decides. They do not change while a checkpoint is
// written.
type Autoscalers interface {
	Autoscaler(name types.NamespacedName) (a Autoscaler, exists bool)
	All() iter.Seq[Autoscaler]
}

// Config is what a Store is made of.
type Config struct {
	Client Client
	// VPAs is the cache of all VerticalPodAutoscalers, those of other recommenders too.
	VPAs cache.Store
	// Autoscalers are this recommender's.
	Autoscalers Autoscalers
	// Namespace is the only one whose checkpoints are read, all if it is empty.
	Namespace string
	// IsIgnored reports a namespace whose checkpoints are left alone.
	IsIgnored func(namespace string) bool
	// Policy is what the flags say.
	Policy *recommend.Policy
	// CollectInterval is how often checkpoints that no container needs are deleted.
	CollectInterval time.Duration
	// FlushTimeout bounds Flush.
	FlushTimeout time.Duration
	// Workers is how many checkpoints are written at a time.
	Workers int
	Log     logr.Logger
}

// Store reads, writes and deletes checkpoints. One goroutine may use it at a time.
type Store struct {
	Config

	// unclaimed are checkpoints that were read and whose VerticalPodAutoscaler did not appear yet.
	unclaimed map[types.NamespacedName][]stored
	// due is when the checkpoints of VerticalPodAutoscalers may be written again, by container.
	due map[types.NamespacedName]map[string]time.Time
	// collected is when those that are not needed were last deleted.
	collected time.Time
}

// stored is a checkpoint that was read.
type stored struct {
	container string
	saved     usage.Checkpoint
	// at is when it was written.
	at time.Time
	// damage is why it cannot be used.
	damage string
}

// NewStore makes a Store that has read nothing.
func NewStore(c Config) *Store {
	return &Store{Config: c, due: map[types.NamespacedName]map[string]time.Time{}}
}

// maySave reports whether what is known of an object is what it was before: without
// keep-history, as with upstream, nothing is while its target cannot be looked up.
func (s *Store) maySave(a *Autoscaler) bool {
	return !a.LookupFailed || s.Policy.Has(divergence.KeepHistory)
}

// spread is when in the period a container's checkpoint is written: each has its
// own time.
func spread(name types.NamespacedName, container string) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name.String() + "/" + container)) // it never fails
	return savePeriod * time.Duration(h.Sum32()%1000) / 1000
}
