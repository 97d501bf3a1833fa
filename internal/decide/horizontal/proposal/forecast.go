package proposal

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/playback"
)

// OfForecast returns the count that a forecast proposes above the stabilized proposal of metrics; 0 if it proposes
// none. It is not stored as a recommendation, so it delays no scale-down by itself.
func OfForecast(f *forecast.Result, current, stabilized int32, tolerance float64) int32 {
	if current == 0 {
		return 0
	}
	return playback.Floor(f.Replicas, current, stabilized, tolerance)
}
