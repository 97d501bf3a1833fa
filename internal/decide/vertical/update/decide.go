package update

import (
	"slices"
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

// Decision is one pass over a workload: a verdict on each pod, and which pods are to be updated.
// Play carries it out.
type Decision struct {
	At time.Time
	// Pods has the verdicts, in the observation's order, without pods that wait for a node.
	Pods []Verdict
	// ToUpdate has the pods to change, as indices of Pods, in order.
	ToUpdate []int
	// Circuit is the reason why the circuit is open; None while it is closed. Troubled has the names of the changed pods
	// that do not come up.
	Circuit  reason.Reason
	Troubled []string
	// Conflicts has the resources that are not changed.
	Conflicts []conflict.Conflict

	policy   *Policy
	observed *Observation
	pods     []vertical.Pod
	budget   disruption.Budget
	troubled map[string]bool
	// evictionsStopped is the reason for no evictions in the whole cluster.
	evictionsStopped reason.Reason
}

// Decide evaluates all pods and sorts those that should be changed. The steps are upstream's
// (pkg/updater/logic/updater.go, v1.8.1): which pods may be changed, which should be, in which order, within the
// object's requirements.
func Decide(now time.Time, p *Policy, s State, o *Observation) (Decision, State) {
	if s.Version == 0 && p.Divergences.Has(divergence.SurviveRestart) {
		s = resumedState(now, o)
	}
	s = s.Clone()
	d := Decision{At: now, policy: p, observed: o, pods: vertical.Scheduled(o.Pods)}
	if p.Divergences.Has(divergence.SkipConflict) {
		d.Conflicts = o.Conflicts
	}
	if p.Divergences.Has(divergence.CircuitBreaker) {
		found := s.Circuit.Observe(now, o.Pods, &o.Workload, d.unchanged(&s.Circuit))
		d.Circuit, d.troubled = found.Open, found.Troubled
		for i := range o.Pods {
			if d.troubled[o.Pods[i].UID] {
				d.Troubled = append(d.Troubled, o.Pods[i].Name)
			}
		}
	}
	s.Resize.Prune(o.Pods, p.Divergences)
	budget := p.disruption()
	d.budget = disruption.NewBudget(now, &budget, &o.Workload, d.pods, d.troubled)
	d.Pods = make([]Verdict, len(d.pods))
	for i := range d.pods {
		d.Pods[i].Pod = &d.pods[i]
	}
	d.evaluate(&s)
	d.sortByPriority()
	return d, s
}

// evaluate finds for each pod whether it should be changed, and what blocks it.
func (d *Decision) evaluate(s *State) {
	rules := d.policy.priority()
	wanted := conflict.Without(d.Conflicts, d.observed.Recommended)
	for i := range d.Pods {
		v := &d.Pods[i]
		if !d.policy.Mode.Disrupts() {
			v.BlockedBy = reason.ModeOff
			continue
		}
		if d.policy.HasBoost && v.Pod.IsBoosted() {
			v.BlockedBy = reason.Boosted
			continue
		}
		// Checked for every pod, because it starts the timers of resizes in progress.
		blockedBy := d.blockedBy(s, i)
		d.evaluatePod(&rules, v, wanted)
		if v.Reason == reason.None {
			continue
		}
		if blockedBy == reason.None {
			blockedBy = d.changeBlockedBy(s, v, &rules)
		}
		if v.BlockedBy = blockedBy; blockedBy == reason.None {
			d.ToUpdate = append(d.ToUpdate, i)
		}
	}
}

func (d *Decision) changeBlockedBy(s *State, v *Verdict, rules *priority.Policy) reason.Reason {
	switch {
	case d.policy.Mode == vertical.ModeInPlace && s.Resize.WasInfeasible(v.Pod, v.fitted):
		return reason.InfeasibleBefore
	case !rules.MeetsRequirements(v.Pod, v.fitted):
		return reason.EvictionRequirements
	}
	return reason.None
}

func (d *Decision) evaluatePod(rules *priority.Policy, v *Verdict, wanted []vertical.Recommendation) {
	if len(d.observed.Recommended) == 0 && d.policy.Divergences.Has(divergence.UnchangedRequests) {
		v.BlockedBy = reason.NoRecommendation
		return
	}
	kept := d.neverBelowRequests(v.Pod, wanted)
	v.Caps = bounds.Changed(wanted, kept, bounds.ToRequest)
	fitted, caps := d.fitWithCaps(v.Pod, kept)
	v.fitted, v.Caps = fitted, append(v.Caps, caps...)
	var why reason.Reason
	v.Priority, why = rules.Evaluate(d.At, v.Pod, v.fitted)
	if !priority.IsUpdate(why) {
		v.Caps = append(v.Caps, leftOut(v.Pod, fitted)...) // a resize for another container changes these too
	}
	if why == reason.NothingChanges && len(v.Caps) > 0 && d.policy.Divergences.Has(divergence.UnchangedRequests) {
		why = reason.Capped
	}
	if priority.IsUpdate(why) {
		v.Reason = why
		return
	}
	v.BlockedBy = d.keptBy(rules, v.Pod, wanted, why)
}

// leftOut lists the targets of containers that admission did not see, where the pod requests something else.
func leftOut(pod *vertical.Pod, fitted []vertical.Recommendation) []bounds.Cap {
	var caps []bounds.Cap
	for i := range pod.Containers {
		c := &pod.Containers[i]
		rec, ok := vertical.RecommendationOf(fitted, c.Name)
		if !ok || pod.IsObserved(c.Name) {
			continue
		}
		for r := range vertical.Resource(vertical.Resources) {
			if _, wants := rec.Target.Get(r); wants && rec.Target.Differs(c.Requests, r) {
				caps = append(caps, bounds.Cap{Container: c.Name, Resource: r, Action: bounds.NotObserved, IsRemoved: true})
			}
		}
	}
	return caps
}

// keptBy returns the reason why the pod is not changed: why, or the bound that prevents a change.
func (d *Decision) keptBy(rules *priority.Policy, pod *vertical.Pod,
	wanted []vertical.Recommendation, why reason.Reason) reason.Reason {
	changesFor := func(recommended []vertical.Recommendation) bool {
		_, otherwise := rules.Evaluate(d.At, pod, d.fit(pod, recommended))
		return priority.IsUpdate(otherwise)
	}
	switch {
	case len(d.Conflicts) > 0 && changesFor(d.observed.Recommended):
		return reason.Conflict
	case d.observed.LittleHistory && changesFor(wanted):
		return reason.LittleHistory
	}
	return why
}

// blockedBy returns the reason that blocks any change of the pod, whatever the recommendation.
func (d *Decision) blockedBy(s *State, i int) reason.Reason {
	if d.Circuit == reason.CircuitOpen && !d.troubled[d.pods[i].UID] && !d.allowsCrashed(s, i) {
		return reason.CircuitOpen
	}
	if !d.policy.Mode.ResizesInPlace() {
		return d.evictionBlockedBy(s, i)
	}
	if d.policy.Divergences.Has(divergence.ResizeChecks) {
		// The node may have more room than when the resize was infeasible.
		s.Resize.Reconsider(&d.pods[i], d.nodeRoom(&d.pods[i]))
	}
	step, why := d.nextStep(s, i)
	if step == resize.Wait || step == resize.Skip {
		return why
	}
	return reason.None
}

func (d *Decision) evictionBlockedBy(s *State, i int) reason.Reason {
	why := d.disruptionBlockedBy(s, i)
	pod := &d.pods[i]
	passes := why == reason.None || why == reason.DisruptionBudget || why == reason.WaitingForReplacement
	if pod.Pending || pod.Resize == vertical.ResizeNone || !passes {
		return why
	}
	// Observe it even if the budget is used up: its time starts here.
	if stalled := s.Resize.ObserveProgress(d.At, pod, d.policy.Divergences); !stalled && why == reason.None {
		return resize.InProgress(pod)
	}
	return why
}

// allowsCrashed reports whether the pod crashes and may be changed while the circuit is open.
func (d *Decision) allowsCrashed(s *State, i int) bool {
	return d.budget.IsCrashed(i) && s.Circuit.AllowsCrashed(d.At, &d.observed.Workload)
}

// disruptionBlockedBy checks the outcomes of earlier evictions, the number of unavailable pods, and whether a new pod
// would be admitted.
func (d *Decision) disruptionBlockedBy(s *State, i int) reason.Reason {
	breaks := d.policy.Divergences.Has(divergence.CircuitBreaker)
	switch why := d.budget.EvictionBlockedBy(i); {
	case breaks && d.At.Before(s.Circuit.NotAdmitted.Until):
		return reason.NotAdmitted
	case d.Circuit == reason.FailedCreate && !d.allowsCrashed(s, i):
		return reason.FailedCreate
	case why != reason.None:
		return why
	case breaks && s.Circuit.AwaitsReplacement() && !d.troubled[d.pods[i].UID] && !d.allowsCrashed(s, i):
		return reason.WaitingForReplacement
	}
	return d.newPodBlockedBy(i)
}

// unchanged returns a function that reports whether a new pod lacks the recommendation: admission has not changed it,
// or it is outside of the bounds, also of those at the eviction.
func (d *Decision) unchanged(c *disruption.Circuit) func(*vertical.Pod) bool {
	rules, then, now := d.policy.priority(), conflict.Without(d.Conflicts, c.Recommended),
		conflict.Without(d.Conflicts, d.observed.Recommended)
	outside := func(pod *vertical.Pod, recommended []vertical.Recommendation) bool {
		_, why := rules.Evaluate(d.At, pod, d.fit(pod, d.neverBelowRequests(pod, recommended)))
		return why == reason.OutsideRange
	}
	return func(pod *vertical.Pod) bool {
		switch {
		case !pod.Admitted && !pod.HasObserved:
			return true
		case len(then) == 0 || pod.IsBoosted() || !pod.Resized.IsZero():
			return false
		}
		return outside(pod, now) && outside(pod, then)
	}
}

// neverBelowRequests returns the recommendation, but no less than the pod's requests while there is little history. A
// start-up boost does not count as a request.
func (d *Decision) neverBelowRequests(pod *vertical.Pod, all []vertical.Recommendation) []vertical.Recommendation {
	if !d.observed.LittleHistory || !d.policy.Divergences.Has(divergence.LittleHistory) {
		return all
	}
	return bounds.KeepPodRequests(all, pod)
}

func (d *Decision) fit(pod *vertical.Pod, recommended []vertical.Recommendation) []vertical.Recommendation {
	fitted, _ := d.fitWithCaps(pod, recommended)
	return fitted
}

func (d *Decision) fitWithCaps(
	pod *vertical.Pod, recommended []vertical.Recommendation,
) ([]vertical.Recommendation, []bounds.Cap) {
	fitting := bounds.Pod{Resources: pod.Whole, InitContainers: pod.InitContainers}
	fitting.Containers = make([]bounds.Container, len(pod.Containers))
	for i := range pod.Containers {
		c := &pod.Containers[i]
		fitting.Containers[i] = bounds.Container{Name: c.Name, Requests: c.Requests, Limits: c.Limits}
	}
	return bounds.Fit(recommended, fitting, d.policy.Containers, d.observed.Ranges, d.policy.Divergences)
}

// sortByPriority sorts the pods that should be changed. Equal ones remain in the order of slices.SortFunc, as upstream.
func (d *Decision) sortByPriority() {
	slices.SortFunc(d.ToUpdate, func(a, b int) int { return d.Pods[a].Priority.Compare(d.Pods[b].Priority) })
}
