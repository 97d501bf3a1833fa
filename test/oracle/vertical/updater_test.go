package vertical

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	upstream "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/apis/autoscaling.k8s.io/v1"
	"k8s.io/autoscaler/vertical-pod-autoscaler/pkg/features"
	upstreamvpa "k8s.io/autoscaler/vertical-pod-autoscaler/pkg/utils/vpa"
	"k8s.io/klog/v2"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/priority"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// webHPA is the horizontal autoscaler of conflicts.
var webHPA = conflict.Name{Kind: "HorizontalPodAutoscaler", Name: "web"}

var (
	updaterTimelines = flag.Int("updater-timelines", 2000, "how many random workloads TestUpdater compares")
	updaterSeed      = flag.Uint64("updater-seed", 1, "the first workload's seed")
)

// passes is how many each workload lives through.
const passes = 8

// updaterReach are places that a comparison of 2000 workloads must have been at.
var updaterReach = []string{
	"InPlaceApproved in mode InPlace", "InPlaceDeferred in mode InPlace", "InPlaceInfeasible in mode InPlace",
	"InPlaceInfeasibleCached in mode InPlace", "InPlaceApproved in mode InPlaceOrRecreate",
	"InPlaceDeferred in mode InPlaceOrRecreate",
	"InPlaceEvict in mode InPlaceOrRecreate", "evict done", "evict failed", "evict disallowed", "resize done",
	"resize failed",
	"resize infeasible", "evicted after a failed resize", "unboosted", "several wanted", "wanted and held back",
	"OutsideRange", "QuickOOM", "LongLived", "NotStarted", "WithinBounds", "SmallDifference",
	"NothingChanges", "EvictionRequirements",
	"MinReplicas", "UnknownReplicas", "DisruptionBudget", "PodPending", "ResizeUnderway", "InfeasibleBefore",
	"ModeOff", "Boosted",
}

// TestUpdater runs upstream's updater and Plimsoll's core through random lives of
// workloads: the same pods in the same order, the same calls with the same
// resources, pass after pass, with every divergence off.
func TestUpdater(t *testing.T) {
	if err := features.MutableFeatureGate.Set("InPlace=true,CPUStartupBoost=true,PerVPAConfig=true"); err != nil {
		t.Fatal(err)
	}
	silence(t)
	reached, compared := map[string]int{}, 0
	for i := range *updaterTimelines {
		seed := *updaterSeed + uint64(i)
		synctest.Test(t, func(t *testing.T) {
			compared += compareUpdaters(t, newUpdaterWorld(seed, reached), seed)
		})
		if t.Failed() {
			return
		}
	}
	for _, place := range updaterReach {
		if reached[place] == 0 && *updaterTimelines >= 2000 {
			t.Errorf("no workload came to %q", place)
		}
	}
	summary = append(summary, row{"updater: passes over random workloads", compared, compared, "none"})
	t.Logf("%d passes of %d workloads from seed %d were equal", compared, *updaterTimelines, *updaterSeed)
	for _, place := range slices.Sorted(maps.Keys(reached)) {
		t.Logf("%8d %s", reached[place], place)
	}
}

// silence keeps upstream's log of what chance has made up out of the test's.
func silence(t *testing.T) {
	t.Helper()
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := flags.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	klog.SetOutput(io.Discard)
}

// updaterDivergences are those that change what the updater does.
var updaterDivergences = []divergence.Set{
	divergence.WorkloadBudget, divergence.ResizeTimers, divergence.ResizeBackoff, divergence.CircuitBreaker,
	divergence.SkipConflict,
	divergence.ResizeChecks, divergence.InPlaceBudget, divergence.UnchangedRequests, divergence.EvictionRequirements,
}

// TestUpdaterDivergences: each of the updater's divergences, alone, changes what
// is done in some of the lives, and no other does but limit-range-order, which is
// about the recommendation.
func TestUpdaterDivergences(t *testing.T) {
	silence(t)
	const lives = 400
	differ := map[divergence.Set]int{}
	for seed := range uint64(lives) {
		synctest.Test(t, func(t *testing.T) {
			w := newUpdaterWorld(seed, map[string]int{})
			w.answer()
			states := map[divergence.Set]update.State{}
			for range passes {
				plain := w.actionsWith(states, divergence.None)
				for _, d := range divergence.All() {
					if w.actionsWith(states, d) != plain {
						differ[d]++
					}
				}
				<-time.After(time.Duration(w.Int64N(int64(40 * time.Minute))))
				w.step()
			}
		})
	}
	for _, d := range divergence.All() {
		t.Logf("%6d of %d passes differ by %s", differ[d], lives*passes, d)
		if changes := slices.Contains(updaterDivergences, d); changes != (differ[d] > 0) && d != divergence.LimitRangeOrder {
			t.Errorf("%s changes %d passes", d, differ[d])
		}
	}
}

// actionsWith are what is done with these divergences, from their own state on.
func (w *updaterWorld) actionsWith(states map[divergence.Set]update.State, d divergence.Set) string {
	p, o := w.policy(), w.observation()
	p.Divergences = d
	decision, state := update.Decide(time.Now(), p, states[d], o)
	actions := w.act(&decision, &state)
	states[d] = state
	return strings.Join(actions, "\n")
}

func compareUpdaters(t *testing.T, w *updaterWorld, seed uint64) int {
	theirs := newUpstreamUpdater(t, w)
	var state update.State
	w.answer()
	for pass := range passes {
		wanted, actions := theirs.pass(w.vpa, w.pods)
		o, p := w.observation(), w.policy()
		var decision update.Decision
		decision, state = update.Decide(time.Now(), p, state, o)
		names := make([]string, 0, len(decision.ToUpdate))
		for _, i := range decision.ToUpdate {
			names = append(names, decision.Pods[i].Pod.Name)
		}
		ours := w.act(&decision, &state)
		where := fmt.Sprintf("seed %d, pass %d, mode %s", seed, pass, p.Mode)
		if diff := cmp.Diff(wanted, names, empty); diff != "" {
			t.Errorf("%s: order (-upstream +Plimsoll):\n%s", where, diff)
		}
		if diff := cmp.Diff(actions, ours, empty); diff != "" {
			t.Errorf("%s: actions (-upstream +Plimsoll):\n%s", where, diff)
		}
		w.count(&decision, actions)

		boosts := theirs.unboost(w.vpa, w.pods)
		decision, state = update.Decide(time.Now(), p, state, o)
		if diff := cmp.Diff(boosts, w.unboost(&decision, &state), empty); diff != "" {
			t.Errorf("%s: boosts (-upstream +Plimsoll):\n%s", where, diff)
		}
		if len(boosts) > 0 {
			w.reached["unboosted"]++
		}
		if t.Failed() {
			return pass
		}
		<-time.After(time.Duration(w.Int64N(int64(40 * time.Minute))))
		w.step()
	}
	return passes
}

var empty = cmp.Transformer("empty", func(all []string) string { return strings.Join(all, "\n") })

// act carries out the decision with the API server's answers.
func (w *updaterWorld) act(d *update.Decision, s *update.State) []string {
	var actions []string
	d.Play(s, &resize.Claims{}, w.performer(&actions))
	return actions
}

func (w *updaterWorld) unboost(d *update.Decision, s *update.State) []string {
	var actions []string
	d.EndBoosts(s, w.performer(&actions))
	return actions
}

// performer answers as the API server, and lists what was done.
func (w *updaterWorld) performer(actions *[]string) func(update.Action) update.Result {
	return func(a update.Action) update.Result {
		text, outcome := w.perform(a)
		if text != "" {
			*actions = append(*actions, text)
		}
		return update.Result{Outcome: outcome, At: time.Now()}
	}
}

var outcomesOf = map[string]update.Outcome{
	"done": update.Done, "disallowed": update.Disallowed, "infeasible": update.Infeasible, "failed": update.Failed,
}

func (w *updaterWorld) perform(a update.Action) (string, update.Outcome) {
	verb := a.Kind
	if verb == update.Unboost {
		verb = update.Resize
	}
	word := outcomeWord(w.outcomes[verb.String()+"/"+a.Pod.Name])
	text := fmt.Sprintf("%s %s %s", verb, a.Pod.Name, word)
	if verb == update.Resize {
		set := describe(a)
		if set == "" {
			return "", update.Failed
		}
		text += " " + set
		if word == "done" {
			slices.Sort(a.Unboosted)
			text += " unboosts " + strings.Join(a.Unboosted, ",")
		}
	}
	return text, outcomesOf[word]
}

// describe is what a resize sets.
func describe(a update.Action) string {
	var set []string
	for _, target := range a.Targets {
		for r := range vertical.Resource(vertical.Resources) {
			if amount, ok := target.Requests.Get(r); ok {
				set = append(set, fmt.Sprintf("%s.requests.%s=%d", target.Container, r, amount))
			}
			if amount, ok := target.Limits.Get(r); ok {
				set = append(set, fmt.Sprintf("%s.limits.%s=%d", target.Container, r, amount))
			}
		}
	}
	slices.Sort(set)
	return strings.Join(set, " ")
}

func (w *updaterWorld) count(d *update.Decision, actions []string) {
	resizeFailed := map[string]bool{}
	for _, action := range actions {
		words := strings.Fields(action)
		w.reached[words[0]+" "+words[2]]++
		if words[0] == "resize" && words[2] != "done" {
			resizeFailed[words[1]] = true
		}
		if words[0] == "evict" && resizeFailed[words[1]] {
			w.reached["evicted after a failed resize"]++
		}
	}
	if len(d.ToUpdate) > 1 {
		w.reached["several wanted"]++
	}
	for i := range d.Pods {
		v := &d.Pods[i]
		w.reached[v.Reason.String()]++
		if v.BlockedBy != reason.None {
			w.reached[v.BlockedBy.String()]++
			if v.Reason != reason.None {
				w.reached["wanted and held back"]++
			}
		}
	}
}

func (w *updaterWorld) observation() *update.Observation {
	o := &update.Observation{
		Recommended: recommendationsOf(w.vpa),
		Workload: disruption.Workload{
			Creators: map[string]disruption.Replicas{}, Target: disruption.Replicas{Configured: len(w.pods)},
		},
		// What follows is asked by divergences only.
		Conflicts: []conflict.Conflict{{Container: "web", Resource: vertical.CPU, Horizontal: webHPA}},
		Cluster: update.Cluster{Nodes: map[string]resize.Node{"node": {Known: true, Linux: true, Resizes: true,
			Allocatable: vertical.Of(2000, 4<<30)}}},
	}
	for _, pod := range w.pods {
		o.Pods = append(o.Pods, observevertical.Pod(pod))
	}
	for creator, configured := range w.creators {
		kind, _, _ := strings.Cut(creator, "/")
		replicas := disruption.Replicas{Configured: int(max(0, configured)), Unknown: configured <= 0}
		switch kind {
		case "Job":
			replicas = disruption.Replicas{AsFound: true}
		case "Foo":
			replicas = disruption.Replicas{}
		}
		o.Workload.Creators[creator] = replicas
	}
	if w.limitRange != nil {
		o.Ranges = &bounds.Ranges{Container: bounds.Range{
			Min: amountsOf(w.limitRange.Min), Max: amountsOf(w.limitRange.Max), Default: amountsOf(w.limitRange.Default),
		}}
	}
	return o
}

func amountsOf(list corev1.ResourceList) vertical.Amounts {
	var amounts vertical.Amounts
	if q, ok := list[corev1.ResourceCPU]; ok {
		amounts = amounts.With(vertical.CPU, vertical.Amount(q.MilliValue()))
	}
	if q, ok := list[corev1.ResourceMemory]; ok {
		amounts = amounts.With(vertical.Memory, vertical.Amount(q.Value()))
	}
	return amounts
}

func recommendationsOf(vpa *upstream.VerticalPodAutoscaler) []vertical.Recommendation {
	if vpa.Status.Recommendation == nil {
		return nil
	}
	all := []vertical.Recommendation{}
	for _, rec := range vpa.Status.Recommendation.ContainerRecommendations {
		all = append(all, vertical.Recommendation{
			Container: rec.ContainerName, Target: amountsOf(rec.Target), Lower: amountsOf(rec.LowerBound),
			Upper: amountsOf(rec.UpperBound),
		})
	}
	return all
}

var modes = map[upstream.UpdateMode]vertical.Mode{
	upstream.UpdateModeOff: vertical.ModeOff, upstream.UpdateModeInitial: vertical.ModeInitial,
	upstream.UpdateModeRecreate:          vertical.ModeRecreate,
	upstream.UpdateModeInPlaceOrRecreate: vertical.ModeInPlaceOrRecreate, upstream.UpdateModeInPlace: vertical.ModeInPlace,
}

func (w *updaterWorld) policy() *update.Policy {
	p := &update.Policy{
		Mode: modes[upstreamvpa.GetUpdateMode(w.vpa)], HasBoost: upstreamvpa.HasStartupBoost(w.vpa),
		Boost:       boostOf(w.vpa.Spec.StartupBoost),
		MinReplicas: w.minReplicas, Tolerance: w.tolerance, MinChange: w.minChange, Lifetime: w.lifetime,
		AfterOOM:   w.afterOOM,
		SkipBudget: w.skipBudget, Unrestricted: w.vpa.Spec.UpdatePolicy == nil, Divergences: divergence.None,
	}
	if own := w.vpa.Spec.UpdatePolicy; own != nil {
		if own.MinReplicas != nil {
			p.MinReplicas = int(*own.MinReplicas)
		}
		if own.EvictAfterOOMSeconds != nil {
			p.AfterOOM = time.Duration(*own.EvictAfterOOMSeconds) * time.Second
		}
		for _, required := range own.EvictionRequirements {
			p.Requirements = append(p.Requirements, requirementOf(required))
		}
	}
	if w.vpa.Spec.ResourcePolicy != nil {
		for _, own := range w.vpa.Spec.ResourcePolicy.ContainerPolicies {
			policy := vertical.ContainerPolicy{
				Container: own.ContainerName, Off: own.Mode != nil && *own.Mode == upstream.ContainerScalingModeOff,
				Controlled: vertical.Controls(),
				MinAllowed: amountsOf(own.MinAllowed), MaxAllowed: amountsOf(own.MaxAllowed), Boost: boostOf(own.StartupBoost),
			}
			if own.ControlledValues != nil {
				policy.Values = vertical.RequestsOnly
			}
			p.Containers = append(p.Containers, policy)
		}
	}
	return p
}

func boostOf(b *upstream.StartupBoost) *vertical.Boost {
	if b == nil {
		return nil
	}
	return &vertical.Boost{Factor: *b.CPU.Factor, Duration: time.Duration(*b.CPU.DurationSeconds) * time.Second}
}

func requirementOf(r *upstream.EvictionRequirement) priority.Requirement {
	required := priority.Requirement{Direction: map[upstream.EvictionChangeRequirement]priority.Direction{
		upstream.TargetHigherThanRequests: priority.Higher, upstream.TargetLowerThanRequests: priority.Lower,
	}[r.ChangeRequirement]}
	for _, name := range r.Resources {
		if name == corev1.ResourceCPU {
			required.Resources = append(required.Resources, vertical.CPU)
		} else {
			required.Resources = append(required.Resources, vertical.Memory)
		}
	}
	return required
}
