package vertical

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/summary"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
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
	text := fmt.Sprintf("%s%s for container %s", verb, amountsText(first.Target), first.Container)
	if more := len(recommended) - 1; more > 0 {
		text += fmt.Sprintf(" and more for %d others", more)
	}
	return summary.SentenceOf(text + "; " + e.ofPods())
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
	isChanged := func(v update.Verdict) bool { return v.Action != update.Nothing }
	if at := slices.IndexFunc(pods, isChanged); at >= 0 {
		return fmt.Sprintf("the next pass changes %s: %s would be %s, because %s", of(count(pods, isChanged), len(pods)),
			pods[at].Pod.Name, done[pods[at].Action], e.because(&pods[at]))
	}
	isWanting := func(v update.Verdict) bool { return v.Reason != reason.None }
	if n := count(pods, isWanting); n > 0 {
		return fmt.Sprintf("%s to be changed, but not now: %s", needs(n, len(pods)), why(pods, isWanting))
	}
	return "no pod is changed: " + why(pods, func(update.Verdict) bool { return true })
}

// because is why a pod is changed. Of requests outside of the bounds, it names the first. It names none where a
// LimitRange, a quota or what the pod uses changes the published bounds: the updater compares with others then.
func (e *Explanation) because(v *update.Verdict) string {
	if v.Reason != reason.OutsideRange || len(v.Caps) > 0 {
		return report.Sentence(v.Reason)
	}
	for i := range v.Pod.Containers {
		c := &v.Pod.Containers[i]
		rec, isPublished := vertical.RecommendationOf(e.Published, c.Name)
		if !isPublished || !v.Pod.IsObserved(c.Name) {
			continue
		}
		if text := outside(c, rec); text != "" {
			return text
		}
	}
	return report.Sentence(v.Reason)
}

// outside is which request of a container is outside of the bounds, or missing; empty if none is.
func outside(c *vertical.PodContainer, rec *vertical.Recommendation) string {
	for r := range vertical.Resource(vertical.Resources) {
		if _, isRecommended := rec.Target.Get(r); !isRecommended {
			continue
		}
		request, isSet := c.Requests.Get(r)
		lower, hasLower := rec.Lower.Get(r)
		upper, hasUpper := rec.Upper.Get(r)
		switch {
		case !isSet:
			return fmt.Sprintf("%s requests no %s", c.Name, r)
		case hasLower && request < lower:
			return fmt.Sprintf("%s requests %s %s, less than the lower bound of %s", c.Name, r, amount(r, request),
				amount(r, lower))
		case hasUpper && request > upper:
			return fmt.Sprintf("%s requests %s %s, more than the upper bound of %s", c.Name, r, amount(r, request),
				amount(r, upper))
		}
	}
	return ""
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
func why(pods []update.Verdict, is func(update.Verdict) bool) string {
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
	return cmp.Or(report.Sentence(most), "it is not their turn yet")
}
