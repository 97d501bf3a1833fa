// Package ownership finds the topmost owner of a pod and the pods of a workload.
//
// The well-known kinds are read from informers. For other kinds the scale subresource is read, but only if a
// VerticalPodAutoscaler could name the owner of the pods. A lookup never calls the API: missing scales are read in the
// background, a few at a time of each kind. The results are cached and refreshed, errors sooner than others.
package ownership

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	scaleclient "k8s.io/client-go/scale"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/fairqueue"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

var (
	// ErrNotFound is returned if the object does not exist.
	ErrNotFound = errors.New("does not exist")
	// ErrUnsupported is returned for kinds without a scale: their pods cannot be found.
	ErrUnsupported = errors.New("not supported")
	// ErrUnknown is returned if the result is unknown now, but may be known later. Callers keep their state of the object.
	ErrUnknown = errors.New("currently unknown")
)

// errNotAsked is returned before the first request to the API server.
var errNotAsked = as(ErrUnknown, errors.New("still unknown"))

// failure is an error of one of these kinds, which adds nothing to its text: conditions repeat it.
type failure struct {
	error
	kind error
}

func as(kind, err error) error { return failure{kind: kind, error: err} }

func (f failure) Unwrap() []error { return []error{f.kind, f.error} }

// Owner names an object that owns others.
type Owner struct {
	// APIVersion may be of any version, or empty: as upstream, the well-known kinds are identified by their names.
	APIVersion, Kind, Namespace, Name string
	// UID is empty if it is unknown.
	UID types.UID
}

// String names the object as upstream does in messages.
func (o Owner) String() string { return fmt.Sprintf("%s %s/%s", o.Kind, o.Namespace, o.Name) }

// Config configures a Tree.
type Config struct {
	// Informers may have slim.Transform as their transform.
	Informers informers.SharedInformerFactory
	Scales    scaleclient.ScalesGetter
	Mapper    meta.RESTMapper
	// Autoscalers has the VerticalPodAutoscalers; New adds an index to it. Without it the scale of every owner is
	// requested.
	Autoscalers cache.SharedIndexInformer
	// Timeout bounds one call to the API server.
	Timeout time.Duration
}

// DefaultTimeout bounds one call to the API server.
const DefaultTimeout = 10 * time.Second

// Tree finds the owners of objects.
type Tree struct {
	informers   map[string]cache.SharedIndexInformer
	scales      scaleclient.ScalesGetter
	mapper      meta.RESTMapper
	autoscalers cache.SharedIndexInformer
	timeout     time.Duration
	// wake has an element when an object was queued; asking counts the running calls.
	wake   chan struct{}
	asking sync.WaitGroup

	// mu guards the following.
	mu sync.Mutex
	// asked has the results for scales, kinds the state of their kinds, whose queues are below calls.
	asked map[key]*answer
	kinds map[schema.GroupKind]*kindState
	calls *fairqueue.Queue[key]
	// answered is closed and replaced at each result.
	answered chan struct{}
}

// key names an object of a custom kind.
type key struct {
	kind            schema.GroupKind
	namespace, name string
}

// New gets the informers from the factory; it does not start them.
func New(cfg Config) (*Tree, error) {
	if cfg.Informers == nil || cfg.Scales == nil || cfg.Mapper == nil {
		return nil, errors.New("ownership: informers, a ScalesGetter and a RESTMapper are needed")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	apps, batch := cfg.Informers.Apps().V1(), cfg.Informers.Batch().V1()
	t := &Tree{
		informers: map[string]cache.SharedIndexInformer{
			"Deployment":            apps.Deployments().Informer(),
			"StatefulSet":           apps.StatefulSets().Informer(),
			"ReplicaSet":            apps.ReplicaSets().Informer(),
			"DaemonSet":             apps.DaemonSets().Informer(),
			"Job":                   batch.Jobs().Informer(),
			"CronJob":               batch.CronJobs().Informer(),
			"ReplicationController": cfg.Informers.Core().V1().ReplicationControllers().Informer(),
		},
		scales: cfg.Scales, mapper: cfg.Mapper, autoscalers: cfg.Autoscalers, timeout: cfg.Timeout,
		wake: make(chan struct{}, 1), asked: map[key]*answer{}, kinds: map[schema.GroupKind]*kindState{},
		calls: fairqueue.New[key](nil, maxCalls), answered: make(chan struct{}),
	}
	if cfg.Autoscalers != nil {
		if err := cfg.Autoscalers.AddIndexers(cache.Indexers{byTarget: t.targetKeys}); err != nil {
			return nil, fmt.Errorf("ownership: indexing: %w", err)
		}
	}
	return t, nil
}

// HasSynced reports whether every cache is filled.
func (t *Tree) HasSynced() bool {
	for _, informer := range t.informers {
		if !informer.HasSynced() {
			return false
		}
	}
	return true
}

// informer returns that of a well-known kind.
func (t *Tree) informer(o Owner) (cache.SharedIndexInformer, bool) {
	informer, isKnown := t.informers[o.Kind]
	return informer, isKnown && observe.GroupKey(o.APIVersion) == ""
}

// object reads a well-known object from its cache.
func (t *Tree) object(o Owner, informer cache.SharedIndexInformer) (metav1.Object, error) {
	if !informer.HasSynced() {
		return nil, fmt.Errorf("%s: %w", o, ErrUnknown)
	}
	found, exists, err := informer.GetStore().GetByKey(o.Namespace + "/" + o.Name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", o, ErrUnknown, err)
	}
	if !exists {
		return nil, fmt.Errorf("%s %w", o, ErrNotFound)
	}
	object, ok := found.(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("%s: %w: %T", o, ErrUnsupported, found)
	}
	return object, nil
}

// TopmostKnown returns the topmost owner of an object that is well known or has a scale; false if there is none. Object
// is usually a pod. It makes no call: before Run has requested a scale, it returns ErrUnknown.
func (t *Tree) TopmostKnown(object metav1.Object) (Owner, bool, error) {
	return t.climb(Owner{Namespace: object.GetNamespace()}, object.GetOwnerReferences())
}

// tallest is the maximum height of a chain of owners; a higher one is a circle.
const tallest = 16

// climb finds the topmost owner above an object.
func (t *Tree) climb(from Owner, references []metav1.OwnerReference) (top Owner, found bool, err error) {
	below := from
	for range tallest {
		next, owned := controllerOf(references, from.Namespace)
		if !owned {
			return top, found, nil
		}
		node, err := t.findOwner(next, below)
		switch {
		case err == nil:
			top, below, found = node.owner, node.owner, true
		case errors.Is(err, ErrUnsupported):
			// The owners above it are unknown, so the one below is the topmost.
			return top, found, nil
		default:
			return Owner{}, false, err
		}
		references = node.references
	}
	return Owner{}, false, fmt.Errorf("%w: owners of %s own each other", ErrUnsupported, top)
}

// node is an object with its owners.
type node struct {
	owner      Owner
	references []metav1.OwnerReference
}

// findOwner finds one owner of the object below.
func (t *Tree) findOwner(o, below Owner) (node, error) {
	if informer, isKnown := t.informer(o); isKnown {
		object, err := t.object(o, informer)
		if err != nil {
			return node{}, err
		}
		if o.UID != "" && object.GetUID() != o.UID {
			return node{}, fmt.Errorf("%s of UID %s %w", o, o.UID, ErrNotFound)
		}
		o.UID = object.GetUID()
		return node{owner: o, references: object.GetOwnerReferences()}, nil
	}
	k, err := keyOf(o)
	if err != nil {
		return node{}, err
	}
	if !t.isMeant(below) {
		return node{}, errNotMeant
	}
	a := t.known(k)
	if errors.Is(a.err, ErrNotFound) {
		return node{}, as(ErrUnsupported, a.err)
	}
	if a.err != nil {
		return node{}, a.err
	}
	o.UID = a.scale.UID
	return node{owner: o, references: a.scale.OwnerReferences}, nil
}

func keyOf(o Owner) (key, error) {
	version, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return key{}, as(ErrUnsupported, err)
	}
	if o.Kind == "Node" {
		// The owner of a static pod is its node. There may be very many nodes, and none has a scale.
		return key{}, as(ErrUnsupported, errors.New("node is not a valid owner"))
	}
	return key{kind: schema.GroupKind{Group: version.Group, Kind: o.Kind}, namespace: o.Namespace, name: o.Name}, nil
}

func controllerOf(references []metav1.OwnerReference, namespace string) (Owner, bool) {
	for i := range references {
		if r := &references[i]; r.Controller != nil && *r.Controller {
			return Owner{APIVersion: r.APIVersion, Kind: r.Kind, Namespace: namespace, Name: r.Name, UID: r.UID}, true
		}
	}
	return Owner{}, false
}
