package recommender

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
)

// Conditions of Plimsoll's own, about the object rather than about what was
// measured.
const (
	// ConfigInvalid is true while the object says what cannot be done; the rest of it
	// is done.
	ConfigInvalid = "ConfigInvalid"
	// TargetShared is true while another object changes pods of the same workload.
	TargetShared = "TargetShared"
	// MetricsMissing is true while containers run and nobody says what they use.
	MetricsMissing = "MetricsMissing"
	// CPUContended is true while a container does not get the CPU that it wants: use
	// alone does not show it.
	CPUContended = "CPUContended"
)

// owned are the conditions that the recommender writes. Others' stay as they are.
var owned = []string{
	recommend.RecommendationProvided, recommend.NoPodsMatched, recommend.ConfigUnsupported, recommend.ConfigDeprecated,
	recommend.LowConfidence, recommend.ImplausibleSamples, recommend.DamagedCheckpoint, conflict.Condition, ConfigInvalid, TargetShared,
	CPUContended, MetricsMissing,
}

// looked are those of them that are found here.
var looked = []string{ConfigInvalid, TargetShared, CPUContended, MetricsMissing}

const (
	// unmeasuredPasses without a sample are too many, and unmeasuredFor is how long they
	// take at least: a pod that has just started is measured after a while.
	unmeasuredPasses = 3
	unmeasuredFor    = time.Minute
)

// measured reports whether the workload's containers were measured not long ago, or
// need not be.
func (t *track) measured(now time.Time, w *work, o *recommend.Observation, interval time.Duration) bool {
	if t.sampled.IsZero() || len(o.Samples) > 0 || !w.isRunning || o.Lookup.Problem != "" {
		t.sampled = now
	}
	return now.Sub(t.sampled) <= max(unmeasuredFor, unmeasuredPasses*interval)
}

// finding is a condition that is true.
type finding struct{ condition, reason, message string }

// findings are what is wrong with an object.
func findings(w *work, o *recommend.Observation) []finding {
	var found []finding
	everything := validation.Features{CPUStartupBoost: true, PerVPAConfig: true, InPlace: true}
	// As if it were updated without a change: what is merely out of date is fine.
	if _, errs := validation.Validate(w.object, w.object, everything); len(errs) > 0 {
		var all []string
		for _, err := range errs {
			all = append(all, err.Error())
		}
		found = append(found, finding{ConfigInvalid, "Invalid", strings.Join(all, "; ")})
	}
	if w.track.overlap != "" {
		found = append(found, finding{TargetShared, "SeveralAutoscalers", w.track.overlap})
	}
	if message := w.track.contention(o.Samples); message != "" {
		found = append(found, finding{CPUContended, "LimitOrNode", message})
	}
	if w.unmeasured {
		found = append(found, finding{MetricsMissing, "NoSamples",
			"pods run, and neither their kubelets nor metrics.k8s.io say what they use: what is recommended is out of date, or missing"})
	}
	return found
}

// addFindings adds the conditions to the decision, takes those away that no longer
// hold, and tells of new ones.
func addFindings(now time.Time, w *work, o *recommend.Observation, d *recommend.Decision) {
	found, changed := findings(w, o), false
	d.Conditions = slices.DeleteFunc(d.Conditions, func(c recommend.Condition) bool {
		gone := slices.Contains(looked, c.Type) &&
			!slices.ContainsFunc(found, func(f finding) bool { return f.condition == c.Type })
		changed = changed || gone
		return gone
	})
	for _, f := range found {
		condition := recommend.Condition{Type: f.condition, Status: "True", Reason: f.reason, Message: f.message, Since: now}
		i := slices.IndexFunc(d.Conditions, func(c recommend.Condition) bool { return c.Type == f.condition })
		if i >= 0 && d.Conditions[i].Status == condition.Status {
			condition.Since = d.Conditions[i].Since
			changed = changed || d.Conditions[i] != condition
			d.Conditions[i] = condition
			continue
		}
		if i >= 0 {
			d.Conditions = slices.Delete(d.Conditions, i, i+1)
		}
		d.Conditions, changed = append(d.Conditions, condition), true
		d.Events = append(d.Events, recommend.Event{Warning: true, Reason: f.condition, Message: f.message})
	}
	slices.SortFunc(d.Conditions, func(a, b recommend.Condition) int { return cmp.Compare(a.Type, b.Type) })
	if changed && d.Write == "" {
		d.Write = "a condition changed"
	}
}

// overlapsOf says of objects that others change pods of the same workload. One in
// mode Off changes none.
func overlapsOf(works []*work) map[types.NamespacedName]string {
	type key struct {
		namespace string
		workload  workload
	}
	sharing := map[key][]*vpav1.VerticalPodAutoscaler{}
	for _, w := range works {
		if w.object.Spec.TargetRef != nil && observevertical.ModeOf(&w.object.Spec) != vertical.ModeOff {
			k := key{w.object.Namespace, workloadOf(w.object)}
			sharing[k] = append(sharing[k], w.object)
		}
	}
	overlaps := map[types.NamespacedName]string{}
	for k, all := range sharing {
		if len(all) < 2 {
			continue
		}
		// As upstream's updater and admission controller choose.
		slices.SortFunc(all, observevertical.Older)
		var names []string
		for _, object := range all {
			names = append(names, object.Name)
		}
		message := fmt.Sprintf("%s %s has several: %s; pods get what %s says", k.workload.kind, k.workload.name, strings.Join(names, ", "), names[0])
		for _, object := range all {
			overlaps[nameOf(object)] = message
		}
	}
	return overlaps
}
