// Package sizes explains a VerticalPodAutoscaler: what its containers are recommended
// and how that number came about, and of each pod why it is changed or is not.
//
// It learns from the checkpoints, which are in the API whoever writes them, Plimsoll
// or upstream's recommender, and decides with the same core as the controller. What
// the recommender has learnt since the last checkpoint is not in it.
package sizes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	autoscaling "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/disruption"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	observe "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// Known is what is to be seen of an object and its workload.
type Known struct {
	Object      *autoscaling.VerticalPodAutoscaler
	Checkpoints []*autoscaling.VerticalPodAutoscalerCheckpoint
	// Problem is why the workload's pods cannot be known; empty if they are.
	Problem     string
	Pods        []*corev1.Pod
	Replicas    int
	Ranges      []*corev1.LimitRange
	Nodes       []*corev1.Node
	Horizontals []*autoscalingv2.HorizontalPodAutoscaler
	// NoResize says that the API server has no pods/resize.
	NoResize bool
	Now      time.Time
}

// Explanation is what is recommended, and what follows for each pod.
type Explanation struct {
	Known       *Known
	Mode        vertical.Mode
	Recommended recommend.Decision
	Published   []vertical.Recommendation
	Update      update.Decision
	Conflicts   []conflict.Conflict
	// Features are what the object asks for that is off, or that nobody can see.
	Features []string
	// Damaged are checkpoints that could not be read.
	Damaged []string
}

// IsPlimsolls reports whether Plimsoll wrote the object's status last.
func IsPlimsolls(object *autoscaling.VerticalPodAutoscaler) bool {
	for i := range object.ManagedFields {
		if f := &object.ManagedFields[i]; f.Subresource == "status" && f.Manager == vpa.FieldManager {
			return true
		}
	}
	return false
}

// Explain decides with the flags' defaults and these divergences.
func Explain(k *Known, divergences divergence.Set) *Explanation {
	e := &Explanation{Known: k, Mode: observe.ModeOf(&k.Object.Spec), Published: observe.RecommendationsOf(&k.Object.Status)}
	present, uids := containersOf(k.Pods)
	e.Conflicts = conflictsOf(k, present)
	policy := recommend.DefaultPolicy()
	policy.Usage.Divergences = divergences
	policy.Containers = observe.PoliciesOf(&k.Object.Spec)
	o := recommend.Observation{
		Lookup: recommend.Lookup{Problem: k.Problem}, Generation: k.Object.Generation, Pods: uids, Containers: present,
		Conflicts: e.Conflicts, SkipsConflicts: divergences.Has(divergence.SkipConflict), Published: observe.PublishedOf(&k.Object.Status),
	}
	e.Recommended, _ = recommend.Decide(k.Now, policy, e.restore(&policy), o)
	e.update(divergences)
	return e
}

// restore is what the checkpoints hold.
func (e *Explanation) restore(policy *recommend.Policy) recommend.State {
	var state recommend.State
	for _, checkpoint := range e.Known.Checkpoints {
		if checkpoint.Spec.VPAObjectName != e.Known.Object.Name {
			continue
		}
		saved, _, err := observe.CheckpointOf(checkpoint)
		if err == nil {
			state, err = state.Restore(policy, checkpoint.Spec.ContainerName, saved, e.Known.Now)
		}
		if err != nil {
			e.Damaged = append(e.Damaged, fmt.Sprintf("%s: %v", checkpoint.Name, err))
		}
	}
	return state
}

func containersOf(pods []*corev1.Pod) (present []recommend.Present, uids []string) {
	counts := map[string]int{}
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodPending {
			continue
		}
		uids = append(uids, string(pod.UID))
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		for i := range pod.Spec.Containers {
			counts[pod.Spec.Containers[i].Name]++
		}
	}
	for name, n := range counts {
		present = append(present, recommend.Present{Container: name, Pods: n})
	}
	slices.SortFunc(present, func(a, b recommend.Present) int { return strings.Compare(a.Container, b.Container) })
	return present, uids
}

func conflictsOf(k *Known, present []recommend.Present) []conflict.Conflict {
	ref := k.Object.Spec.TargetRef
	if ref == nil {
		return nil
	}
	var others []conflict.Horizontal
	for _, hpa := range k.Horizontals {
		if hpa.Spec.ScaleTargetRef.Kind == ref.Kind && hpa.Spec.ScaleTargetRef.Name == ref.Name {
			others = append(others, observe.HorizontalOf(hpa))
		}
	}
	names := make([]string, len(present))
	for i := range present {
		names[i] = present[i].Container
	}
	v := &conflict.Vertical{Name: k.Object.Name, Mode: observe.ModeOf(&k.Object.Spec), Policies: observe.PoliciesOf(&k.Object.Spec)}
	return conflict.Find(v, others, names)
}

// update decides on the pods, by what is published: that is what the updater reads.
func (e *Explanation) update(divergences divergence.Set) {
	k := e.Known
	flags := update.DefaultPolicy()
	flags.Divergences = divergences
	gates, known := observe.KnownGates(&k.Object.Status)
	e.Features = featuresOf(k, gates, known)
	policy := observe.UpdatePolicyOf(&k.Object.Spec, &flags, gates)
	o := update.Observation{
		Recommended: e.Published, Ranges: observe.RangesOf(k.Ranges), Conflicts: e.Conflicts, Past: observe.PastOf(&k.Object.Status),
		Workload: disruption.Workload{Target: disruption.Replicas{Configured: k.Replicas, AsFound: k.Replicas == 0}, Creators: map[string]disruption.Replicas{}},
		Cluster:  update.Cluster{Unsupported: k.NoResize, Nodes: map[string]resize.Node{}},
	}
	for _, node := range k.Nodes {
		o.Cluster.Nodes[node.Name] = observe.NodeOf(node)
	}
	for _, pod := range k.Pods {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || pod.DeletionTimestamp != nil {
			continue
		}
		p := observe.Pod(pod)
		o.Pods = append(o.Pods, p)
		o.Workload.Creators[p.Creator] = disruption.Replicas{AsFound: true}
	}
	var state update.State
	e.Update, state = update.Decide(k.Now, &policy, state, &o)
	for action, ok := e.Update.Next(&state); ok; action, ok = e.Update.Next(&state) {
		e.Update.Settle(k.Now, &state, action, update.Done)
	}
}

// featuresOf says what the object asks for in vain. Where no updater says which gates
// it has, they are taken for on, and that is said.
func featuresOf(k *Known, gates observe.Gates, known bool) []string {
	asked := observe.AskedOf(&k.Object.Spec)
	has := report.Features{
		InPlace: gates.InPlace, CPUStartupBoost: gates.CPUStartupBoost, PerVPAConfig: gates.PerVPAConfig, PodsResize: !k.NoResize,
	}
	var said []string
	missing, is := report.Missing(asked, has)
	isSaid := func(c autoscaling.VerticalPodAutoscalerCondition) bool { return c.Message == missing.Message }
	if is && !slices.ContainsFunc(k.Object.Status.Conditions, isSaid) {
		said = append(said, missing.Message)
	}
	if known {
		return said
	}
	unseen, is := report.Missing(asked, report.Features{PodsResize: true})
	if is {
		said = append(said, "whether the updater has "+strings.ReplaceAll(unseen.Reason, ",", ", ")+" among its --feature-gates is unknown; taken for on")
	}
	return said
}
