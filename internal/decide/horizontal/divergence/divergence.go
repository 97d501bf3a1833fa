// Package divergence names the places where Plimsoll deliberately decides
// otherwise than upstream's HorizontalPodAutoscaler controller. With none of
// them on, a decision equals upstream's, defects included.
package divergence

import "github.com/plimsoll-dev/plimsoll/internal/decide/names"

// Set is a set of divergences; the zero value is upstream's behaviour.
type Set = names.Set[family]

// family keeps this direction's divergences apart from the other's.
type family struct{}

// The divergences. docs/contributing/compatibility.md describes each with upstream's
// behaviour, Plimsoll's and the Kubernetes issue it answers.
const (
	// RolloutSurge keeps the surge pods of a rollout from pushing replicas up.
	RolloutSurge Set = 1 << iota
	// NoReadyPods keeps the count where a Value target finds no ready pod.
	NoReadyPods
	// SucceededPods ignores pods that have finished.
	SucceededPods
	// Saturate makes arithmetic saturate where upstream wraps or divides by 0.
	Saturate
	// UncountedRequests tolerates a missing request on a pod that does not count.
	UncountedRequests
	// LeaveZero permits one replica where the rate policies from zero permit none.
	LeaveZero
	// HistoryByUID ties history to the object's UID instead of its name.
	HistoryByUID
	// OutOfRange keeps metrics, conditions and the ambiguity check while the
	// count is outside of min and max.
	OutOfRange
	// AccurateMessages makes conditions and reasons say what is the case.
	AccurateMessages
	// DropSeries removes the metric series of a deleted object.
	DropSeries
	// PartialContainer sets pods aside that lack the container of a
	// ContainerResource metric, instead of failing the metric.
	PartialContainer
	// RejectImplausible makes a negative metric value an error of its metric.
	RejectImplausible
	// WindowHistory forgets a recommendation for good once it has left the
	// stabilization windows. Upstream keeps it until its slot is needed, and a
	// window that is lengthened meanwhile may bring it back.
	WindowHistory
	// OneDoubling lets an object without behavior double once on an answer of a metrics API or a server.
	OneDoubling
	// SurgeWindow lets the last few seconds of CPU use ask for more replicas, where
	// they are known.
	SurgeWindow
	// RecentlyReady lets CPU use of pods that have become ready a short while ago count
	// with at most what the others carry on average.
	RecentlyReady
	// NewerSamples lowers the count only on samples newer than its last change.
	NewerSamples
	// LoadOnce counts load once that is in the samples of two pods, as it moved from one to the other between them.
	LoadOnce
	// ZeroBelowMin scales a target from zero to a min above zero where no metric can be
	// computed.
	ZeroBelowMin
	// ZeroCondition ends ScaledToZero once another writer has scaled the target up, and repairs it after a status write
	// that was lost.
	ZeroCondition
	// InitContainers leaves init containers of which there is no sample out of a pod's use.
	InitContainers
	// OtherWriter names another writer of the replica count, and writes against it once in a sync period.
	OtherWriter
	// ActuatedRequests divides a utilization by what pods have, not by what a pending resize will give them.
	ActuatedRequests
	// PodLevelRequests divides by the request of the pod as a whole, without overhead and init containers that ended.
	PodLevelRequests
	// ClaimedRequests refuses a utilization of a request to which a ResourceClaim adds.
	ClaimedRequests

	end
)

// Default has every divergence on, as Plimsoll runs by default.
const Default = end - 1

// None equals upstream.
const None Set = 0

// known has the names by which the flag switches them, in the order above.
var known = names.Names{
	"rollout-surge", "no-ready-pods", "succeeded-pods", "saturate", "uncounted-requests", "leave-zero", "history-by-uid",
	"out-of-range", "accurate-messages", "drop-series", "partial-container", "reject-implausible", "window-history",
	"one-doubling", "surge-window", "recently-ready", "newer-samples", "load-once",
	"zero-below-min", "zero-condition", "init-containers", "other-writer", "actuated-requests", "pod-level-requests",
	"claimed-requests",
}

// Names implements names.Family.
func (family) Names() names.Names { return known }

// All lists every divergence in the order of the names.
func All() []Set { return names.All[family]() }

// Parse reads what Set.String writes. An unknown name is an error that lists the known ones.
func Parse(text string) (Set, error) { return names.Parse[family](text) }
