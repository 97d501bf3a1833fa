package recommender

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/controller/vertical/recommender/sampling"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/kube/ownership"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
)

// DefaultName is the name of the recommender for objects that name none.
const DefaultName = "default"

// Targets looks up the workload of an object.
type Targets interface {
	TargetOf(namespace string, ref *autoscalingv1.CrossVersionObjectReference) (ownership.Target, error)
	// Await waits a short time until the API server has responded about these references.
	Await(ctx context.Context, references iter.Seq2[string, *autoscalingv1.CrossVersionObjectReference])
	HasSynced() bool
}

var _ Targets = (*ownership.Tree)(nil)

// Store reads and writes statuses and checkpoints.
type Store interface {
	StatusClient
	checkpoints.Client
}

// Conflicts returns the conflicts of an object with horizontal autoscalers, for a workload with these containers.
type Conflicts = func(object *vpav1.VerticalPodAutoscaler, containers []string) []conflict.Conflict

// Config has the clients and settings of the recommender. The informers are shared, and others start them.
type Config struct {
	Objects cache.SharedIndexInformer
	Pods    *podcache.Whole
	// Evictions has the events with the reason Evicted; it may be nil.
	Evictions cache.SharedIndexInformer
	Targets   Targets
	Store     Store
	// Sources measure the use of containers.
	sampling.Sources
	// Conflicts may be nil.
	Conflicts      Conflicts
	SkipsConflicts bool
	// History has the use of containers before the start; nil to read it from checkpoints. With it there are no
	// checkpoints, as upstream.
	History    HistorySource
	Events     record.EventRecorder
	Registerer prometheus.Registerer
	Log        logr.Logger

	// Name is the recommender's.
	Name string
	// Namespace restricts the objects to one namespace; empty means all. Those in Ignored are excluded.
	Namespace string
	Ignored   []string
	// Interval is the time between two decisions on an object, CollectInterval that between two deletions of orphaned
	// checkpoints.
	Interval, CollectInterval time.Duration
	// FlushTimeout bounds the writing of checkpoints at the end.
	FlushTimeout time.Duration
	// Workers is the number of concurrent writes of statuses and checkpoints.
	Workers int
	// NoOverrides ignores the settings of objects for aggregation and out-of-memory kills, as upstream does unless the
	// feature gate PerVPAConfig is on.
	NoOverrides bool
	// IntegerCPU permits objects to ask for whole CPUs.
	IntegerCPU bool
	// Policy has the flags that take part in a decision.
	Policy recommend.Policy
}

func (c *Config) validate() error {
	switch {
	case c.Objects == nil, c.Pods == nil, c.Targets == nil, c.Store == nil, c.Metrics == nil, c.Events == nil,
		c.Registerer == nil:
		return errors.New("recommender: informers, targets, a store, metrics, events and a registerer are needed")
	case c.Interval <= 0, c.CollectInterval <= 0, c.FlushTimeout <= 0:
		return errors.New("recommender: intervals and timeouts must be positive")
	case c.Workers < 1:
		return fmt.Errorf("recommender: at least one worker is needed, but there are %d", c.Workers)
	}
	return nil
}

// objects returns the objects that this recommender is responsible for.
func (c *Config) objects() []*vpav1.VerticalPodAutoscaler {
	var ours []*vpav1.VerticalPodAutoscaler
	for _, item := range c.Objects.GetStore().List() {
		if object, ok := item.(*vpav1.VerticalPodAutoscaler); ok && c.isOurs(object) {
			ours = append(ours, object)
		}
	}
	return ours
}

// isOurs reports whether this recommender is responsible for an object.
func (c *Config) isOurs(object *vpav1.VerticalPodAutoscaler) bool {
	if c.isIgnored(object.Namespace) {
		return false
	}
	if len(object.Spec.Recommenders) == 0 {
		return c.Name == DefaultName
	}
	return slices.ContainsFunc(object.Spec.Recommenders, func(s vpav1.VerticalPodAutoscalerRecommenderSelector) bool {
		return s.Name == c.Name
	})
}

func (c *Config) isIgnored(namespace string) bool {
	return c.Namespace != "" && namespace != c.Namespace || slices.Contains(c.Ignored, namespace)
}
