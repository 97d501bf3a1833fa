package proposal

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/playback"
)

// OfForecast returns the count that a forecast asks for beyond what metrics do, by what stabilization made of them; 0
// if it asks for none. It lowers no count by itself: what it asks for is no recommendation that a later one is compared
// with.
func OfForecast(f *forecast.Result, current, stabilized int32, tolerance float64) int32 {
	if current == 0 {
		return 0
	}
	return playback.Floor(f.Replicas, current, stabilized, tolerance)
}
