package vertical

import (
	"fmt"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// noSamples is where nothing but samples lacks.
const noSamples = "no checkpoint has samples"

// nothing is why nothing is recommended: " yet: …" where that may change by itself.
func (e *Explanation) nothing() string {
	spec := &e.Step.Object.Spec
	switch {
	case e.areAllLeftOut():
		return ": " + status.AllLeftOut
	case e.areAllSkipped():
		return ": " + conflictText(&e.Conflicts[0]) + e.moreConflicts()
	case len(spec.Recommenders) > 0 && len(e.Recommended.Traces) == 0:
		return fmt.Sprintf(" yet: spec.recommenders leaves it to %s, and %s", spec.Recommenders[0].Name, noSamples)
	case len(e.Step.Pods) == 0 && len(e.Recommended.Traces) == 0:
		return " yet: it has no pods, and " + noSamples
	case len(e.Recommended.Traces) > 0:
		return " yet: there is no sample of what it controls"
	}
	return " yet: " + noSamples
}

// areAllLeftOut reports whether the policies leave out each container that the pods have.
func (e *Explanation) areAllLeftOut() bool {
	present, _ := containersOf(e.Step.Pods)
	names := make([]string, len(present))
	for i := range present {
		names[i] = present[i].Container
	}
	return status.LeavesOutAll(observevertical.PoliciesOf(&e.Step.Object.Spec), names)
}

// areAllSkipped reports whether horizontal autoscalers divide by all that would be recommended.
func (e *Explanation) areAllSkipped() bool {
	isSkipped := false
	for i := range e.Recommended.Traces {
		t := &e.Recommended.Traces[i]
		for r := range vertical.Resource(vertical.Resources) {
			if t.Controlled[r] && !t.Skipped[r] {
				return false
			}
			isSkipped = isSkipped || t.Skipped[r]
		}
	}
	return isSkipped && len(e.Conflicts) > 0
}

// moreConflicts counts those that a sentence does not name.
func (e *Explanation) moreConflicts() string {
	switch more := len(e.Conflicts) - 1; more {
	case 0:
		return ""
	case 1:
		c := &e.Conflicts[1]
		return fmt.Sprintf(" and on %s of container %s", c.Resource, c.Container)
	default:
		return fmt.Sprintf(" and on %d more", more)
	}
}

// appliesInstead is the object that the updater and the admission controller take for the pods, if it is another one.
func (e *Explanation) appliesInstead() string {
	at := slices.IndexFunc(e.Recommended.Conditions, func(c condition.Condition) bool {
		return c.Type == status.TargetShared.String() && c.Status == condition.True
	})
	if at < 0 {
		return ""
	}
	if applies := status.AppliesOf(e.Recommended.Conditions[at].Message); applies != e.Step.Object.Name {
		return applies
	}
	return ""
}
