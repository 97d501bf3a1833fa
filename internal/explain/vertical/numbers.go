package vertical

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// mostNumbers is how many lines follow the sentence at most. Another one counts those that are left out.
const mostNumbers = 6

// numbers are those that the sentence rests on: the object, its problems, the recommendations, the pod that changes
// first, and the updater.
func (e *Explanation) numbers() []output.Line {
	k, p, last, more := e.Step, &output.Page{}, &output.Page{}, &output.Page{}
	p.Add("object", "VerticalPodAutoscaler %s/%s at %s", k.Object.Namespace, k.Object.Name,
		k.Snapshot.Time.Format(time.RFC3339))
	p.Add("target", "%s", e.targetText())
	e.addProblems(p, more)
	e.addRecommendations(p)
	if v := e.firstPod(); v != nil {
		text := append([]string{v.Pod.Name + " requests " + RequestsText(v)}, e.capSentences(v)...)
		last.Add("pod", "%s", strings.Join(text, "; "))
	}
	if said := e.UpdaterSentences(); len(said) > 0 {
		last.Add("updater", "%s", strings.Join(said, "; "))
	}
	lines := p.All()
	printed := min(len(lines), mostNumbers-len(last.All()))
	last.AddLeftOut(append(slices.Clone(lines[printed:]), more.All()...))
	return append(lines[:printed:printed], last.All()...)
}

// addProblems adds what the sentence may not say: checkpoints that cannot be read, settings that are off, and the
// findings that hold. Of several checkpoints or settings, more gets those after the first.
func (e *Explanation) addProblems(p, more *output.Page) {
	if problem := e.Step.Snapshot.Target.Problem; problem != "" && len(e.Published) > 0 {
		p.Add("problem", "%s", problem)
	}
	to := p
	for _, damage := range e.Damaged {
		to.Add("checkpoint", "cannot be read: %s", damage)
		to = more
	}
	to = p
	for _, text := range e.Features {
		to.Add("feature", "%s", text)
		to = more
	}
	for _, c := range e.Recommended.Conditions {
		isOfConfig := c.Type == status.ConfigInvalid.String() || c.Type == status.ConfigIneffective.String()
		if isOfConfig && c.Status == condition.True {
			p.Add("condition", "%s", c.Type+" "+c.Message)
		}
	}
}

// addRecommendations adds a line for each container.
func (e *Explanation) addRecommendations(p *output.Page) {
	recommended := e.recommendations()
	for i := range recommended {
		p.Add("container", "%s: %s", recommended[i].Container, e.recommendedText(&recommended[i]))
	}
}

// recommendedText is a recommendation with its bounds, and why a resource has none.
func (e *Explanation) recommendedText(rec *vertical.Recommendation) string {
	trace := e.Recommended.TraceOf(rec.Container)
	var parts []string
	for r := range vertical.Resource(vertical.Resources) {
		_, has := rec.Target.Get(r)
		switch {
		case has:
			parts = append(parts, fmt.Sprintf("%s %s", r, rangeText(rec, r)))
		case trace != nil:
			parts = append(parts, fmt.Sprintf("%s %s", r, notRecommended(trace, r)))
		}
	}
	return strings.Join(parts, "; ")
}

// recommendations are those that are published, or else those about to be.
func (e *Explanation) recommendations() []vertical.Recommendation {
	if len(e.Published) > 0 {
		return e.Published
	}
	return e.Recommended.Recommendations
}

// firstPod is the pod that the next pass changes, or else one that needs a change; nil without pods.
func (e *Explanation) firstPod() *update.Verdict {
	pods := e.Update.Pods
	if len(pods) == 0 {
		return nil
	}
	at := slices.IndexFunc(pods, func(v update.Verdict) bool { return v.Action != update.Nothing })
	if at < 0 {
		at = slices.IndexFunc(pods, func(v update.Verdict) bool { return v.Reason != reason.None })
	}
	return &pods[max(at, 0)]
}
