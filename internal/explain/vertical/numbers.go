package vertical

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// mostNumbers is how many lines follow the sentence at most.
const mostNumbers = 6

// numbers are those that the sentence rests on: the object, its problems, the recommendations, the pod that changes
// first, and the updater.
func (e *Explanation) numbers() []output.Line {
	k, p, last := e.Step, &output.Page{}, &output.Page{}
	p.Add("object", "VerticalPodAutoscaler %s/%s at %s", k.Object.Namespace, k.Object.Name,
		k.Snapshot.Time.Format(time.RFC3339))
	p.Add("target", "%s", e.targetText())
	e.addProblems(p)
	e.addRecommendations(p)
	if v := e.firstPod(); v != nil {
		text := append([]string{v.Pod.Name + " requests " + RequestsText(v)}, e.capSentences(v)...)
		last.Add("pod", "%s", strings.Join(text, "; "))
	}
	if said := e.UpdaterSentences(); len(said) > 0 {
		last.Add("updater", "%s", strings.Join(said, "; "))
	}
	lines := p.All()
	return append(lines[:min(len(lines), mostNumbers-len(last.All()))], last.All()...)
}

// addProblems adds what the sentence may not say: checkpoints that cannot be read, settings that are off, and the
// findings that hold.
func (e *Explanation) addProblems(p *output.Page) {
	if problem := e.Step.Snapshot.Target.Problem; problem != "" && len(e.Published) > 0 {
		p.Add("problem", "%s", problem)
	}
	if len(e.Damaged) > 0 {
		p.Add("checkpoint", "cannot be read: %s", e.Damaged[0])
	}
	if len(e.Features) > 0 {
		p.Add("feature", "%s", e.Features[0])
	}
	for _, c := range e.Recommended.Conditions {
		if c.Type == status.ConfigInvalid.String() && c.Status == condition.True {
			p.Add("condition", "%s", c.Type+" "+c.Message)
		}
	}
}

// addRecommendations adds a line for each container.
func (e *Explanation) addRecommendations(p *output.Page) {
	recommended := e.recommendations()
	for i := range recommended {
		rec := &recommended[i]
		at := slices.IndexFunc(e.Recommended.Traces, func(t recommend.Trace) bool { return t.Container == rec.Container })
		var parts []string
		for r := range vertical.Resource(vertical.Resources) {
			_, has := rec.Target.Get(r)
			switch {
			case has:
				parts = append(parts, fmt.Sprintf("%s %s", r, rangeText(rec, r)))
			case at >= 0:
				parts = append(parts, fmt.Sprintf("%s %s", r, notRecommended(&e.Recommended.Traces[at], r)))
			}
		}
		p.Add("container", "%s: %s", rec.Container, strings.Join(parts, "; "))
	}
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
