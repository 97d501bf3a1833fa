// Package status writes an HPA's status and records its events, each when it is worth a write.
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

// KindOf is what a status is of. Calls about one kind leave the other its slots: a webhook about one may be slow.
func KindOf(autoscaler observehorizontal.Autoscaler) schema.GroupKind {
	if autoscaler.IsWorkload() {
		return schema.GroupKind{Group: plimsollv1alpha1.SchemeGroupVersion.Group, Kind: "WorkloadAutoscaler"}
	}
	return schema.GroupKind{Group: autoscalingv2.GroupName, Kind: "HorizontalPodAutoscaler"}
}

// Config is what a Writer needs.
type Config struct {
	Workers calls.Workers
	// Reads and Writes bound the calls.
	Reads, Writes *calls.Slots
	Events        record.EventRecorder
	Series        *monitor.Series
	Log           logr.Logger

	SyncPeriod time.Duration
	// Triggers says that HPAs are decided between sync periods too.
	Triggers bool
	// StatusInterval is how long numbers alone are no reason to write status; 0 writes each
	// change.
	StatusInterval time.Duration
	// EventInterval is how long a warning is not repeated; 0 repeats each.
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
	// workloads is nil where there are no WorkloadAutoscalers.
	workloads *kubestatus.WorkloadWriter
	// numbers limits the writes of statuses for their numbers alone.
	numbers *rate.Limiter

	// mu guards what follows.
	mu sync.Mutex
	// wentBack is when resource versions were last found to have gone back.
	wentBack time.Time
}

// Record is what was last written and recorded of an HPA. The worker that has the HPA owns it,
// apart from lag, which has a lock of its own.
type Record struct {
	last last
	lag  lag
}

// last is what was last written and recorded.
type last struct {
	// version is the resource version of the last status write, written when that was.
	version string
	written time.Time
	// due is since when an urgent status has been deferred; zero if none is.
	due time.Time
	// turned is when a condition in status last changed.
	turned time.Time
	turns  turns
	// backoff is between status writes that fail.
	backoff calls.Backoff
	// events is when each warning was last recorded.
	events map[observehorizontal.Event]time.Time
}

// Update is a decision whose outcome is reported.
type Update struct {
	Autoscaler observehorizontal.Autoscaler
	Record     *Record
	Contest    *takeover.Contest
	Policy     *horizontal.Policy
	Decision   *horizontal.Decision
	// Next is what the decision asks for; of a WorkloadAutoscaler only.
	Next   horizontal.FollowUp
	Report statusreport.Report
	// Start is when the decision began to observe.
	Start time.Time
	// IsRepeatedSoon says that the HPA is decided again with the next samples of its kubelets.
	IsRepeatedSoon bool
}

// Written notes the resource version that a status write came to.
func (r *Record) Written(version string) { r.last.version, r.last.written = version, time.Now() }

// lag is how long the cache has been behind an HPA's last status write. An HPA is not decided
// meanwhile: it would be decided on what it was before the write.
type lag struct {
	// mu guards what follows.
	mu sync.Mutex
	// isAwaited says that a decision waits for the cache to show the last write, awaited why it is to be made: a
	// full one has everything that one on samples has, and that one what one because of an event has.
	isAwaited bool
	awaited   trigger.Kind
	// since is since when; zero if the cache is not behind.
	since time.Time
	// asked is when the API server was last asked.
	asked time.Time
	// isCounted says that the series of stale HPAs has this one.
	isCounted bool
}

func nameOf(autoscaler observehorizontal.Autoscaler) string {
	return autoscaler.Namespace + "/" + autoscaler.Name
}
