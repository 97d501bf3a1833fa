// Package update decides which pods of a workload get the recommended requests, how, and in which order.
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

// Policy has the settings of the object and of the operator.
type Policy struct {
	Mode       vertical.Mode
	Containers []vertical.ContainerPolicy
	// Boost is the start-up boost of containers without one of their own; nil without.
	Boost *vertical.Boost
	// HasBoost is set if any policy of the VerticalPodAutoscaler has a start-up boost.
	HasBoost     bool
	Requirements []priority.Requirement
	// Unrestricted is set if the object has no update policy.
	Unrestricted bool
	// MinReplicas, Tolerance, MinChange, Lifetime, AfterOOM and SkipBudget are those of the flags or of the object.
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
	// Recommended is the recommendation of the VerticalPodAutoscaler; nil if there is none yet.
	Recommended []vertical.Recommendation
	// LittleHistory is set if the recommendation is based on few samples.
	LittleHistory bool
	// Pods has the pods that have not ended and are not being deleted. Pods that wait for a node are only watched.
	Pods     []vertical.Pod
	Workload disruption.Workload
	Ranges   *bounds.Ranges
	// Conflicts has the requests by which horizontal autoscalers divide.
	Conflicts []conflict.Conflict
	// Past is the workload's condition by the previous process.
	Past disruption.Past
	// Cluster bounds the changes. Except for its quotas, it is used only if the mode resizes.
	Cluster Cluster
}

// Cluster has the bounds of a resize that are outside of the pod.
type Cluster struct {
	// Unsupported is set if the server has no pods/resize.
	Unsupported bool
	// Nodes has the nodes. Others of a node includes all its pods, also the one to resize.
	Nodes  map[string]resize.Node
	Quotas []resize.Quota
	// Used is the present use of containers, by the pod's UID and the container's name.
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

// Clone returns a copy of the State that shares nothing with it.
func (s State) Clone() State {
	return State{Version: StateVersion, Resize: s.Resize.Clone(), Circuit: s.Circuit.Clone()}
}

// Kind is the kind of an action.
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
	// Targets has the new resources of a resize.
	Targets []resize.Target
	// Unboosted has the containers whose boost ends.
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
	// Refused: an admission policy, a webhook or a quota refuses the resize.
	Refused
	// Failed: anything else.
	Failed
	// Gone: the pod does not exist any more.
	Gone
	// Deferred: it was not tried, because the pass has no more time, or the rate limit permits no more.
	Deferred
	// OverClusterBudget: the eviction was not tried, because no more pods of the cluster may be evicted now.
	OverClusterBudget
)

// Verdict is the result for one pod.
type Verdict struct {
	Pod      *vertical.Pod
	Priority priority.Priority
	// Reason is the reason to change the pod; None if there is none.
	Reason reason.Reason
	// BlockedBy is the reason why it was not changed; None if it was, or if Play has not reached it.
	BlockedBy reason.Reason
	// Action is the successful action.
	Action Kind
	// CheckResults has all results of the checks before a resize, for explain.
	CheckResults []reason.Reason
	// Caps has the bounds that made the targets of this pod differ from the recommendation, in order.
	Caps []bounds.Cap

	fitted []vertical.Recommendation
}

// Fitted returns the recommendations, within the bounds for this pod, with which its requests were compared; nil if the
// requests were not compared.
func (v *Verdict) Fitted() []vertical.Recommendation { return v.fitted }
