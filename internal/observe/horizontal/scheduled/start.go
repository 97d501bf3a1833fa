package scheduled

import (
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
)

// longestExpression bounds the text of a cron expression, and longestTimeZone that of a time zone, as the API does.
const longestExpression, longestTimeZone = 128, 64

// Start parses the start of a schedule: a cron expression in the format of CronJob's spec.schedule, and a time zone in
// that of its spec.timeZone, where empty is UTC. Errors name the fields of the schedule at the path.
func Start(expression, timeZone string, path *field.Path) (schedules.Cron, *time.Location, field.ErrorList) {
	var errs field.ErrorList
	start, err := parse(expression, path.Child("start"))
	if err != nil {
		errs = append(errs, err)
	}
	location, err := parseTimeZone(timeZone, path.Child("timeZone"))
	if err != nil {
		errs = append(errs, err)
	}
	if errs != nil {
		return nil, nil, errs
	}
	return start, location, nil
}

// parse parses a cron expression, of a start or an end. One that never matches is an error.
func parse(expression string, path *field.Path) (schedules.Cron, *field.Error) {
	switch {
	case expression == "":
		return nil, field.Required(path, "a cron expression")
	case len(expression) > longestExpression:
		return nil, field.TooLong(path, expression, longestExpression)
	case strings.Contains(expression, "TZ"):
		return nil, field.Invalid(path, expression, "cannot use TZ or CRON_TZ here, use timeZone instead")
	case strings.HasPrefix(expression, "@every"):
		return nil, field.Invalid(path, expression, "cannot use @every here: it has no times of the day")
	}
	parsed, err := cron.ParseStandard(expression)
	if err != nil {
		return nil, field.Invalid(path, expression, err.Error())
	}
	if parsed.Next(anyTime).IsZero() {
		return nil, field.Invalid(path, expression, "never comes: no month that it names has such a day")
	}
	return parsed, nil
}

// anyTime is before a leap year: cron searches five years ahead.
var anyTime = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)

// parseTimeZone is as strict as CronJob: the machine's local zone is invalid.
func parseTimeZone(name string, path *field.Path) (*time.Location, *field.Error) {
	switch {
	case name == "":
		return time.UTC, nil
	case len(name) > longestTimeZone:
		return nil, field.TooLong(path, name, longestTimeZone)
	case strings.EqualFold(name, "Local"):
		return nil, field.Invalid(path, name, "must be an explicit time zone of the IANA time zone database")
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil, field.Invalid(path, name, "unknown time zone")
	}
	return location, nil
}

// haveSameTimes reports whether two expressions match the same times, however they are written.
func haveSameTimes(a, b schedules.Cron) bool {
	one, isOne := a.(*cron.SpecSchedule)
	other, isOther := b.(*cron.SpecSchedule)
	if !isOne || !isOther || (one.Minute^other.Minute|one.Hour^other.Hour)&^starBit != 0 {
		return false
	}
	const leapYear = 2028
	for date := time.Date(leapYear, 1, 1, 0, 0, 0, 0, time.UTC); date.Year() == leapYear; date = date.AddDate(0, 0, 1) {
		if daysOf(one, date.Month(), date.Day()) != daysOf(other, date.Month(), date.Day()) {
			return false
		}
	}
	return true
}

// daysOf returns the days of the week on which the expression matches a date, as bits. As in cron, one of two
// restrictions of the day is enough.
func daysOf(s *cron.SpecSchedule, month time.Month, day int) uint64 {
	const all = 1<<7 - 1
	isDay := s.Dom&(1<<day) != 0
	switch isBoth := (s.Dom|s.Dow)&starBit != 0; {
	case s.Month&(1<<month) == 0 || isBoth && !isDay:
		return 0
	case isDay && !isBoth:
		return all
	default:
		return s.Dow & all
	}
}

// starBit is set in a field of an expression that is *.
const starBit = 1 << 63
