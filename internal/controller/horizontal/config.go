package horizontal

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/checkpoints"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/scaling"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/kube/podcache"
	"github.com/plimsoll-dev/plimsoll/internal/kube/targets"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// FieldManager is Plimsoll's name in managedFields.
const FieldManager = takeover.FieldManager

// HPAMode is what becomes of HorizontalPodAutoscalers.
type HPAMode = takeover.Mode

// DefaultTakeoverDelay is how long another controller must have written no status of an HPA before this
// one acts on it.
const DefaultTakeoverDelay = takeover.DefaultDelay

// callsPerWorker bounds what is read or written at once of objects of one kind. Such a
// call waits for the API server and takes next to no time here.
const callsPerWorker = 10

// Config is all that the controller needs. Times and clients are injected, so
// that virtual time can drive it.
type Config struct {
	Client kubernetes.Interface
	// Informers, Pods and Targets are started by Run, if they have not been.
	Informers informers.SharedInformerFactory
	Pods      *podcache.Cache
	Targets   *targets.Cache
	scaling.Clients
	// WorkloadAutoscalers may be nil: they are left alone then.
	WorkloadAutoscalers *workloads.Cache
	// HPAs is what becomes of HorizontalPodAutoscalers. In every mode one that scales the target
	// of a WorkloadAutoscaler keeps that from acting.
	HPAs HPAMode
	// TakeoverDelay is how long another controller must have written no status of an HPA before
	// this one acts on it; DefaultTakeoverDelay if it is 0.
	TakeoverDelay time.Duration
	// Metrics answers for the metrics APIs.
	Metrics readings.MetricsAPIs
	// Direct has the kubelets' samples; without it, or where they are not enough, Metrics is
	// asked for resource metrics too. It may be nil.
	Direct readings.Direct
	// Own are the sources of the metrics that Plimsoll reads itself. One that is nil is switched off.
	Own readings.Sources
	// Conflict describes how a vertical autoscaler conflicts with an HPA's Utilization targets; it is
	// empty if none does. Every decision calls it, from several goroutines, so it reads caches alone.
	// It may be nil.
	Conflict func(observehorizontal.Autoscaler) string
	// Checkpoints keep what was learnt over restarts; it may be nil. MayWriteAtEnd reports, when the context of Run has
	// ended, whether the process leads until Run returns.
	Checkpoints   checkpoints.Client
	MayWriteAtEnd func() bool
	// Past has what was before an object was decided here; it may be nil.
	Past Past

	Events     record.EventRecorder
	Registerer prometheus.Registerer
	Log        logr.Logger

	// SyncPeriod is how often each HPA is decided, at least.
	SyncPeriod time.Duration
	// Triggers lets new samples, pods and replica counts lead to decisions between.
	Triggers bool
	// SampleInterval is how often there can be new samples of a pod. Samples alone have an object
	// decided once in it, and once a second at most unless it is near a scale-up.
	SampleInterval time.Duration
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
}

func (c *Config) validate() error {
	switch {
	case c.Client == nil, c.Informers == nil, c.Pods == nil, c.Targets == nil, c.Scales == nil, c.Mapper == nil,
		c.Metrics == nil, c.Registerer == nil:
		return errors.New("a client, informers, scales, a mapper, metrics and a registerer are needed")
	case c.Events == nil:
		return errors.New("an event recorder is needed")
	case c.TakeoverDelay < 0:
		return fmt.Errorf("the delay of a takeover must not be negative, but is %s", c.TakeoverDelay)
	case c.SyncPeriod <= 0:
		return fmt.Errorf("the sync period must be positive, but is %s", c.SyncPeriod)
	case c.Workers < 1:
		return fmt.Errorf("at least one worker is needed, but there are %d", c.Workers)
	}
	return nil
}
