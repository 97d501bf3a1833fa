package horizontal

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	scaleclient "k8s.io/client-go/scale"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/plimsoll-dev/plimsoll/internal/collect/query"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// FieldManager is Plimsoll's name in managedFields.
const FieldManager = takeover.FieldManager

// callsPerWorker bounds what is read or written at once of objects of one kind. Such a
// call waits for the API server and takes next to no time here.
const callsPerWorker = 10

// Config is all that the controller needs. Times and clients are injected, so
// that virtual time can drive it.
type Config struct {
	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory
	Scales    scaleclient.ScalesGetter
	// ScaleWrites writes scales, Scales if it is nil; it has no limiter of its own. Before
	// each write, and before the decision is checked once more, WriteLimiter is waited for,
	// and ScaleKinds is asked how the scale is written; both may be nil.
	ScaleWrites  scaleclient.ScalesGetter
	ScaleKinds   scaleclient.ScaleKindResolver
	WriteLimiter flowcontrol.RateLimiter
	Mapper       meta.RESTMapper
	// Metrics answers for the metrics APIs.
	Metrics query.Source
	// Direct has the kubelets' samples; without it, or where they are not enough, Metrics is
	// asked for resource metrics too. It may be nil.
	Direct readings.Direct
	// Conflict says how a vertical autoscaler is in the way of an HPA's
	// Utilization targets; empty when none is. It is asked at each decision, from
	// several goroutines, and answers from caches. It may be nil.
	Conflict func(*autoscalingv2.HorizontalPodAutoscaler) string
	// Events may be nil in shadow mode, where none are recorded.
	Events     record.EventRecorder
	Registerer prometheus.Registerer
	Log        logr.Logger

	// SyncPeriod is how often each HPA is decided, at least.
	SyncPeriod time.Duration
	// Triggers lets new samples, pods and replica counts lead to decisions between.
	Triggers bool
	// Workers is how many HPAs are decided at once. One that waits for a metrics
	// API, for its target's scale or for a write does not count.
	Workers int
	// StatusInterval is how long numbers alone are no reason to write status; 0
	// writes each change.
	StatusInterval time.Duration
	// EventInterval is how long a warning is not repeated; 0 repeats each.
	EventInterval time.Duration
	// Options are the flags that take part in a decision.
	Options observehorizontal.Options
	// FieldManager is this installation's name in managedFields; FieldManager if it is empty.
	FieldManager string
	// Shadow decides and writes nothing.
	Shadow bool
}

func (c *Config) validate() error {
	switch {
	case c.Client == nil, c.Informers == nil, c.Scales == nil, c.Mapper == nil, c.Metrics == nil, c.Registerer == nil:
		return errors.New("a client, informers, scales, a mapper, metrics and a registerer are needed")
	case c.Events == nil && !c.Shadow:
		return errors.New("an event recorder is needed")
	case c.SyncPeriod <= 0:
		return fmt.Errorf("the sync period must be positive, but is %s", c.SyncPeriod)
	case c.Workers < 1:
		return fmt.Errorf("at least one worker is needed, but there are %d", c.Workers)
	}
	return nil
}
