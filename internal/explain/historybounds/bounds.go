// Package historybounds bounds a history that only its controller has.
//
// The history of an HPA, its recommendations and scale events, is in no API. Its traces
// are: status has the result of the last decision, and events have each scaling with its
// time. They give histories that the real one lies between. What all of them decide is
// certain.
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
	// IsWanted is set if a metric asked for that many pods or more: it was above its target.
	IsWanted bool
}

// rescaled is the message of an upstream SuccessfulRescale event.
var rescaled = regexp.MustCompile(`^New size: (\d+); reason: (?:.*( above target)$)?`)

// Rescales returns the changes that the events report, oldest first. Events of other kinds are left out.
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

// Known is what can be known of an object from outside.
type Known struct {
	// Autoscaler is the object with the status of its last decision, and Policy what it asks for.
	Autoscaler observehorizontal.Autoscaler
	Policy     *horizontal.Policy
	// Current is the target's count.
	Current int32
	// Rescales are from events, oldest first.
	Rescales []Rescale
	// Period is how often the object is decided.
	Period      time.Duration
	Divergences divergence.Set
}

// longAgo is before any decision that still counts.
const longAgo = 366 * 24 * time.Hour

// Bounds returns histories between which the real one lies: the first limits changes least, the others most, each in
// another way.
func Bounds(k *Known, now time.Time) []horizontal.State {
	if !k.decided() {
		return []horizontal.State{observehorizontal.FirstState(k.Autoscaler)}
	}
	bounds := k.ofLimits(now)
	if !k.Autoscaler.IsWorkload() {
		return bounds
	}
	// Since when metrics fail, and since when none is active, is in no API either: it may be now, which the states so far
	// say, or as long as there has been the object.
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
	// Not empty: a controller without any history keeps the count as it is.
	certain = append([]history.Recommendation{{Replicas: k.Current}}, certain...)
	bounds := []horizontal.State{k.state(certain)}
	first, wasScaled := k.first()
	if !wasScaled {
		return append(bounds, k.state(possible))
	}
	// How far the first change went, and which way, is not known: either budget may be
	// spent.
	for _, by := range []int32{k.largest(), -k.largest()} {
		s := k.state(possible)
		k.change(&s, first, by)
		bounds = append(bounds, s)
	}
	return bounds
}

// first returns when the oldest change was of which it is not known how far it went, if anything was scaled.
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

// certain returns the recommendations that must have been made. A decision that came to its count without any limit
// recommended it; a scale-up recommended as much as it came to or more, and a scale-down as little or less: what is
// more extreme would only limit more.
func (k *Known) certain(last time.Time) []history.Recommendation {
	var made []history.Recommendation
	before := int32(-1)
	for _, r := range k.Rescales {
		if r.IsWanted || before >= 0 && r.To != before {
			made = append(made, history.Recommendation{Time: r.At, Replicas: r.To})
		}
		before = r.To
	}
	free := k.Autoscaler.Condition(statusreport.ScalingLimited).Reason == "DesiredWithinRange"
	able := k.Autoscaler.Condition(statusreport.AbleToScale).Reason
	if free && (able == "ReadyForNewScale" || able == "SucceededRescale") {
		made = append(made, history.Recommendation{Time: last, Replicas: k.Autoscaler.Counts().DesiredReplicas})
	}
	slices.SortStableFunc(made, func(a, b history.Recommendation) int { return a.Time.Compare(b.Time) })
	return made
}

// largest returns a change that spends any budget.
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
