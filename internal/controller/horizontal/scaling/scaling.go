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

// ErrSuperseded is returned if the HPA changed while a decision was made.
var ErrSuperseded = errors.New("the object changed meanwhile")

// Clients read and write scales.
type Clients struct {
	Scales scaleclient.ScalesGetter
	// ScaleWrites writes scales; Scales if it is nil. It has no limiter of its own. Before each write the Scaler resolves
	// the kind of the scale with ScaleKinds, and waits for WriteLimiter before it checks the decision once more; both may
	// be nil.
	ScaleWrites  scaleclient.ScalesGetter
	ScaleKinds   scaleclient.ScaleKindResolver
	WriteLimiter flowcontrol.RateLimiter
	Mapper       meta.RESTMapper
}

// Config configures a Scaler.
type Config struct {
	Clients
	// Targets caches the targets that informers have.
	Targets *targets.Cache
	// FieldManager is this installation's name in managedFields.
	FieldManager string
	Workers      calls.Workers
	// Reads and Writes bound the calls.
	Reads, Writes *calls.Slots
	// Apps reads the managedFields of targets, to find the other writer.
	Apps appsv1.AppsV1Interface
	// Unchanged returns an error if the HPA is no longer the one that is decided.
	Unchanged func(observehorizontal.Autoscaler) error
	// MayScale returns an error if the decision on it must not be carried out any more.
	MayScale func(observehorizontal.Autoscaler) error

	SyncPeriod time.Duration
	// Triggers is set if HPAs are decided between sync periods too.
	Triggers bool
}

// Scaler reads and writes the scales of all targets.
type Scaler struct {
	Config
	scales *scale.Client
}

// New returns a Scaler. It makes no call.
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

// TargetOf returns the target of the HPA; false if the reference cannot name any object.
func TargetOf(autoscaler observehorizontal.Autoscaler) (targets.ID, bool) {
	kind, err := scale.KindOf(autoscaler.Target())
	if err != nil {
		return targets.ID{}, false
	}
	return targets.IDOf(kind, autoscaler.Namespace, autoscaler.Target().Name), true
}

// Record has the state of a target's scale between decisions. The HPA's worker owns it, except changes, which has its
// own lock.
type Record struct {
	cached  cachedScale
	derived derived
	writing writing
	changes changes
}

// changes records changes of the target since its scale was read or written.
type changes struct {
	// mu guards the following.
	mu sync.Mutex
	// pods is set after pods of the target have changed since its scale was read.
	pods bool
	// written is the last written replica count; nil once another writer has set another.
	written *int32
}

// Begin drops the state of a deleted HPA of the same name.
func (r *Record) Begin() { r.cached, r.writing, r.derived = cachedScale{}, writing{}, derived{} }

// PodsChanged records that pods of the target have changed.
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

// cachedScale is the API server's last response for the scale of a target that no informer has, or its error.
type cachedScale struct {
	ref    autoscalingv2.CrossVersionObjectReference
	target scale.Target
	err    error
	at     time.Time
	// backoff delays reads after a failure.
	backoff calls.Backoff
}

// derived caches the translation of a scale.
type derived struct {
	scale    *autoscalingv1.Scale
	byOwner  bool
	target   horizontal.Target
	selector *podindex.Selector
}

// writing is the state of scale writes.
type writing struct {
	// since is when the HPA started to wait for a slot; zero if it does not wait.
	since   time.Time
	backoff calls.Backoff
	// hasToken is set if the limiter admitted a call that was not made, because the decision was outdated by then. The
	// next call need not wait.
	hasToken bool
	// otherWriter is the field manager that ReadOtherWriter last found.
	otherWriter string
	// overtaken counts decisions in a row that another writer's scaling overtook.
	overtaken int
}
