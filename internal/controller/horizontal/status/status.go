// Package status writes an HPA's status and records its events, each only when it matters.
package status

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/record"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/calls"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/monitor"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/takeover"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/workloads"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/trigger"
	kubestatus "github.com/plimsoll-dev/plimsoll/internal/kube/status"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// KindOf returns the kind of the object, by which slots are limited: a webhook about one kind may be slow, and must not
// take the other's slots.
func KindOf(autoscaler observehorizontal.Autoscaler) schema.GroupKind {
	if autoscaler.IsWorkload() {
		return schema.GroupKind{Group: plimsollv1alpha1.SchemeGroupVersion.Group, Kind: "WorkloadAutoscaler"}
	}
	return schema.GroupKind{Group: autoscalingv2.GroupName, Kind: "HorizontalPodAutoscaler"}
}

// Config configures a Writer.
type Config struct {
	Workers calls.Workers
	// Reads and Writes bound the calls.
	Reads, Writes *calls.Slots
	Events        record.EventRecorder
	Series        *monitor.Series
	Log           logr.Logger

	SyncPeriod time.Duration
	// Triggers is set if HPAs are decided between sync periods too.
	Triggers bool
	// StatusInterval is the time for which changed numbers alone do not cause a status write; with 0 each change does.
	StatusInterval time.Duration
	// EventInterval is the time for which a warning is not repeated; with 0 it is repeated each time.
	EventInterval time.Duration
	// WorkloadAutoscalers may be nil.
	WorkloadAutoscalers *workloads.Cache
	// FieldManager is this installation's name in managedFields.
	FieldManager string
}

// Writer writes the statuses of all HPAs.
type Writer struct {
	Config
	hpas *kubestatus.HPAWriter
	// workloads is nil if the loop has no WorkloadAutoscalers.
	workloads *kubestatus.WorkloadWriter
	// numbers limits the writes of statuses for their numbers alone.
	numbers *rate.Limiter

	// mu guards the following.
	mu sync.Mutex
	// wentBack is when resource versions were last found to have gone back.
	wentBack time.Time
}

// Record has the state of an HPA's status and events. The HPA's worker owns it, except lag, which has its own lock.
type Record struct {
	last last
	lag  lag
}

// last is the last written status and the recorded events.
type last struct {
	// version is the resource version after the last status write, written the time of it.
	version string
	written time.Time
	// due is when an urgent status was first deferred; zero if none is.
	due time.Time
	// turned is when a condition in status last changed.
	turned time.Time
	turns  turns
	// backoff delays status writes after a failure.
	backoff calls.Backoff
	// events is when each warning was last recorded.
	events map[observehorizontal.Event]time.Time
}

// Update is a decision to report.
type Update struct {
	Autoscaler observehorizontal.Autoscaler
	Record     *Record
	Contest    *takeover.Contest
	Policy     *horizontal.Policy
	Decision   *horizontal.Decision
	// Next describes when and why to decide again; set for WorkloadAutoscalers only.
	Next   horizontal.FollowUp
	Report statusreport.Report
	// Start is when the decision began to observe.
	Start time.Time
	// IsRepeatedSoon is set if the next samples of kubelets trigger another decision.
	IsRepeatedSoon bool
}

// Written records the resource version after a status write.
func (r *Record) Written(version string) { r.last.version, r.last.written = version, time.Now() }

// lag is the delay of the cache behind an HPA's last status write. Meanwhile the HPA is not decided: its cached state
// is from before the write.
type lag struct {
	// mu guards the following.
	mu sync.Mutex
	// isAwaited is set while a decision waits for the cache to contain the last write, awaited is that decision's cause. A
	// full decision covers one on samples, which covers one on an event.
	isAwaited bool
	awaited   trigger.Kind
	// since is when the cache fell behind; zero if it is not.
	since time.Time
	// asked is when the API server was last called about it.
	asked time.Time
	// isCounted is set while the series of stale HPAs counts this one.
	isCounted bool
}

func nameOf(autoscaler observehorizontal.Autoscaler) string {
	return autoscaler.Namespace + "/" + autoscaler.Name
}
