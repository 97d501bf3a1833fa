package keda

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// cron makes a schedule of a trigger cron.
func (c *conversion) cron(at string, i int, t *trigger) {
	replicas, err := strconv.ParseInt(t.Metadata["desiredReplicas"], 10, 32)
	if err != nil || replicas < 1 {
		c.Lose(at+".metadata.desiredReplicas", "%q is not a count of at least 1", t.Metadata["desiredReplicas"])
		return
	}
	duration, err := durationOf(t.Metadata["start"], t.Metadata["end"])
	if err != nil {
		c.Lose(at+".metadata", "cron: %v", err)
		return
	}
	name := t.Name
	if len(validation.IsDNS1123Label(name)) > 0 {
		name = fmt.Sprintf("cron-%d", i)
	}
	c.out().Schedules = append(c.out().Schedules, plimsollv1alpha1.Schedule{
		Name: name, TimeZone: t.Metadata["timezone"], Start: strings.TrimSpace(t.Metadata["start"]),
		DurationSeconds: int64(duration / time.Second), MinReplicas: ptr.To(int32(replicas)),
	})
}

// How many starts are compared, and the bounds of a schedule's duration.
const (
	maxStarts   = 1000
	minDuration = time.Minute
	maxDuration = 366 * 24 * time.Hour
)

// durationOf is how long it is from each start to the next end, in a time zone without
// clock changes. It must always be the same.
func durationOf(start, end string) (time.Duration, error) {
	parser := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	starts, err := parser.Parse(start)
	if err != nil {
		return 0, fmt.Errorf("start: %w", err)
	}
	ends, err := parser.Parse(end)
	if err != nil {
		return 0, fmt.Errorf("end: %w", err)
	}
	// A leap year is among the years that follow.
	first := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(5, 0, 0)
	var duration time.Duration
	at := first
	for range maxStarts {
		if at = starts.Next(at); at.IsZero() || at.After(last) {
			break
		}
		until := ends.Next(at)
		switch length := until.Sub(at); {
		case until.IsZero() || length > maxDuration:
			return 0, fmt.Errorf("there is no end within 366 days of the start %s", at.Format(time.RFC3339))
		case duration != 0 && length != duration:
			return 0, fmt.Errorf("the end comes %s after some starts and %s after others; "+
				"a schedule has one duration: split it", duration, length)
		default:
			duration = length
		}
	}
	if duration < minDuration {
		return 0, fmt.Errorf("start %q never comes", start)
	}
	return duration, nil
}
