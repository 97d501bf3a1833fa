// Package historybounds bounds a history that only its controller has.
//
// No API has the history of an HPA, its recommendations and scale events. But the status has the result of the last
// decision, and events have each scaling with its time. These give histories that bound the real one. A decision that
// all of them share is certain.
package historybounds

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// Rescale is a change of the replica count that an event reports.
type Rescale struct {
	At time.Time
	// To is the new count.
	To int32
	// IsWanted is set if a metric proposed that many pods or more: it was above its target.
	IsWanted bool
}

// rescaled is the message of an upstream SuccessfulRescale event.
var rescaled = regexp.MustCompile(`^New size: (\d+); reason: (?:.*( above target)$)?`)

// Rescales returns the changes that the events report, oldest first. It ignores events of other kinds.
func Rescales(events []corev1.Event) []Rescale {
	var found []Rescale
	for i := range events {
		e := &events[i]
		match := rescaled.FindStringSubmatch(e.Message)
		if e.Reason != "SuccessfulRescale" || match == nil {
			continue
		}
		if to, err := strconv.ParseInt(match[1], 10, 32); err == nil {
			found = append(found, Rescale{At: timeOf(e), To: int32(to), IsWanted: match[2] != ""})
		}
	}
	slices.SortStableFunc(found, func(a, b Rescale) int { return a.At.Compare(b.At) })
	return found
}

func timeOf(e *corev1.Event) time.Time {
	if e.LastTimestamp.IsZero() {
		return e.EventTime.Time
	}
	return e.LastTimestamp.Time
}

// Known is the information about an object that the API has.
type Known struct {
	// Autoscaler is the object with the status of its last decision, and Policy its settings.
	Autoscaler observehorizontal.Autoscaler
	Policy     *horizontal.Policy
	// Current is the target's count.
	Current int32
	// Rescales are from events, oldest first.
	Rescales []Rescale
	// Period is the time between two decisions on the object.
	Period      time.Duration
	Divergences divergence.Set
}

// longAgo is before any decision that still counts.
const longAgo = 366 * 24 * time.Hour

// Bounds returns histories that bound the real one: the first limits changes least, the others most, each in another
// way.
func Bounds(k *Known, now time.Time) []horizontal.State {
	if !k.decided() {
		return []horizontal.State{observehorizontal.FirstState(k.Autoscaler)}
	}
	bounds := k.ofLimits(now)
	if !k.Autoscaler.IsWorkload() {
		return bounds
	}
	// No API has the time since when metrics have failed, or since when none has been active, either: it may be now, as
	// the states so far assume, or the creation of the object.
	since := k.Autoscaler.CreationTimestamp.Time
	if since.IsZero() {
		since = now.Add(-longAgo)
	}
	for _, s := range slices.Clone(bounds) {
		s = s.Clone()
		s.Fallbacks, s.IdleSince = fallback.FailingSince(k.Policy.Metrics, since), since
		bounds = append(bounds, s)
	}
	return bounds
}

// ofLimits returns the histories that limit changes.
func (k *Known) ofLimits(now time.Time) []horizontal.State {
	last := now.Add(-k.Period)
	certain := k.certain(last)
	possible := slices.Clone(certain)
	for _, count := range []int32{k.Autoscaler.Counts().DesiredReplicas, k.Current} {
		possible = append(possible, history.Recommendation{Time: last, Replicas: count})
	}
	// The history must not be empty: a controller without any history keeps the count.
	certain = append([]history.Recommendation{{Replicas: k.Current}}, certain...)
	bounds := []horizontal.State{k.state(certain)}
	first, wasScaled := k.first()
	if !wasScaled {
		return append(bounds, k.state(possible))
	}
	// The size and the direction of the first change are unknown: either budget may be used up.
	for _, by := range []int32{k.largest(), -k.largest()} {
		s := k.state(possible)
		k.change(&s, first, by)
		bounds = append(bounds, s)
	}
	return bounds
}

// first returns the time of the oldest change of unknown size, if there was a change.
func (k *Known) first() (at time.Time, wasScaled bool) {
	if len(k.Rescales) > 0 {
		return k.Rescales[0].At, true
	}
	if scaled := k.Autoscaler.Counts().LastScaleTime; scaled != nil {
		return scaled.Time, true
	}
	return time.Time{}, false
}

func (k *Known) state(made []history.Recommendation) horizontal.State {
	s := observehorizontal.FirstState(k.Autoscaler)
	for _, r := range made {
		behavior.Remember(&s.Recommendations, k.Divergences, r, time.Time{})
	}
	for i := 1; i < len(k.Rescales); i++ {
		k.change(&s, k.Rescales[i].At, k.Rescales[i].To-k.Rescales[i-1].To)
	}
	return s
}

// decided reports whether metrics have ever decided on the object.
func (k *Known) decided() bool {
	return k.Autoscaler.Condition(statusreport.ScalingActive).Type != ""
}

// certain returns the recommendations that must have been made. A decision without limits recommended its count; a
// scale-up recommended its count or more, and a scale-down its count or less: more extreme ones would only limit more.
func (k *Known) certain(last time.Time) []history.Recommendation {
	var made []history.Recommendation
	for i, r := range k.Rescales {
		if r.IsWanted || i > 0 && r.To != k.Rescales[i-1].To {
			made = append(made, history.Recommendation{Time: r.At, Replicas: r.To})
		}
	}
	free := k.Autoscaler.Condition(statusreport.ScalingLimited).Reason == "DesiredWithinRange"
	able := k.Autoscaler.Condition(statusreport.AbleToScale).Reason
	if free && (able == "ReadyForNewScale" || able == "SucceededRescale") {
		made = append(made, history.Recommendation{Time: last, Replicas: k.Autoscaler.Counts().DesiredReplicas})
	}
	slices.SortStableFunc(made, func(a, b history.Recommendation) int { return a.Time.Compare(b.Time) })
	return made
}

// largest returns a change that uses up any budget.
func (k *Known) largest() int32 {
	return cmp.Or(k.Current, 1) + k.Autoscaler.MaxReplicas()
}

func (k *Known) change(s *horizontal.State, at time.Time, by int32) {
	switch {
	case by > 0:
		s.ScaleUps = append(s.ScaleUps, history.Change{Time: at, Replicas: by})
	case by < 0:
		s.ScaleDowns = append(s.ScaleDowns, history.Change{Time: at, Replicas: -by})
	}
}
