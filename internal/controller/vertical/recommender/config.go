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

// DefaultName is that of the recommender of objects that name none.
const DefaultName = "default"

// Targets finds the workload that an object means.
type Targets interface {
	TargetOf(namespace string, ref *autoscalingv1.CrossVersionObjectReference) (ownership.Target, error)
	// Await waits until what has to be asked for was, but not for long.
	Await(ctx context.Context, references iter.Seq2[string, *autoscalingv1.CrossVersionObjectReference])
	HasSynced() bool
}

var _ Targets = (*ownership.Tree)(nil)

// Store is the API server's part of status and checkpoints.
type Store interface {
	StatusClient
	checkpoints.Client
}

// Conflicts finds what horizontal autoscalers of an object's workload control, of a
// workload with these containers.
type Conflicts = func(object *vpav1.VerticalPodAutoscaler, containers []string) []conflict.Conflict

// Config is all that the recommender needs. The informers are shared with others,
// and started by them.
type Config struct {
	Objects cache.SharedIndexInformer
	Pods    *podcache.Whole
	// Evictions has events of the reason Evicted; it may be nil.
	Evictions cache.SharedIndexInformer
	Targets   Targets
	Store     Store
	// Sources are where use is measured.
	sampling.Sources
	// Conflicts says what horizontal autoscalers of the same workload control. It may
	// be nil.
	Conflicts      Conflicts
	SkipsConflicts bool
	// History is where the past comes from; nil for checkpoints. With it there are no
	// checkpoints, as upstream.
	History    HistorySource
	Events     record.EventRecorder
	Registerer prometheus.Registerer
	Log        logr.Logger

	// Name is the recommender's.
	Name string
	// Namespace is the only one that is looked at, all if it is empty; Ignored are not.
	Namespace string
	Ignored   []string
	// Interval is how often statuses are decided, CollectInterval how often orphaned checkpoints are deleted.
	Interval, CollectInterval time.Duration
	// FlushTimeout bounds the writing of checkpoints at the end.
	FlushTimeout time.Duration
	// Workers is how many statuses and checkpoints are written at a time.
	Workers int
	// NoOverrides ignores what objects say about aggregation and running out of
	// memory, as upstream does unless the feature gate PerVPAConfig is on.
	NoOverrides bool
	// IntegerCPU lets objects ask for whole CPUs.
	IntegerCPU bool
	// Policy is the flags that take part in a decision.
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

// objects are those that this recommender is responsible for.
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
