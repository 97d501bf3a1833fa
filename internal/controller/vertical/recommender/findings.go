package recommender

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/cpucontention"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
)

// findingChecks has the checks of one VerticalPodAutoscaler, with their state from earlier passes.
type findingChecks struct {
	// sampled is when its containers last had samples, or last did not run.
	sampled time.Time
	effect  status.PolicyEffect
	// contended has the containers that get less CPU than they need.
	contended cpucontention.Contended
}

// workloadFacts are the inputs of the checks in one pass.
type workloadFacts struct {
	VPA *vpav1.VerticalPodAutoscaler
	// Policies are those of its containers.
	Policies []vertical.ContainerPolicy
	// SharedTarget is its message from sharedTargets.
	SharedTarget string
	// Containers are those of its pods; empty without pods.
	Containers status.Containers
	// IsRunning is set if one of its pods runs.
	IsRunning bool
	// Interval is the time between passes.
	Interval time.Duration
}

// Of returns the findings of one pass. A finding without a message means that the check found no problem.
func (c *findingChecks) Of(now time.Time, f workloadFacts, o *recommend.Observation) []status.Finding {
	if c.sampled.IsZero() || len(o.Samples) > 0 || !f.IsRunning || o.Lookup.Problem != "" {
		c.sampled = now
	}
	highest := map[string]cpucontention.Shares{}
	for i := range o.Samples {
		s := &o.Samples[i]
		highest[s.Container] = highest[s.Container].Max(s.Contention)
	}
	c.contended.Update(highest)
	found := []status.Finding{
		{Kind: status.ConfigInvalid, Message: validation.Problem(f.VPA)},
		{Kind: status.TargetShared, Message: f.SharedTarget},
		{Kind: status.CPUContended, Message: c.contended.Message()},
		status.FindMissing(now.Sub(c.sampled), f.Interval),
	}
	if ineffective, isFound := c.effect.Find(now, f.Policies, f.Containers); isFound {
		found = append(found, ineffective)
	}
	return found
}

// sharedTargets returns a message for each VerticalPodAutoscaler that changes pods of a workload together with others.
// One in mode Off changes none.
func sharedTargets(vpas []*vpav1.VerticalPodAutoscaler) map[types.NamespacedName]string {
	type workload struct{ namespace, group, kind, name string }
	sharing := map[workload][]*vpav1.VerticalPodAutoscaler{}
	for _, vpa := range vpas {
		if ref := vpa.Spec.TargetRef; ref != nil && observevertical.ModeOf(&vpa.Spec) != vertical.ModeOff {
			w := workload{vpa.Namespace, observe.GroupKey(ref.APIVersion), ref.Kind, ref.Name}
			sharing[w] = append(sharing[w], vpa)
		}
	}
	messages := map[types.NamespacedName]string{}
	for w, all := range sharing {
		if len(all) < 2 {
			continue
		}
		// Upstream's updater and admission controller choose in this order.
		slices.SortFunc(all, observevertical.Older)
		var names []string
		for _, vpa := range all {
			names = append(names, vpa.Name)
		}
		message := status.FindShared(w.kind, w.name, names).Message
		for _, vpa := range all {
			messages[types.NamespacedName{Namespace: vpa.Namespace, Name: vpa.Name}] = message
		}
	}
	return messages
}
