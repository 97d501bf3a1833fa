package horizontal

import (
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
)

// timeZones has each time zone of schedules once, by its name: a time.Location takes three kilobytes. The time zone
// database bounds their number.
var timeZones sync.Map

// shareTimeZones replaces the time zones of a new policy by those that other policies have.
func shareTimeZones(p *horizontal.Policy) {
	if p.WorkloadAutoscaler == nil {
		return
	}
	for i := range p.WorkloadAutoscaler.Schedules {
		s := &p.WorkloadAutoscaler.Schedules[i]
		if s.Location == nil {
			continue
		}
		zone, _ := timeZones.LoadOrStore(s.Location.String(), s.Location)
		s.Location, _ = zone.(*time.Location)
	}
}
