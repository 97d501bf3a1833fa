package proposal

import "github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"

// OfForecast is the count that a forecast asks for beyond what metrics do, by what stabilization made of them; 0 if it
// asks for none. It lowers no count by itself: what it asks for is no recommendation that a later one is compared with.
//
// A forecast moves a little each minute. Where it asks for one replica less than there are, or for less within the
// tolerance, the count stays: otherwise a pod would go and come with each minute.
func OfForecast(f *forecast.Result, current, stabilized int32, tolerance float64) int32 {
	asked := f.Replicas
	switch less := current - asked; {
	case current == 0:
		return 0
	case asked > stabilized && less > 0 && float64(less) <= max(1, tolerance*float64(current)):
		asked = current
	}
	if asked <= stabilized {
		return 0
	}
	return asked
}
