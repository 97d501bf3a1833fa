// Package update decides which pods of a workload get the requests that are recommended, how, and
// in which order.
package update

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/priority"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
)

// Policy is what the owner and the operator ask for.
type Policy struct {
	Mode       vertical.Mode
	Containers []vertical.ContainerPolicy
	// Boost is the start-up boost of containers without one of their own; nil without.
	Boost *vertical.Boost
	// HasBoost is set if the VerticalPodAutoscaler has a start-up boost at all.
	HasBoost     bool
	Requirements []priority.Requirement
	// Unrestricted reports that the owner gave no update policy.
	Unrestricted bool
	// MinReplicas, Tolerance, MinChange, Lifetime, AfterOOM and SkipBudget are the flags, or what
	// the owner put in their place.
	MinReplicas int
	Tolerance   float64
	MinChange   float64
	Lifetime    time.Duration
	AfterOOM    time.Duration
	SkipBudget  bool
	Divergences divergence.Set
}

// DefaultPolicy returns upstream's flags by default, and Plimsoll's divergences.
func DefaultPolicy() Policy {
	return Policy{
		MinReplicas: 2, Tolerance: 0.5, MinChange: 0.1, Lifetime: 12 * time.Hour, AfterOOM: 10 * time.Minute,
		Divergences: divergence.Default,
	}
}

func (p *Policy) priority() priority.Policy {
	return priority.Policy{
		MinChange: p.MinChange, Lifetime: p.Lifetime, AfterOOM: p.AfterOOM, Containers: p.Containers,
		Requirements: p.Requirements, Unrestricted: p.Unrestricted, Divergences: p.Divergences,
	}
}

func (p *Policy) disruption() disruption.Policy {
	return disruption.Policy{
		MinReplicas: p.MinReplicas, Tolerance: p.Tolerance, SkipInPlace: p.SkipBudget && p.Mode.ResizesInPlace(),
		Divergences: p.Divergences,
	}
}

func (p *Policy) resize() resize.Policy {
	return resize.Policy{
		Evicts: p.Mode == vertical.ModeInPlaceOrRecreate, SkipBudget: p.SkipBudget, Divergences: p.Divergences,
	}
}

// Observation is the input about one workload.
type Observation struct {
	// Recommended is as it stands in the VerticalPodAutoscaler; nil if nothing was recommended yet.
	Recommended []vertical.Recommendation
	// LittleHistory is set if this follows from few samples.
	LittleHistory bool
	// Pods are those that have not ended and are not being deleted. Pods that wait for a node are
	// only watched.
	Pods     []vertical.Pod
	Workload disruption.Workload
	Ranges   *bounds.Ranges
	// Conflicts are where horizontal autoscalers divide by the same requests.
	Conflicts []conflict.Conflict
	// Past is what the previous process wrote about the workload.
	Past disruption.Past
	// Cluster bounds the changes. But for its quotas, it is read only if the mode resizes.
	Cluster Cluster
}

// Cluster is what bounds a resize, beside the pod.
type Cluster struct {
	// Unsupported: the server has no pods/resize.
	Unsupported bool
	// Nodes have in Others what all pods on them request, the one to be resized too.
	Nodes  map[string]resize.Node
	Quotas []resize.Quota
	// Used is what containers use now, by the pod's UID and the container's name.
	Used map[string]map[string]vertical.Amounts
}

// StateVersion is that of the State's form.
const StateVersion = 1

// State is the history of a workload between passes.
type State struct {
	Version int                `json:"version"`
	Resize  resize.State       `json:"resize"`
	Circuit disruption.Circuit `json:"circuit"`
}

// resumedState returns the State of a process in its first pass over the workload.
func resumedState(now time.Time, o *Observation) State {
	return State{Version: StateVersion, Resize: resize.Resume(o.Pods), Circuit: disruption.Resume(now, o.Pods, o.Past)}
}

// Clone returns a State of its own.
func (s State) Clone() State {
	return State{Version: StateVersion, Resize: s.Resize.Clone(), Circuit: s.Circuit.Clone()}
}

// Kind is what is done to a pod.
type Kind uint8

// The kinds of actions.
const (
	Nothing Kind = iota
	Evict
	Resize
	// Unboost resizes a pod whose start-up boost is over.
	Unboost
)

var kinds = [...]string{"nothing", "evict", "resize", "unboost"}

// String returns the kind in lower case.
func (k Kind) String() string { return kinds[k] }

// Action is one thing to do now.
type Action struct {
	Kind   Kind
	Pod    *vertical.Pod
	Reason reason.Reason
	// Targets are what a resize asks for.
	Targets []resize.Target
	// Unboosted are the containers whose boost ends.
	Unboosted []string

	at int
}

// Outcome is how an action ended.
type Outcome uint8

// The outcomes.
const (
	Done Outcome = iota
	// Disallowed: a PodDisruptionBudget forbids the eviction.
	Disallowed
	// Infeasible: the API server knows that the node cannot do the resize.
	Infeasible
	// Refused: an admission policy, a webhook or a quota does not let the resize pass.
	Refused
	// Failed: anything else.
	Failed
	// Gone: the pod is no longer there.
	Gone
	// Deferred: it was not tried, as the pass has no more time, or the rate limit allows no more.
	Deferred
	// OverClusterBudget: the eviction was not tried, as enough pods of the cluster were evicted for
	// now.
	OverClusterBudget
)

// Verdict is what was found about one pod.
type Verdict struct {
	Pod      *vertical.Pod
	Priority priority.Priority
	// Reason is why the pod should be changed; None if it should not.
	Reason reason.Reason
	// BlockedBy is why it is not changed; None if it was, or if Play has not reached it.
	BlockedBy reason.Reason
	// Action is what was done, and worked.
	Action Kind
	// CheckResults are all that the checks before a resize found, for explain.
	CheckResults []reason.Reason
	// Caps are what made the targets of this pod differ from what is recommended, in order.
	Caps []bounds.Cap

	fitted []vertical.Recommendation
}
