package vertical

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/summary"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/estimate"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// Summary is the explanation in one sentence: what is recommended, and what happens to the pods.
func (e *Explanation) Summary() string {
	if problem := e.Step.Snapshot.Target.Problem; problem != "" && len(e.Published) == 0 {
		return summary.SentenceOf("Recommends nothing: " + problem)
	}
	recommended, verb := e.recommendations(), "Recommends "
	if len(e.Published) == 0 {
		verb = "Is about to recommend "
	}
	if len(recommended) == 0 {
		return summary.SentenceOf("Recommends nothing" + e.nothing())
	}
	first := &recommended[0]
	text := fmt.Sprintf("%s%s for container %s", verb, e.targetsText(first), first.Container)
	text += e.unsampled(first.Container) + e.keptText(first.Container)
	switch others := len(recommended) - 1; {
	case others == 1:
		text += ", and more for another container"
	case others > 1:
		text += fmt.Sprintf(", and more for %d other containers", others)
	}
	return summary.SentenceOf(text + "; " + e.ofPods())
}

// targetsText are the targets, each with what it would be without minAllowed or maxAllowed: "cpu 150m (203m without
// maxAllowed) and memory 250Mi". Where that is only the recommender's minimum, it has what usage needs.
func (e *Explanation) targetsText(rec *vertical.Recommendation) string {
	policy := vertical.PolicyOf(observevertical.PoliciesOf(&e.Step.Object.Spec), rec.Container)
	var parts []string
	for r := range vertical.Resource(vertical.Resources) {
		target, has := rec.Target.Get(r)
		if !has {
			continue
		}
		text := r.String() + " " + amount(r, target)
		if uncapped, isKnown := rec.Uncapped.Get(r); isKnown && uncapped != target {
			text += fmt.Sprintf(" (%s without %s%s)", amount(r, uncapped), cappedBy(&policy, r, target),
				e.minimumText(rec.Container, r, uncapped))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, " and ")
}

// minimumText is that an amount is the recommender's minimum, and what usage needs: ", which is the recommender's
// minimum: usage needs 155.8Mi"; empty if it is not.
func (e *Explanation) minimumText(container string, r vertical.Resource, uncapped vertical.Amount) string {
	trace := e.Recommended.TraceOf(container)
	if trace == nil {
		return ""
	}
	of := &trace.Estimates[r][estimate.Target]
	needed := amount(r, of.Widened)
	if of.Floored == of.Widened || of.Rounded != uncapped || needed == amount(r, 0) {
		return ""
	}
	return ", which is the recommender's minimum: usage needs " + needed
}

// cappedBy is what a target was raised or lowered to.
func cappedBy(policy *vertical.ContainerPolicy, r vertical.Resource, target vertical.Amount) string {
	if most, isSet := policy.MaxAllowed.Get(r); isSet && most == target {
		return "maxAllowed"
	}
	if least, isSet := policy.MinAllowed.Get(r); isSet && least == target {
		return "minAllowed"
	}
	return "the recommender's flags"
}

// unsampled says that a container's numbers rest on little history, or that no source has samples of the pods, so that
// they are old or rest on none.
func (e *Explanation) unsampled(container string) string {
	conditions := e.Step.Object.Status.Conditions
	isMissing := slices.ContainsFunc(conditions, func(c vpav1.VerticalPodAutoscalerCondition) bool {
		return string(c.Type) == status.MetricsMissing.String() && c.Status == corev1.ConditionTrue
	})
	trace := e.Recommended.TraceOf(container)
	switch {
	case !isMissing && observevertical.HasLittleHistory(&e.Step.Object.Status):
		return ", with little history so far"
	case !isMissing:
		return ""
	case trace != nil && trace.Samples > 0:
		return fmt.Sprintf(", by %d earlier samples of CPU: neither the kubelets nor metrics.k8s.io report the pods",
			trace.Samples)
	}
	return ", without samples: neither the kubelets nor metrics.k8s.io report the pods, and no checkpoint has any"
}

// ofPods is what the updater's next pass does with the pods, or why it does nothing.
func (e *Explanation) ofPods() string {
	pods := e.Update.Pods
	if other := e.appliesInstead(); other != "" {
		return fmt.Sprintf("its pods are changed by VerticalPodAutoscaler %s alone", other)
	}
	if len(pods) == 0 {
		return "there are no pods that the updater could change"
	}
	if e.Mode == vertical.ModeOff {
		return "mode Off changes no pods"
	}
	stuck, before := e.stuckText(), ""
	if stuck != "" {
		before = stuck + "; "
	}
	isChanged := func(v update.Verdict) bool { return v.Action != update.Nothing }
	if at := slices.IndexFunc(pods, isChanged); at >= 0 {
		return fmt.Sprintf("%sthe next pass changes %s%s: %s would be %s, because %s", before,
			of(count(pods, isChanged), len(pods)), e.restText(), pods[at].Pod.Name, done[pods[at].Action], e.because(&pods[at]))
	}
	isWanting := func(v update.Verdict) bool { return v.Reason != reason.None && !isStuck(v) }
	if n := count(pods, isWanting); n > 0 {
		why, but := e.why(pods, isWanting), ", but not now: "
		if e.forbidden != nil && e.forbidden.isForGood() && why == e.forbidden.String() {
			but = ", but "
		}
		return before + needs(n, len(pods)) + " to be changed" + but + why
	}
	if stuck != "" {
		return stuck
	}
	return "no pod is changed: " + e.why(pods, func(update.Verdict) bool { return true })
}

// because is why a pod is changed. Of requests outside of the bounds for this pod, it names the first, and an OOM kill.
func (e *Explanation) because(v *update.Verdict) string {
	if v.Reason != reason.OutsideRange {
		return report.Sentence(v.Reason)
	}
	for i := range v.Pod.Containers {
		c := &v.Pod.Containers[i]
		rec, isRecommended := vertical.RecommendationOf(v.Fitted(), c.Name)
		if !isRecommended || !v.Pod.IsObserved(c.Name) {
			continue
		}
		switch text, isMemoryShort := outside(c, rec); {
		case isMemoryShort:
			return text + e.killed(c.Name)
		case text != "":
			return text
		}
	}
	return report.Sentence(v.Reason)
}

// killed is when a container of that name was last OOM-killed, and in which pod; empty if none has.
func (e *Explanation) killed(container string) string {
	var at time.Time
	name := ""
	for i := range e.Update.Pods {
		pod := e.Update.Pods[i].Pod
		for k := range pod.Containers {
			c := &pod.Containers[k]
			if c.Name == container && c.Crashed.OutOfMemory && c.Crashed.Finished.After(at) {
				at, name = c.Crashed.Finished, pod.Name
			}
		}
	}
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" (%s of %s was OOM-killed at %s)", container, name, e.clock(at))
}

// outside is which request of a container is outside of the bounds, or missing; empty if none is.
func outside(c *vertical.PodContainer, rec *vertical.Recommendation) (text string, isMemoryShort bool) {
	for r := range vertical.Resource(vertical.Resources) {
		if _, isRecommended := rec.Target.Get(r); !isRecommended {
			continue
		}
		request, isSet := c.Requests.Get(r)
		lower, hasLower := rec.Lower.Get(r)
		upper, hasUpper := rec.Upper.Get(r)
		switch {
		case !isSet:
			return fmt.Sprintf("%s requests no %s", c.Name, r), false
		case hasLower && request < lower:
			return fmt.Sprintf("%s requests %s %s, less than the lower bound of %s", c.Name, r, amount(r, request),
				amount(r, lower)), r == vertical.Memory
		case hasUpper && request > upper:
			return fmt.Sprintf("%s requests %s %s, more than the upper bound of %s", c.Name, r, amount(r, request),
				amount(r, upper)), false
		}
	}
	return "", false
}

func count(pods []update.Verdict, is func(update.Verdict) bool) (n int) {
	for i := range pods {
		if is(pods[i]) {
			n++
		}
	}
	return n
}

// of is "2 of 3 pods".
func of(n, all int) string {
	if all == 1 {
		return "the pod"
	}
	return fmt.Sprintf("%d of %d pods", n, all)
}

func needs(n, all int) string {
	if n == 1 {
		return of(n, all) + " needs"
	}
	return of(n, all) + " need"
}

// why is what keeps most of the pods as they are.
func (e *Explanation) why(pods []update.Verdict, is func(update.Verdict) bool) string {
	against := map[reason.Reason]int{}
	for i := range pods {
		if is(pods[i]) {
			against[pods[i].BlockedBy]++
		}
	}
	most := reason.None
	for r := range against {
		if against[r] > against[most] || against[r] == against[most] && r < most {
			most = r
		}
	}
	if most == reason.PodDisruptionBudget && e.forbidden != nil {
		return e.forbidden.String()
	}
	return cmp.Or(report.Sentence(most), "it is not their turn yet")
}
