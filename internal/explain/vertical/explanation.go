// Package vertical explains a VerticalPodAutoscaler: the recommendations for its containers and their steps, and for
// each pod why it is changed or is not.
//
// It reads the checkpoints, of Plimsoll or of upstream's recommender, and decides with the same core as the controller.
// It does not include samples since the last checkpoint.
package vertical

import (
	"fmt"
	"slices"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// Explanation has the recommendations, and the consequences for each pod.
type Explanation struct {
	Step        *snapshotvertical.Step
	Divergences divergence.Set
	Mode        vertical.Mode
	Recommended recommend.Decision
	Published   []vertical.Recommendation
	Update      update.Decision
	// Unboosted has the UIDs of pods whose start-up boost would end now.
	Unboosted map[string]bool
	Conflicts []conflict.Conflict
	// Features has the object's settings that are off, or of features whose state the API does not show.
	Features []string
	// Damaged has the checkpoints that could not be read.
	Damaged []string
}

// IsPlimsolls reports whether Plimsoll wrote the object's status last.
func IsPlimsolls(object *vpav1.VerticalPodAutoscaler) bool {
	for i := range object.ManagedFields {
		if f := &object.ManagedFields[i]; f.Subresource == "status" && f.Manager == vpa.FieldManager {
			return true
		}
	}
	return false
}

// Explain decides with these divergences.
func Explain(step *snapshotvertical.Step, divergences divergence.Set) (*Explanation, error) {
	settings, err := step.Settings()
	if err != nil {
		return nil, err
	}
	e := &Explanation{
		Step: step, Divergences: divergences, Mode: observevertical.ModeOf(&step.Object.Spec),
		Published: observevertical.RecommendationsOf(&step.Object.Status),
	}
	present, uids := containersOf(step.Pods)
	e.Conflicts = conflictsOf(step, present)
	settings.Recommender.Policy.Usage.Divergences = divergences
	policy := observevertical.RecommendPolicyOf(step.Object, settings.Recommender)
	o := recommend.Observation{
		Lookup: recommend.Lookup{Problem: step.Snapshot.Target.Problem}, Generation: step.Object.Generation, Pods: uids,
		Containers: present,
		Conflicts:  e.Conflicts, SkipsConflicts: divergences.Has(divergence.SkipConflict),
		Published: observevertical.PublishedOf(&step.Object.Status),
		// The other findings need samples and other objects: keep their published conditions.
		Findings: []status.Finding{{Kind: status.ConfigInvalid, Message: validation.Problem(step.Object)}},
	}
	if ineffective, isKnown := ineffectiveOf(step, present); isKnown {
		o.Findings = append(o.Findings, ineffective)
	}
	e.Recommended, _ = recommend.Decide(step.Snapshot.Time, policy, e.restore(&policy), o)
	e.pass(&settings)
	return e, nil
}

// restore returns what the checkpoints contain.
func (e *Explanation) restore(policy *recommend.Policy) recommend.State {
	var state recommend.State
	for _, checkpoint := range e.Step.Checkpoints {
		if checkpoint.Spec.VPAObjectName != e.Step.Object.Name {
			continue
		}
		saved, _, err := observevertical.CheckpointOf(checkpoint)
		if err == nil {
			state, err = state.Restore(policy, checkpoint.Spec.ContainerName, saved, e.Step.Snapshot.Time)
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

// ineffectiveOf returns the finding about policies without effect; false if no pod is known.
func ineffectiveOf(step *snapshotvertical.Step, present []recommend.Present) (status.Finding, bool) {
	var containers status.Containers
	for i := range present {
		containers.Sized = append(containers.Sized, present[i].Container)
	}
	for _, pod := range step.Pods {
		for i := range pod.Spec.InitContainers {
			containers.Init = append(containers.Init, pod.Spec.InitContainers[i].Name)
		}
	}
	return status.FindIneffective(observevertical.PoliciesOf(&step.Object.Spec), containers)
}

func isSame(ref *autoscalingv1.CrossVersionObjectReference, version, kind, name string) bool {
	return observe.GroupKey(ref.APIVersion) == observe.GroupKey(version) &&
		observe.KindKey(ref.Kind) == observe.KindKey(kind) && ref.Name == name
}

func conflictsOf(step *snapshotvertical.Step, present []recommend.Present) []conflict.Conflict {
	ref := step.Object.Spec.TargetRef
	if ref == nil {
		return nil
	}
	var others []conflict.Horizontal
	for _, hpa := range step.Horizontals {
		if to := hpa.Spec.ScaleTargetRef; isSame(ref, to.APIVersion, to.Kind, to.Name) {
			others = append(others, observevertical.HorizontalOf(observehorizontal.HPA(hpa)))
		}
	}
	for _, wla := range step.Workloads {
		if to := wla.Spec.ScaleTargetRef; isSame(ref, to.APIVersion, to.Kind, to.Name) {
			others = append(others, observevertical.HorizontalsOf(observehorizontal.WorkloadAutoscaler(wla))...)
		}
	}
	names := make([]string, len(present))
	for i := range present {
		names[i] = present[i].Container
	}
	v := &conflict.Vertical{
		Name: step.Object.Name, Mode: observevertical.ModeOf(&step.Object.Spec),
		Policies: observevertical.PoliciesOf(&step.Object.Spec),
	}
	return conflict.Find(v, others, names)
}
