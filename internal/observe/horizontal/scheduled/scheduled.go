// Package scheduled translates the schedules of a WorkloadAutoscaler: their cron expressions, time zones and limits.
package scheduled

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
)

// Of is a schedule as decisions use it. Errors name its fields at the path.
func Of(s *plimsollv1alpha1.Schedule, path *field.Path) (schedules.Schedule, field.ErrorList) {
	start, location, errs := Start(s.Start, s.TimeZone, path)
	return schedules.Schedule{
		Name: s.Name, Start: start, Location: location, Duration: time.Duration(s.DurationSeconds) * time.Second,
		MinReplicas: valueOf(s.MinReplicas), MaxReplicas: valueOf(s.MaxReplicas),
		Ramp: time.Duration(valueOf(s.RampSeconds)) * time.Second,
	}, errs
}

// valueOf is the value, or 0 if there is none.
func valueOf(value *int32) int32 {
	if value == nil {
		return 0
	}
	return *value
}
