// Package divergence names the places where Plimsoll deliberately decides differently from upstream's
// vertical-pod-autoscaler. With none of them on, a decision equals upstream's, defects included.
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
	// LiveContainers divides the floor by the number of existing containers, and recommends for no others.
	LiveContainers
	// OpenWindow keeps the memory peak of the open window, and the OOM in it, across a restart.
	OpenWindow
	// KeepHistory keeps samples when the target cannot be looked up for a while.
	KeepHistory
	// ZeroMemory permits a peak after a first memory sample of 0.
	ZeroMemory
	// MemoryOnly counts memory samples in aggregates without CPU samples.
	MemoryOnly
	// StartOOM raises memory of a container that runs out of it before there is a usage sample.
	StartOOM
	// OOMLimit raises memory from the limit that was hit, not from the request.
	OOMLimit
	// ResetOverrides ends an override that was removed from a VerticalPodAutoscaler.
	ResetOverrides
	// LimitRangeOrder keeps lower <= target <= upper under a LimitRange of pods, and
	// survives containers without a recommendation.
	LimitRangeOrder
	// WorkloadBudget counts a workload's pods together, not those of each ReplicaSet.
	WorkloadBudget
	// ResizeTimers times each resize by the pod's UID and generation.
	ResizeTimers
	// ResizeBackoff retries after a pause before it evicts a pod whose resize failed.
	ResizeBackoff
	// CircuitBreaker stops on a workload whose changed pods do not come up.
	CircuitBreaker
	// SkipConflict does not change a resource with a utilization target of a HorizontalPodAutoscaler.
	SkipConflict
	// ResizeChecks checks before a resize whether it can succeed, and whether an infeasible one can by now.
	ResizeChecks
	// InPlaceBudget applies the disruption budget to mode InPlace, and waits for a resize in progress.
	InPlaceBudget
	// UnchangedRequests does not change a pod whose requests would stay the same.
	UnchangedRequests
	// QuietStatus writes a status only when a recommendation moves by enough to matter.
	QuietStatus
	// ImplausibleSamples discards samples that no node could have produced.
	ImplausibleSamples
	// SurviveRestart restores the circuit breaker, the timers of resizes and the rate limit of the previous process, as
	// far as the API shows them.
	SurviveRestart
	// OneObject makes the updater use the same object for a workload as admission, and ignore what admission ignores.
	OneObject
	// ObservedLease uses the time at which this process saw the Lease renewed, not the time in the Lease.
	ObservedLease
	// ClusterBudget bounds evictions over the whole cluster, and stops them while most
	// nodes are not ready.
	ClusterBudget
	// FirstSample makes no recommendation for a resource before its first sample.
	FirstSample
	// PodResources keeps recommendations within the requests and limits of the pod as a whole.
	PodResources
	// LimitRequestRatio keeps requests within the maxLimitRequestRatio of LimitRanges.
	LimitRequestRatio
	// EvictedStatus trusts only the pod's own status about an eviction.
	EvictedStatus
	// LittleHistory lowers nothing on the basis of little history.
	LittleHistory
	// SampleTime expires history by the times of samples, not by the clock.
	SampleTime
	// AdmissiblePods does not change a new pod if the API server would refuse the recommendation.
	AdmissiblePods
	// EvictionRequirements applies the object's requirements to the recommended resources only.
	EvictionRequirements

	end
)

// Default has every divergence on, as Plimsoll runs by default.
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

// former maps the names of earlier versions to the present ones: saved snapshots and command lines contain them.
var former = strings.NewReplacer("absurd-samples", "implausible-samples")

// Parse reads what Set.String writes. An unknown name is an error that lists the known ones.
func Parse(text string) (Set, error) { return names.Parse[family](former.Replace(text)) }
