// Package divergence names the places where Plimsoll deliberately decides
// otherwise than upstream's vertical-pod-autoscaler. With none of them on, a
// decision equals upstream's, defects included.
package divergence

import (
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/names"
)

// Set is a set of divergences; the zero value is upstream's behaviour.
type Set = names.Set[family]

// family keeps this direction's divergences apart from the other's.
type family struct{}

// The divergences, in the order of their names. docs/contributing/compatibility.md describes each
// with upstream's behaviour, Plimsoll's and the issue of kubernetes/autoscaler
// that it answers.
const (
	// FiniteUpper bounds the upper bound where there is little history.
	FiniteUpper Set = 1 << iota
	// LiveContainers divides the floor by the containers that still exist, and
	// recommends for no others.
	LiveContainers
	// OpenWindow keeps the memory peak of the open window, and the OOM in it, over a
	// restart.
	OpenWindow
	// KeepHistory keeps samples when the target cannot be looked up for a while.
	KeepHistory
	// ZeroMemory lets a first memory sample of 0 be followed by a peak.
	ZeroMemory
	// MemoryOnly counts an aggregate with memory samples alone as one that has samples.
	MemoryOnly
	// StartOOM raises memory of a container that runs out of it before there is any
	// usage.
	StartOOM
	// OOMLimit raises memory from the limit that was hit, not from the request.
	OOMLimit
	// ResetOverrides lets a removed override of a VerticalPodAutoscaler end.
	ResetOverrides
	// LimitRangeOrder keeps lower <= target <= upper under a LimitRange of pods, and
	// survives containers without a recommendation.
	LimitRangeOrder
	// WorkloadBudget counts a workload's pods together, not those of each ReplicaSet.
	WorkloadBudget
	// ResizeTimers times each resize by the pod's UID and generation.
	ResizeTimers
	// ResizeBackoff waits and tries again before it evicts a pod whose resize failed.
	ResizeBackoff
	// CircuitBreaker stops on a workload whose changed pods do not come up.
	CircuitBreaker
	// SkipConflict leaves a resource alone that a HorizontalPodAutoscaler has a
	// utilization target on.
	SkipConflict
	// ResizeChecks looks before a resize whether it can succeed, and whether an
	// infeasible one can by now.
	ResizeChecks
	// InPlaceBudget applies the disruption budget to mode InPlace, and lets a resize
	// that is under way end.
	InPlaceBudget
	// UnchangedRequests leaves a pod alone whose requests would not change.
	UnchangedRequests
	// QuietStatus writes a status only when a recommendation moves by enough to matter.
	QuietStatus
	// ImplausibleSamples discards samples that no node could have produced.
	ImplausibleSamples
	// SurviveRestart takes the circuit breaker, the timers of resizes and the rate limit
	// up where the process before left them, as far as the API shows it.
	SurviveRestart
	// OneObject has the updater take the object of a workload that admission takes, and
	// leave alone what admission ignores.
	OneObject
	// ObservedLease goes by when this process saw the Lease renewed, not by the time
	// that is written in it.
	ObservedLease
	// ClusterBudget bounds evictions over the whole cluster, and stops them while most
	// nodes are not ready.
	ClusterBudget
	// FirstSample recommends nothing of a resource before there is a sample of it.
	FirstSample
	// PodResources keeps what is recommended within what the pod requests and may use as
	// a whole.
	PodResources
	// LimitRequestRatio keeps requests within the maxLimitRequestRatio of LimitRanges.
	LimitRequestRatio
	// EvictedStatus believes of an eviction only what the pod's own status says.
	EvictedStatus
	// LittleHistory lowers nothing by what little history says.
	LittleHistory
	// SampleTime forgets by the times of samples, not by the clock.
	SampleTime
	// AdmissiblePods leaves a new pod as it is where the API server would refuse what is
	// recommended.
	AdmissiblePods
	// EvictionRequirements applies the owner's requirements to what is recommended alone.
	EvictionRequirements

	end
)

// Default is what Plimsoll runs with: every divergence on.
const Default = end - 1

// None equals upstream.
const None Set = 0

// known has the names by which the flag switches them, in the order above.
var known = names.Names{
	"finite-upper", "live-containers", "open-window", "keep-history", "zero-memory", "memory-only", "start-oom",
	"oom-limit",
	"reset-overrides", "limit-range-order", "workload-budget", "resize-timers", "resize-backoff", "circuit-breaker",
	"skip-conflict",
	"resize-checks", "in-place-budget", "unchanged-requests", "quiet-status",
	"implausible-samples", "survive-restart", "one-object", "observed-lease", "cluster-budget", "first-sample",
	"pod-resources",
	"limit-request-ratio", "evicted-status", "little-history", "sample-time",
	"admissible-pods", "eviction-requirements",
}

// Names implements names.Family.
func (family) Names() names.Names { return known }

// All lists every divergence in the order of the names.
func All() []Set { return names.All[family]() }

// former turns names of earlier versions into today's: saved snapshots and command lines have them.
var former = strings.NewReplacer("absurd-samples", "implausible-samples")

// Parse reads what Set.String writes. An unknown name is an error that lists the known ones.
func Parse(text string) (Set, error) { return names.Parse[family](former.Replace(text)) }
