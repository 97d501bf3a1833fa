package vertical

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// bounding has the source of each cap.
var bounding = map[bounds.Action]string{
	bounds.ToMinAllowed: "minAllowed", bounds.ToMaxAllowed: "maxAllowed",
	bounds.ToLimit:              "the container's limit, which stays (controlledValues RequestsOnly)",
	bounds.ToLimitRangeMax:      "the max of a LimitRange of containers",
	bounds.ToLimitRangeMin:      "the min of a LimitRange of containers",
	bounds.ToLimitRangeRatio:    "the maxLimitRequestRatio of a LimitRange of containers",
	bounds.ToPodResources:       "the pod's own resources",
	bounds.ToPodLimitRange:      "a LimitRange of pods",
	bounds.ToPodLimitRangeRatio: "the maxLimitRequestRatio of a LimitRange of pods",
	bounds.ToRequest:            "what the pod requests, as there is little history",
	bounds.NotObserved: "admission, which did not see the container when the pod was created (annotation " +
		observevertical.AnnotationObserved + ")",
}

// capSentences returns, for each target that differs from the published one, the steps that led to it: "app memory:
// 256Mi published; 128Mi by the container's limit".
func (e *Explanation) capSentences(v *update.Verdict) []string {
	var said []string
	for i := range v.Pod.Containers {
		container := &v.Pod.Containers[i]
		for r := range vertical.Resource(vertical.Resources) {
			if steps := e.capSteps(v.Caps, container, r); len(steps) > 0 {
				said = append(said, fmt.Sprintf("%s %s: %s published; %s", container.Name, r,
					e.publishedText(container.Name, r), strings.Join(steps, "; ")))
			}
		}
	}
	return said
}

// keptText is what a pod gets of the container's targets where a limit or a LimitRange changes these: ", of which web-1
// gets cpu 100m by the max of a LimitRange of containers"; empty otherwise.
func (e *Explanation) keptText(name string) string {
	v := e.firstPod()
	if v == nil {
		return ""
	}
	at := slices.IndexFunc(v.Pod.Containers, func(c vertical.PodContainer) bool { return c.Name == name })
	caps := slices.DeleteFunc(slices.Clone(v.Caps), func(c bounds.Cap) bool { return c.IsRemoved || !isByLimit(c.Action) })
	if at < 0 {
		return ""
	}
	var parts []string
	for r := range vertical.Resource(vertical.Resources) {
		if steps := e.capSteps(caps, &v.Pod.Containers[at], r); len(steps) > 0 {
			parts = append(parts, r.String()+" "+steps[len(steps)-1])
		}
	}
	if parts == nil {
		return ""
	}
	return fmt.Sprintf(", of which %s gets %s", v.Pod.Name, strings.Join(parts, ", and "))
}

// isByLimit reports whether a cap is of a limit or a LimitRange. The sentence has minAllowed and maxAllowed, and little
// history, otherwise.
func isByLimit(a bounds.Action) bool {
	switch a {
	case bounds.ToMinAllowed, bounds.ToMaxAllowed, bounds.ToRequest, bounds.NotObserved:
		return false
	}
	return true
}

// capSteps returns the caps of one container's resource, in order.
func (e *Explanation) capSteps(
	caps []bounds.Cap, container *vertical.PodContainer, r vertical.Resource,
) (steps []string) {
	for _, c := range caps {
		if c.Container == container.Name && c.Resource == r {
			step := capStep(c)
			if c.Action == bounds.ToLimitRangeMax {
				step += e.limitText(container, r)
			}
			steps = append(steps, step)
		}
	}
	return steps
}

// limitText is why the max of a LimitRange leads to a request below it: the limit grows with the request, and reaches
// the max first; empty if the container has no limit above its request.
func (e *Explanation) limitText(container *vertical.PodContainer, r vertical.Resource) string {
	request, limit := amountOf(container.Requests, r), amountOf(container.Limits, r)
	ranges := observevertical.RangesOf(e.Step.Ranges)
	if ranges == nil || request <= 0 || limit <= request {
		return ""
	}
	return fmt.Sprintf(", which is %s for the limit, %.3g times the request", amount(r, amountOf(ranges.Container.Max, r)),
		float64(limit)/float64(request))
}

func amountOf(amounts vertical.Amounts, r vertical.Resource) vertical.Amount {
	value, _ := amounts.Get(r)
	return value
}

func capStep(c bounds.Cap) string {
	if c.IsRemoved {
		return "no change by " + bounding[c.Action]
	}
	return amount(c.Resource, c.To) + " by " + bounding[c.Action]
}

func (e *Explanation) publishedText(container string, r vertical.Resource) string {
	if rec, ok := vertical.RecommendationOf(e.Published, container); ok {
		if target, has := rec.Target.Get(r); has {
			return amount(r, target)
		}
	}
	return "nothing"
}

// PodCap is a step that made a target of a pod differ from the published one.
type PodCap struct {
	Container string `json:"container"`
	Resource  string `json:"resource"`
	// Amount is the target after it, in milli-cores or bytes; absent if nothing is left.
	Amount *int64 `json:"amount,omitempty"`
	By     string `json:"by"`
}

func capsOf(v *update.Verdict) []PodCap {
	var caps []PodCap
	for _, c := range v.Caps {
		out := PodCap{Container: c.Container, Resource: c.Resource.String(), By: c.Action.String()}
		if amount := int64(c.To); !c.IsRemoved {
			out.Amount = &amount
		}
		caps = append(caps, out)
	}
	return caps
}
