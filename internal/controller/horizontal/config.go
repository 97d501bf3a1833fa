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

// HPAMode says how the controller treats HorizontalPodAutoscalers.
type HPAMode = takeover.Mode

// DefaultTakeoverDelay is the time without a status write by another controller after which this one acts on an HPA.
const DefaultTakeoverDelay = takeover.DefaultDelay

// callsPerWorker bounds the concurrent reads or writes of objects of one kind. Such a call waits for the API server and
// takes next to no time here.
const callsPerWorker = 10

// Config has the clients and settings of the controller. Tests inject clients with virtual time.
type Config struct {
	Client kubernetes.Interface
	// Informers, Pods and Targets are started by Run, if they have not been.
	Informers informers.SharedInformerFactory
	Pods      *podcache.Cache
	Targets   *targets.Cache
	scaling.Clients
	// WorkloadAutoscalers may be nil: the controller ignores them then.
	WorkloadAutoscalers *workloads.Cache
	// HPAs says how the controller treats HorizontalPodAutoscalers. In every mode an HPA prevents a WorkloadAutoscaler
	// with the same target from acting.
	HPAs HPAMode
	// TakeoverDelay is the time without a status write by another controller after which this one acts on an HPA;
	// DefaultTakeoverDelay if it is 0.
	TakeoverDelay time.Duration
	// Metrics reads the metrics APIs.
	Metrics readings.MetricsAPIs
	// Direct reads the samples of kubelets. Without it, or where it lacks samples, the controller requests resource
	// metrics from Metrics too. It may be nil.
	Direct readings.Direct
	// Own has the sources of the metrics that Plimsoll reads itself. A nil source is switched off.
	Own readings.Sources
	// Conflict describes how a vertical autoscaler conflicts with an HPA's Utilization targets; it is empty if none does.
	// Every decision calls it, from several goroutines, so it only reads caches. It may be nil.
	Conflict func(observehorizontal.Autoscaler) string
	// Checkpoints store histories and forecasts, so that they survive a restart; it may be nil. MayWriteAtEnd reports,
	// when the context of Run has ended, whether the process leads until Run returns.
	Checkpoints   checkpoints.Client
	MayWriteAtEnd func() bool
	// Past reads the load from before this process first decided an object; it may be nil.
	Past Past

	Events     record.EventRecorder
	Registerer prometheus.Registerer
	Log        logr.Logger

	// SyncPeriod is the longest time between two decisions on an HPA.
	SyncPeriod time.Duration
	// Triggers makes new samples, changed pods and changed replica counts trigger decisions between sync periods.
	Triggers bool
	// SampleInterval is the shortest time between two samples of a pod. Samples alone trigger one decision on an object in
	// it, and one a second at most unless the object is near a scale-up.
	SampleInterval time.Duration
	// Workers is the number of HPAs that are decided at once. An HPA that waits for a metrics API, for its target's scale
	// or for a write does not count.
	Workers int
	// StatusInterval is the time for which changed numbers alone do not cause a status write; with 0 each change does.
	StatusInterval time.Duration
	// EventInterval is the time for which a warning is not repeated; with 0 it is repeated each time.
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
