// Package scaling reads and writes the scale of an HPA's target.
package scaling

import (
	"errors"
	"sync"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	appsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	scaleclient "k8s.io/client-go/scale"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/calls"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podindex"
	"github.com/plimsoll-dev/plimsoll/internal/kube/scale"
	"github.com/plimsoll-dev/plimsoll/internal/kube/targets"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// ErrSuperseded says that the HPA changed while a decision was made.
var ErrSuperseded = errors.New("the object changed meanwhile")

// Clients read and write scales.
type Clients struct {
	Scales scaleclient.ScalesGetter
	// ScaleWrites writes scales, Scales if it is nil; it has no limiter of its own. Before
	// each write, and before the decision is checked once more, WriteLimiter is waited for,
	// and ScaleKinds is asked how the scale is written; both may be nil.
	ScaleWrites  scaleclient.ScalesGetter
	ScaleKinds   scaleclient.ScaleKindResolver
	WriteLimiter flowcontrol.RateLimiter
	Mapper       meta.RESTMapper
}

// Config is what a Scaler needs.
type Config struct {
	Clients
	// Targets are those that informers have.
	Targets *targets.Cache
	// FieldManager is this installation's name in managedFields.
	FieldManager string
	Workers      calls.Workers
	// Reads and Writes bound the calls.
	Reads, Writes *calls.Slots
	// Apps has the targets whose other writers are looked for.
	Apps appsv1.AppsV1Interface
	// Unchanged is an error if the HPA is no longer the one that is decided.
	Unchanged func(observehorizontal.Autoscaler) error
	// MayScale is an error if the decision on it must not be carried out any more.
	MayScale func(observehorizontal.Autoscaler) error

	SyncPeriod time.Duration
	// Triggers says that HPAs are decided between sync periods too.
	Triggers bool
}

// Scaler reads and writes the scales of all targets.
type Scaler struct {
	Config
	scales *scale.Client
}

// New calls nothing yet.
func New(cfg *Config) (*Scaler, error) {
	scales, err := scale.New(scale.Config{
		Scales: cfg.Scales, Writes: cfg.ScaleWrites, Kinds: cfg.ScaleKinds, Mapper: cfg.Mapper, Known: cfg.Targets,
		FieldManager: cfg.FieldManager,
	})
	if err != nil {
		return nil, err
	}
	return &Scaler{Config: *cfg, scales: scales}, nil
}

// TargetOf names what the HPA scales; false if the reference can name nothing.
func TargetOf(autoscaler observehorizontal.Autoscaler) (targets.ID, bool) {
	kind, err := scale.KindOf(autoscaler.Target())
	if err != nil {
		return targets.ID{}, false
	}
	return targets.IDOf(kind, autoscaler.Namespace, autoscaler.Target().Name), true
}

// Record is what is known of the scale of an HPA's target from one decision to the next. The
// worker that has the HPA owns it, apart from changes, which have a lock of their own.
type Record struct {
	cached  cachedScale
	derived derived
	writing writing
	changes changes
}

// changes are what is known of changes to the target since its scale was read or written.
type changes struct {
	// mu guards what follows.
	mu sync.Mutex
	// pods says that pods of the target have changed since its scale was read.
	pods bool
	// written is the replica count that was last written, if no other writer has set another
	// since.
	written *int32
}

// Begin forgets what is known of another HPA of the same name.
func (r *Record) Begin() { r.cached, r.writing, r.derived = cachedScale{}, writing{}, derived{} }

// PodsChanged notes that pods of the target have changed.
func (r *Record) PodsChanged() { r.changes.setPods(true) }

// ReplicasChanged reports whether another writer has set this replica count.
func (r *Record) ReplicasChanged(replicas int32) (byAnother bool) {
	c := &r.changes
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.written != nil && *c.written == replicas {
		return false
	}
	c.written = nil
	return true
}

func (c *changes) setPods(changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods = changed
}

func (c *changes) havePods() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pods
}

func (c *changes) write(replicas *int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written = replicas
}

// cachedScale is the last answer of the API server for the scale of a target that no informer
// has, or why there is none.
type cachedScale struct {
	ref    autoscalingv2.CrossVersionObjectReference
	target scale.Target
	err    error
	at     time.Time
	// backoff is between readings that fail.
	backoff calls.Backoff
}

// derived is what was made of a scale, for as long as it is the same.
type derived struct {
	scale    *autoscalingv1.Scale
	byOwner  bool
	target   horizontal.Target
	selector *podindex.Selector
}

// writing is what is remembered of scale writes.
type writing struct {
	// since is since when the HPA waits for a slot; zero if it does not.
	since   time.Time
	backoff calls.Backoff
	// hasToken says that the limiter has let a call pass that was not made: the decision was
	// outdated then. The next one need not wait.
	hasToken bool
	// otherWriter is the field manager of the last other writer of the count that was looked for.
	otherWriter string
	// overtaken counts decisions in a row that another writer's scaling overtook.
	overtaken int
}
