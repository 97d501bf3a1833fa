package summary

import (
	"fmt"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
)

// isHeldByForecast reports whether the count stays by the forecast, also if a window would keep it without that.
func (w *writer) isHeldByForecast() bool {
	asks := projection.ForecastAsks(w.Decision)
	return w.limit == projection.Stabilization && w.Desired == w.Current && asks >= max(1, w.Desired)
}

// byForecast is what the forecast asks for, and what is asked for without it: "the forecast asks for 6, for 70 % of the
// load of 8.01 pods that it expects within 3 min; CPU asks for 2".
func (w *writer) byForecast() string {
	text := w.forecastAsks(projection.ForecastAsks(w.Decision))
	if w.Proposed.Source == proposal.None || w.Proposed.Source == proposal.Schedule {
		return text
	}
	return text + "; " + w.asksFor(w.Proposed)
}

// forecastAsks is what the forecast asks for, and for which part of the load that it expects. The count may be a little
// higher than that, where it stays.
func (w *writer) forecastAsks(replicas int32) string {
	f := &w.Forecast
	if f.Expected <= 0 || f.Scale <= 0 {
		return fmt.Sprintf("the forecast asks for %d", replicas)
	}
	text, part := fmt.Sprintf("the forecast asks for %d", f.Replicas), ""
	if f.Scale != 1 {
		part = percent(f.Scale) + " of "
	}
	switch isLess := float64(f.Replicas) < f.Scale*f.Expected-1e-9; {
	case isLess && f.Replicas >= w.Bounds.MaxReplicas:
		text += ", which is maxReplicas,"
	case isLess:
		text += ", as many as the largest load of the last days needed,"
	default:
		text += ","
	}
	text += fmt.Sprintf(" for %sthe load of %.3g pods that it expects within %s", part, f.Expected,
		DurationText(f.Horizon))
	if f.Replicas < replicas {
		text += fmt.Sprintf(", and keeps %d, which is close to that", replicas)
	}
	return text
}
