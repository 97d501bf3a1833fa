package vertical

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// pass decides on the pods with the published recommendation, as the updater's next pass would, and replaces each
// action by its expected outcome.
func (e *Explanation) pass(settings *snapshotvertical.Settings) {
	step := e.Step
	gates, known := settings.Gates, settings.KnowsGates
	if !known {
		gates, known = observevertical.KnownGates(&step.Object.Status)
	}
	e.Features = featuresOf(step, gates, known)
	if e.appliesInstead() != "" {
		return // The updater passes over it.
	}
	settings.Updater.Divergences = e.Divergences
	policy := observevertical.UpdatePolicyOf(&step.Object.Spec, &settings.Updater, gates)
	o, now := e.observation(&policy), step.Snapshot.Time
	var state update.State
	updater := step.Snapshot.Updater
	if updater != nil {
		state = updater.State
	}
	if gates.CPUStartupBoost {
		e.unboost(&policy, state, o)
	}
	e.Update, state = update.Decide(now, &policy, state, o)
	switch {
	case updater != nil && updater.LeaseStale:
		e.Update.Defer(reason.LeaseStale)
		return
	case updater != nil:
		if why, ok := reasonOf(updater.EvictionsStopped); ok {
			e.Update.StopEvictions(why)
		}
	}
	e.act(now, &state)
}

// act plays the plan against the budgets, as the updater would.
func (e *Explanation) act(now time.Time, state *update.State) {
	step := e.Step
	limits, budgets := newLimits(now, step.Snapshot.Updater), newBudgets(step.Budgets)
	e.Update.Play(state, &resize.Claims{}, func(a update.Action) update.Result {
		result := update.Result{Outcome: update.Done, At: now}
		var budget *budget
		if a.Kind == update.Evict {
			budget, result.Outcome = budgets.of(step.Pods, a.Pod.UID)
		}
		isReserved := limits.reserve(a.Kind)
		switch {
		case result.Outcome != update.Done:
			// The updater may not come to this in the next pass. What it waits for until then ends by itself; this may not.
			if result.Outcome == update.Disallowed && e.forbidden == nil {
				e.forbidden = budget
			}
		case !isReserved:
			result.Outcome = update.Deferred
		case a.Kind == update.Evict && limits.isUsedUp():
			result.Outcome = update.OverClusterBudget
		case a.Kind == update.Evict:
			budget.use()
			limits.evicted++
		}
		return result
	})
}

// unboost removes the start-up boosts that have ended: the updater does so between its passes.
func (e *Explanation) unboost(policy *update.Policy, state update.State, o *update.Observation) {
	decision, state := update.Decide(e.Step.Snapshot.Time, policy, state, o)
	e.Unboosted = map[string]bool{}
	decision.EndBoosts(&state, func(a update.Action) update.Result {
		e.Unboosted[a.Pod.UID] = true
		return update.Result{Outcome: update.Done, At: decision.At}
	})
}

func (e *Explanation) observation(policy *update.Policy) *update.Observation {
	step := e.Step
	replicas := step.Snapshot.Target.Replicas
	o := &update.Observation{
		Recommended: e.Published, Ranges: observevertical.RangesOf(step.Ranges), Conflicts: e.Conflicts,
		Past:          observevertical.PastOf(&step.Object.Status),
		LittleHistory: observevertical.HasLittleHistory(&step.Object.Status),
		Workload: disruption.Workload{
			Target:   disruption.Replicas{Configured: replicas, AsFound: replicas == 0},
			Creators: map[string]disruption.Replicas{},
		},
	}
	if updater := step.Snapshot.Updater; updater != nil {
		o.Workload.FailedCreate = updater.FailedCreate
	}
	for _, pod := range step.Pods {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		if pod.DeletionTimestamp != nil {
			o.Workload.Terminating = append(o.Workload.Terminating, pod.DeletionTimestamp.Time)
			continue
		}
		p := observevertical.Pod(pod)
		o.Pods = append(o.Pods, p)
		o.Workload.Creators[p.Creator] = disruption.Replicas{AsFound: true}
	}
	o.Cluster.Quotas = observevertical.QuotasOf(step.Quotas)
	if policy.Mode.ResizesInPlace() {
		o.Cluster = e.cluster(o.Pods)
	}
	return o
}

// cluster returns the bounds of resizes, as far as they are known.
func (e *Explanation) cluster(pods []vertical.Pod) update.Cluster {
	step := e.Step
	c := update.Cluster{
		Unsupported: step.Snapshot.NoResize, Nodes: map[string]resize.Node{}, Quotas: observevertical.QuotasOf(step.Quotas),
		Used: map[string]map[string]vertical.Amounts{},
	}
	for _, node := range step.Nodes {
		n := observevertical.NodeOf(node)
		if step.Snapshot.Updater != nil {
			n.Others = step.Snapshot.Updater.Requested[node.Name]
			step.Snapshot.Updater.KubeletRefusals[node.Name].AddTo(&n)
		}
		for _, pod := range step.Pods {
			if pod.Spec.NodeName == node.Name {
				observevertical.LearnRefusal(&n, pod)
			}
		}
		c.Nodes[node.Name] = n
	}
	if step.Snapshot.Updater != nil {
		maps.Copy(c.Used, step.Snapshot.Updater.Used) // the kubelets' values, without metrics.k8s.io
	}
	for i := range step.PodMetrics {
		m := &step.PodMetrics[i]
		at := slices.IndexFunc(pods, func(p vertical.Pod) bool { return p.Name == m.Name })
		if at < 0 {
			continue
		}
		used := map[string]vertical.Amounts{}
		for j := range m.Containers {
			used[m.Containers[j].Name] = observevertical.AmountsOf(m.Containers[j].Usage)
		}
		c.Used[pods[at].UID] = used
	}
	return c
}

// limits are the remainders of the updater's rate limits and of the cluster's budget, for the next pass.
type limits struct {
	evictions, resizes disruption.Bucket
	// from is the start of that pass, until the latest start of its last action.
	from, until time.Time
	// left is the number of pods of the cluster that may be evicted, nil without a limit; evicted counts this workload's.
	left    *int
	evicted int
}

// isUsedUp reports whether no more pods of the cluster may be evicted.
func (l *limits) isUsedUp() bool { return l.left != nil && l.evicted >= *l.left }

func newLimits(now time.Time, updater *snapshotvertical.Updater) *limits {
	if updater == nil {
		return &limits{from: now, until: now} // the zero buckets limit nothing
	}
	l := &limits{evictions: updater.Evictions, resizes: updater.Resizes, from: now, left: updater.EvictionsLeft}
	if next := updater.Time.Add(updater.Interval.Duration); next.After(now) {
		l.from = next
	}
	l.until = disruption.LastAction(l.from.Add(updater.Interval.Duration), updater.Interval.Duration)
	return l
}

// reserve reports whether the rate limit permits the action within the pass.
func (l *limits) reserve(kind update.Kind) bool {
	bucket := &l.resizes
	if kind == update.Evict {
		bucket = &l.evictions
	}
	_, ok, next := bucket.Reserve(l.from, l.until)
	*bucket = next
	return ok
}

// featuresOf returns the object's settings without effect. If the updater's gates are unknown, it assumes that they are
// on, and the explanation mentions that.
func featuresOf(step *snapshotvertical.Step, gates observevertical.Gates, known bool) []string {
	asked := observevertical.RequestOf(&step.Object.Spec)
	has := report.Features{
		InPlace: gates.InPlace, CPUStartupBoost: gates.CPUStartupBoost, PerVPAConfig: gates.PerVPAConfig,
		PodsResize: !step.Snapshot.NoResize,
	}
	var said []string
	missing, is := report.Missing(asked, has)
	isSaid := func(c vpav1.VerticalPodAutoscalerCondition) bool { return c.Message == missing.Message }
	if is && !slices.ContainsFunc(step.Object.Status.Conditions, isSaid) {
		said = append(said, missing.Message)
	}
	if known {
		return said
	}
	unseen, is := report.Missing(asked, report.Features{PodsResize: true})
	if is {
		said = append(said, "whether the updater has "+strings.ReplaceAll(unseen.Reason, ",", ", ")+
			" among its --feature-gates is unknown; assumed on")
	}
	return said
}
