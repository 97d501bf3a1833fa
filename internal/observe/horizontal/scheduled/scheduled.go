// Package scheduled translates the schedules of a WorkloadAutoscaler: their cron expressions, time zones and limits.
package scheduled

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
)

// Of converts a schedule. Errors name its fields at the path. Dates between which no start comes are no error: such a
// schedule is never in force.
func Of(s *plimsollv1alpha1.Schedule, path *field.Path) (schedules.Schedule, field.ErrorList) {
	start, location, errs := Start(s.Start, s.TimeZone, path)
	out := schedules.Schedule{
		Name: s.Name, Start: start, Location: location,
		Duration:  time.Duration(ptr.Deref(s.DurationSeconds, 0)) * time.Second,
		NotBefore: timeOf(s.NotBefore), NotAfter: timeOf(s.NotAfter),
		MinReplicas: ptr.Deref(s.MinReplicas, 0), MaxReplicas: ptr.Deref(s.MaxReplicas, 0),
		Ramp: time.Duration(ptr.Deref(s.RampSeconds, 0)) * time.Second,
	}
	switch {
	case s.End != "":
		end, err := parse(s.End, path.Child("end"))
		if err != nil {
			return out, append(errs, err)
		}
		// With notAfter such a schedule is in force without a break until then.
		if out.End = end; errs == nil && s.NotAfter == nil && haveSameTimes(start, end) {
			errs = append(errs, field.Invalid(path.Child("end"), s.End,
				"must not have the times of start, "+s.Start+": without notAfter the schedule would never end"))
		}
	case s.DurationSeconds == nil:
		errs = append(errs, field.Required(path.Child("end"), "or durationSeconds"))
	}
	return out, errs
}

// timeOf returns the time, or the zero time if there is none.
func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}
