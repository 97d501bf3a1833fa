package metric

import (
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// shownAverage returns the average for the status. Without replicas it is the whole value, as for one replica.
func shownAverage(spec *source.Spec, usage int64, replicas int32, mode arithmetic.Mode) int64 {
	if mode == arithmetic.Saturate && replicas == 0 {
		return usage
	}
	if spec.Type == source.External && float64(usage) >= math.MaxInt64 {
		return math.MaxInt64
	}
	return mode.Ceil64(float64(usage) / float64(replicas))
}

// totalOf returns the metric's value. Upstream adds up External series in two ways: for a Value target it caps the sum,
// for an AverageValue target it treats the first negative sum as an overflow.
func totalOf(spec *source.Spec, series []int64, mode arithmetic.Mode) int64 {
	if spec.Type == source.Object {
		return series[0]
	}
	var usage int64
	for _, milli := range series {
		switch {
		case mode == arithmetic.Saturate:
			usage = arithmetic.Saturate.Add(usage, milli)
		case spec.Target.Type == source.AverageValue:
			if usage += milli; usage < 0 {
				return math.MaxInt64
			}
		case milli > 0 && usage > math.MaxInt64-milli:
			return math.MaxInt64
		default:
			usage += milli
		}
	}
	return usage
}
