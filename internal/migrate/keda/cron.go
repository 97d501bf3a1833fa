package keda

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/scaledobject"
)

func (c *conversion) cron(at string, i int, t *scaledobject.Trigger) {
	var replicas int32
	text := t.Metadata["desiredReplicas"]
	if json.Unmarshal([]byte(text), &replicas) != nil || replicas < 1 {
		c.Lose(at+".metadata.desiredReplicas", "%q is not a count of at least 1", text)
		return
	}
	if t.MetricType != "" && plimsollv1alpha1.MetricTargetType(t.MetricType) != plimsollv1alpha1.AverageValueMetricType {
		c.Lose(at+".metricType", "%q: a schedule asks for a count, as a trigger of type AverageValue does", t.MetricType)
		return
	}
	zone := strings.TrimSpace(t.Metadata["timezone"])
	if zone == "" || zone == time.Local.String() {
		c.Lose(at+".metadata.timezone", "%q: name a time zone, as Europe/Berlin", zone)
		return
	}
	if most := c.out().MaxReplicas; replicas > most {
		c.Note(at+".metadata.desiredReplicas", "%d becomes %d: KEDA too scales to maxReplicaCount at most", replicas, most)
		replicas = most
	}
	if least := *c.out().MinReplicas; replicas < least {
		c.Note(at+".metadata.desiredReplicas", "%d becomes %d: KEDA too keeps minReplicaCount at least", replicas, least)
		replicas = least
	}
	times, err := scaledobject.CronOf(t.Metadata["start"], t.Metadata["end"])
	if err != nil {
		c.Lose(at+".metadata", "cron: %v", err)
		return
	}
	active := activity{times}
	schedule := plimsollv1alpha1.Schedule{
		Name: c.scheduleName(i, t), TimeZone: zone, Start: strings.TrimSpace(t.Metadata["start"]), MinReplicas: &replicas,
	}
	if active.hasOneEnd() {
		schedule.End = strings.TrimSpace(t.Metadata["end"])
	} else {
		duration, err := active.duration(time.UTC)
		if err != nil {
			c.Lose(at+".metadata", "cron: %v", err)
			return
		}
		c.noteClock(at, active, zone, duration)
		schedule.DurationSeconds = ptr.To(int32(duration / time.Second))
	}
	c.out().Schedules = append(c.out().Schedules, schedule)
}

// noteClock notes when a duration differs from KEDA's times by the clock.
func (c *conversion) noteClock(at string, active activity, zone string, duration time.Duration) {
	// A zone that cannot be loaded is not accepted in a schedule either.
	if location, err := time.LoadLocation(zone); err == nil {
		if _, err := active.duration(location); err != nil {
			c.Note(at+".metadata.end", "KEDA ends by the clock, the schedule %s after each start: in the night in which "+
				"the clocks change, an hour earlier or later", duration)
		}
	}
}

// scheduleName returns the trigger's name if it is valid for a schedule and unused.
func (c *conversion) scheduleName(i int, t *scaledobject.Trigger) string {
	isTaken := slices.ContainsFunc(c.out().Schedules, func(s plimsollv1alpha1.Schedule) bool { return s.Name == t.Name })
	if isTaken || len(validation.IsDNS1123Label(t.Name)) > 0 {
		return fmt.Sprintf("cron-%d", i)
	}
	return t.Name
}

// The number of starts to compare, and the bounds of a schedule's duration.
const (
	maxStarts   = 1000
	minDuration = time.Minute
	maxDuration = 366 * 24 * time.Hour
)

// activity has the times in which a cron trigger is active: each moment whose next end is not after its next start.
// That is from a start to the last end before the next start, and never after a start without an end before the next
// one.
type activity struct{ scaledobject.Cron }

// hasOneEnd reports whether exactly one end comes after each start and before the next: then KEDA is active until the
// next end, as a schedule is.
func (a activity) hasOneEnd() bool {
	first := firstDay(time.UTC)
	last, from, n := first.AddDate(5, 0, 0), a.Starts.Next(first), 0
	for ; !from.IsZero() && from.Before(last) && n < maxStarts; n++ {
		next, end := a.Starts.Next(from), a.Ends.Next(from)
		if next.IsZero() || end.IsZero() || end.After(next) || !a.Ends.Next(end).After(next) {
			return false
		}
		from = next
	}
	return n > 0
}

// firstDay returns the start of the comparison: the years after it include a leap year.
func firstDay(in *time.Location) time.Time { return time.Date(2023, 1, 1, 0, 0, 0, 0, in) }

// period is one time of activity; of no length if there is none after the start.
type period struct{ from, until time.Time }

func (p period) length() time.Duration { return p.until.Sub(p.from) }

func (p period) String() string {
	const layout = "Mon 2006-01-02 15:04"
	if p.length() == 0 {
		return "not after the start of " + p.from.Format(layout)
	}
	return fmt.Sprintf("from %s until %s (%s)", p.from.Format(layout), p.until.Format(layout), p.length())
}

// duration returns how long the activity is after each start. It must always be the same.
func (a activity) duration(in *time.Location) (time.Duration, error) {
	first := firstDay(in)
	last := first.AddDate(5, 0, 0)
	var before *period
	for from, n := a.Starts.Next(first), 0; !from.IsZero() && from.Before(last) && n < maxStarts; n++ {
		next := a.Starts.Next(from)
		if next.IsZero() {
			next = from.Add(maxDuration)
		}
		now := period{from, a.lastEnd(from, next)}
		if before != nil && now.length() != before.length() {
			return 0, fmt.Errorf("KEDA is active %s, but %s: a schedule has one duration, "+
				"so give each of them a trigger of its own", before, now)
		}
		before, from = ptr.To(now), next
	}
	switch {
	case before == nil:
		return 0, errors.New("the start never comes")
	case before.length() < minDuration:
		return 0, errors.New("no end comes between two starts, so KEDA is never active")
	case before.length() > maxDuration:
		return 0, fmt.Errorf("KEDA is active %s, and a schedule for 366 days at most", before)
	}
	return before.length(), nil
}

// lastEnd returns the last end after a start that is not after the next start; the start itself if there is none.
func (a activity) lastEnd(from, next time.Time) time.Time {
	// Ends may be many: those shortly before the next start are examined first.
	for back := minDuration; ; back *= 2 {
		after := next.Add(-back)
		if after.Before(from) {
			after = from
		}
		last := from
		for end := a.Ends.Next(after); !end.IsZero() && !end.After(next); end = a.Ends.Next(end) {
			last = end
		}
		if last.After(from) || after.Equal(from) {
			return last
		}
	}
}
