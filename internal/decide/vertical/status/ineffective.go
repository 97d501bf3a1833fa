package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// ineffectiveFor is how long policies must have no effect for a condition: a rollout may be about to add a container.
const ineffectiveFor = time.Minute

// Containers are the names of the containers of a workload's pods.
type Containers struct {
	// Sized are those that an object may size, Init the init containers, of which it sizes none.
	Sized, Init []string
}

// AllLeftOut is the message if LeavesOutAll.
const AllLeftOut = "the resourcePolicy leaves out all containers, by mode Off or without controlledResources"

// LeavesOutAll reports whether policies leave out each of the containers. There must be one.
func LeavesOutAll(policies []vertical.ContainerPolicy, containers []string) bool {
	isSized := func(name string) bool {
		p := vertical.PolicyOf(policies, name)
		return !p.Off && p.Controlled != [vertical.Resources]bool{}
	}
	return len(containers) > 0 && !slices.ContainsFunc(containers, isSized)
}

// FindIneffective returns the finding about policies for containers that no pod has, and about policies that leave out
// every container. A policy that only leaves out a container which is not there does no harm. It returns false if there
// are no pods to compare with.
func FindIneffective(policies []vertical.ContainerPolicy, c Containers) (f Finding, isKnown bool) {
	f.Kind = ConfigIneffective
	if len(policies) == 0 || len(c.Sized) == 0 {
		return f, len(policies) == 0
	}
	var why []string
	if LeavesOutAll(policies, c.Sized) {
		why = append(why, AllLeftOut)
	}
	for i := range policies {
		switch p := &policies[i]; {
		case p.Off, p.Container == vertical.AllContainers, slices.Contains(c.Sized, p.Container):
		case slices.Contains(c.Init, p.Container):
			why = append(why, fmt.Sprintf("the policy for %s has no effect: init containers are not sized", p.Container))
		default:
			why = append(why, fmt.Sprintf("the policy for %s has no effect: no pod has such a container", p.Container))
		}
	}
	f.Message = strings.Join(why, "; ")
	return f, true
}

// PolicyEffect has when the policies of an object last had an effect. The zero value is for a new object.
type PolicyEffect struct {
	// last is when all of them had an effect, or could not be checked.
	last time.Time
}

// Find is FindIneffective for one check of several. It returns false, too, while the policies have not been without
// effect for long enough.
func (e *PolicyEffect) Find(now time.Time, policies []vertical.ContainerPolicy, c Containers) (Finding, bool) {
	f, isKnown := FindIneffective(policies, c)
	if e.last.IsZero() || !isKnown || f.Message == "" {
		e.last = now
	}
	return f, isKnown && (f.Message == "" || now.Sub(e.last) >= ineffectiveFor)
}
