package recommend

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
)

// The types of conditions. The first five are upstream's, LowConfidence is one that upstream defines and never sets.
const (
	RecommendationProvided = "RecommendationProvided"
	NoPodsMatched          = "NoPodsMatched"
	ConfigUnsupported      = "ConfigUnsupported"
	ConfigDeprecated       = "ConfigDeprecated"
	LowConfidence          = "LowConfidence"
	// ImplausibleSamples is true for an hour after such a sample.
	ImplausibleSamples = "ImplausibleSamples"
	// DamagedCheckpoint is true until a new checkpoint is saved, and while the earlier recommendation is a floor.
	DamagedCheckpoint = "DamagedCheckpoint"
)

const (
	noPods = "No pods match this VPA object"
	// absurdFor keeps the condition from flapping.
	absurdFor = time.Hour
	// enough is the confidence below which history is little: one sample a minute for a whole confidence interval.
	enough = 1
)

// warned are the conditions that are also events.
var warned = []string{
	ConfigUnsupported, ImplausibleSamples, DamagedCheckpoint, conflict.Condition,
	status.ConfigInvalid.String(), status.ConfigIneffective.String(), status.TargetShared.String(),
	status.MetricsMissing.String(), status.CPUContended.String(),
}

// Owned has the types of the conditions that the recommender writes. It does not change others.
var Owned = append([]string{RecommendationProvided, NoPodsMatched, ConfigDeprecated, LowConfidence}, warned...)

// conditions returns the published conditions with the changes of this decision.
func conditions(now time.Time, p *Policy, s State, o *Observation, d *Decision) []condition.Condition {
	set := &conditionSet{now: now}
	if o.Published != nil {
		set.all = slices.Clone(o.Published.Conditions)
		condition.Sorted.Sort(set.all)
	}
	set.when(ConfigUnsupported, o.Lookup.Problem != "", "", o.Lookup.Problem)
	set.when(ConfigDeprecated, false, "", "")
	matched := len(o.Pods) > 0 && o.Lookup.Problem == ""
	if p.keepsHistory(o) {
		matched = !o.Published.IsTrue(NoPodsMatched)
	}
	reason, message := "", ""
	if !matched {
		reason, message = NoPodsMatched, noPods
	}
	set.when(NoPodsMatched, !matched, reason, message)
	if len(d.Recommendations) > 0 {
		set.put(RecommendationProvided, condition.True, "", "")
	} else {
		set.put(RecommendationProvided, condition.False, reason, message)
	}
	own(set, p, s, o, d)
	for _, f := range o.Findings {
		set.when(f.Kind.String(), f.Message != "", f.Kind.Reason(), f.Message)
	}
	return set.all
}

// own are the conditions that upstream never sets.
func own(set *conditionSet, p *Policy, s State, o *Observation, d *Decision) {
	if p.Has(divergence.FiniteUpper) {
		few := unsure(d.Traces)
		set.when(LowConfidence, len(few) > 0, "LittleHistory",
			"The history is shorter than the confidence interval: "+strings.Join(few, ", "))
	}
	if p.Has(divergence.ImplausibleSamples) {
		recent := !s.Absurd.IsZero() && set.now.Sub(s.Absurd.Time()) < absurdFor
		set.when(ImplausibleSamples, recent, "SamplesLeftOut", "Discarded samples that no node could have produced")
	}
	if p.Has(divergence.SkipConflict) {
		set.when(conflict.Condition, len(o.Conflicts) > 0, conflict.ReasonUtilization,
			conflict.ForVertical(o.Conflicts, o.SkipsConflicts))
	}
	var damaged []string
	for i := range s.Containers {
		if c := &s.Containers[i]; c.Damage != "" {
			damaged = append(damaged, fmt.Sprintf("%s: %s", c.Name, c.Damage))
		}
	}
	// After a restart only the status has the damaged containers.
	if len(damaged) > 0 || !s.keepsFloor(set.now) {
		set.when(DamagedCheckpoint, len(damaged) > 0, "HistoryLost", strings.Join(damaged, "; "))
	}
}

// unsure lists the containers with too little history.
func unsure(traces []Trace) []string {
	var names []string
	for i := range traces {
		t := &traces[i]
		few := false
		for r := range vertical.Resource(vertical.Resources) {
			few = few || t.Controlled[r] && t.Confidence[r] < enough
		}
		if few {
			names = append(names, t.Container)
		}
	}
	return names
}

// conditionSet collects the conditions.
type conditionSet struct {
	now time.Time
	all []condition.Condition
}

func (s *conditionSet) put(kind string, is condition.Status, reason, message string) {
	s.all, _ = condition.Sorted.Set(s.all,
		condition.Condition{Type: kind, Status: is, Reason: reason, Message: message, Since: s.now})
}

// when sets a condition to true, or removes it.
func (s *conditionSet) when(kind string, isTrue bool, reason, message string) {
	if isTrue {
		s.put(kind, condition.True, reason, message)
	} else {
		s.all, _ = condition.Sorted.Remove(s.all, kind)
	}
}

// events returns those of conditions that have just become true.
func events(before *status.Published, now []condition.Condition) []Event {
	var made []Event
	for i := range now {
		c := &now[i]
		if c.Status == condition.True && slices.Contains(warned, c.Type) && !before.IsTrue(c.Type) {
			made = append(made, Event{Warning: true, Reason: c.Type, Message: c.Message})
		}
	}
	return made
}
