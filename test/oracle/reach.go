package oracle

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	explainhorizontal "github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

var reasonOf = regexp.MustCompile(`^\S+ (?:Normal|Warning) (\w+):`)

// reach counts what a step touched.
func (t *Tally) reach(s *Situation, r *Result) {
	for i := range r.Status.Conditions {
		c := &r.Status.Conditions[i]
		t.Reached[fmt.Sprintf("condition %s %s %s", c.Type, c.Status, c.Reason)]++
	}
	for _, event := range r.Events {
		if found := reasonOf.FindStringSubmatch(event); found != nil {
			t.Reached["event "+found[1]]++
		}
	}
	for i := range s.Spec.Metrics {
		t.Reached["metric "+string(s.Spec.Metrics[i].Type)]++
	}
	for name, is := range s.happenings(r) {
		if is {
			t.Reached["situation "+name]++
		}
	}
}

func (s *Situation) happenings(r *Result) map[string]bool {
	return map[string]bool{
		"scale written": slices.ContainsFunc(r.Writes,
			func(w string) bool { return strings.HasSuffix(w, "<nil>") }),
		"scale write refused": slices.ContainsFunc(r.Writes,
			func(w string) bool { return !strings.HasSuffix(w, "<nil>") }),
		"conflicting scale write":    s.Scale.Conflicts > 0 && len(r.Writes) > 1,
		"status write refused":       s.StatusError != "",
		"controller restarted":       s.Restart,
		"object made again":          s.Recreate,
		"two objects on one target":  s.Rival,
		"with behavior":              s.Spec.Behavior != nil,
		"without behavior":           s.Spec.Behavior == nil,
		"window lengthened":          s.Lengthened,
		"written from zero":          s.Scale.Spec == 0 && len(r.Writes) > 0,
		"hostile numbers":            s.Wild,
		"scale unreadable":           s.Scale.GetError != "",
		"surge pods":                 len(s.Pods) > int(s.Scale.Spec),
		"no pods":                    len(s.Pods) == 0,
		"no pod ready":               len(s.Pods) > 0 && !slices.ContainsFunc(s.Pods, isReady),
		"resize pending":             slices.ContainsFunc(s.Pods, resizing),
		"pod finished":               slices.ContainsFunc(s.Pods, succeeded),
		"pod failed or on the way":   slices.ContainsFunc(s.Pods, uncounted),
		"no pod metrics":             s.Answers.ResourceError != "",
		"some metrics fail, not all": len(s.Answers.Errors) > 0 && len(s.Answers.Errors) < len(s.Spec.Metrics),
	}
}

// branches counts which ways the core takes through a timeline, and compares what
// becomes of its snapshots with upstream's status.
func (t *Tally) branches(l *Timeline) error {
	evaluator, complete := explainhorizontal.NewEvaluator(divergence.None), true
	var status autoscalingv2.HorizontalPodAutoscalerStatus
	for i, s := range l.Situations {
		if s.Restart {
			evaluator, complete = explainhorizontal.NewEvaluator(divergence.None), true
		}
		if s.Recreate {
			status = autoscalingv2.HorizontalPodAutoscalerStatus{}
		}
		// History continues from the snapshot alone.
		complete = complete && s.whole()
		result, err := evaluator.Next(s.snapshot(&status))
		if err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
		if complete {
			t.Replayed++
			own := observehorizontal.StatusOfHPA(result.Step.HPA, &result.Status)
			if text := replayed(&l.Upstream[i].Status, &own); text != "" {
				return fmt.Errorf("step %d replays otherwise (- upstream, + snapshot):\n%s", i, text)
			}
		}
		t.ways(&result)
		status = l.Upstream[i].Status
	}
	return nil
}

// whole reports whether a snapshot has all of the situation. What happens to
// writes is not in it, nor is a second object or a scale that cannot be read.
func (s *Situation) whole() bool {
	return s.hasReference() && !s.Rival && s.Scale.GetError == "" && s.StatusError == "" &&
		s.Scale.WriteError == "" && s.Scale.Conflicts == 0
}

func replayed(upstream, replayed *autoscalingv2.HorizontalPodAutoscalerStatus) string {
	// The snapshot's object has no generation.
	u, r := *upstream, *replayed
	u.ObservedGeneration, r.ObservedGeneration = nil, nil
	return diff(&Result{Status: u}, &Result{Status: r})
}

func (t *Tally) ways(r *explainhorizontal.Result) {
	d := &r.Decision
	t.Reached["branch "+d.Branch.String()]++
	for i := range d.Metrics {
		t.Reached[fmt.Sprintf("metric %s %s", r.Policy.Metrics[i].Type, d.Metrics[i].Verdict)]++
	}
	if d.Branch != horizontal.BranchMetrics {
		return
	}
	rules := "without behavior"
	if r.Policy.Behavior != nil {
		rules = "with behavior"
	}
	t.Reached[fmt.Sprintf("window %s %s", d.Stabilized.Reason, rules)]++
	t.Reached[fmt.Sprintf("limit %s %s", d.Limited.Reason, rules)]++
}
