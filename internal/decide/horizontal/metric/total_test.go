package metric_test

import (
	"math"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// unready sets pods to not ready.
func unready(s scene, pods ...int) scene {
	for _, i := range pods {
		s.pods[i].Ready = metric.ReadyFalse
	}
	return s
}

func TestValue(t *testing.T) {
	object, external := valueOf(source.Object, 100), valueOf(source.External, 100)
	check(t, map[string]row{
		"object": {
			"twice the target, times 2 ready pods", total(object, 2, 200), outcome{4, metric.Scaled, 2, 0, 200},
		},
		"external": {
			"the series are added up", total(external, 2, 150, 50), outcome{4, metric.Scaled, 2, 0, 200},
		},
		"within the tolerance": {
			"109 is less than a tenth above 100", total(object, 2, 109), outcome{2, metric.WithinTolerance, 0, 0, 109},
		},
		"unready pods do not count": {
			"twice the target, times 2 of 3 pods", unready(total(object, 3, 200), 2), outcome{4, metric.Scaled, 2, 0, 200},
		},
		"no ready pod, upstream": {
			"upstream takes 0 × 5 for a proposal when every pod is overloaded",
			unready(total(object, 2, 500), 0, 1).with(divergence.None), outcome{0, metric.Scaled, 0, 0, 500},
		},
		"no ready pod": {
			"the ratio says nothing on a count", unready(total(object, 2, 500), 0, 1),
			outcome{2, metric.NothingReady, 0, 0, 500},
		},
		"no ready pod within the tolerance": {
			"the tolerance is asked first", unready(total(object, 2, 100), 0, 1),
			outcome{2, metric.WithinTolerance, 0, 0, 100},
		},
		"from zero": {
			"without pods the ratio is the count", total(object, 0, 250), outcome{3, metric.Scaled, 1, 0, 250},
		},
		"from zero, inside of the tolerance": {
			"from zero there is no tolerance", total(external, 0, 105), outcome{2, metric.Scaled, 1, 0, 105},
		},
		"stays at zero": {
			"no value, no replica", total(external, 0, 0), outcome{0, metric.Scaled, 1, 0, 0},
		},
		"deleted pods, upstream": {
			"a ready pod that is being deleted still counts", deleting(total(object, 3, 200), 2).at(2, 3).with(divergence.None),
			outcome{6, metric.Scaled, 3, 0, 200},
		},
		"surge": {
			"the base is at most the wanted count", deleting(total(object, 3, 200), 2).at(2, 3),
			outcome{4, metric.Scaled, 2, 0, 200},
		},
		"few ready pods, upstream": {
			"1 × 1.5 = 2 is a scale-down of 5 although the value is above the target",
			unready(total(object, 5, 150), 1, 2, 3, 4).with(divergence.None), outcome{2, metric.Scaled, 1, 0, 150},
		},
		"few ready pods": {
			"no way goes against its ratio", unready(total(object, 5, 150), 1, 2, 3, 4),
			outcome{5, metric.DirectionKept, 0, 0, 150},
		},
		"overflow, upstream": {
			"this product is the one that upstream guards", total(object, 2, 1<<62).with(divergence.None),
			outcome{math.MaxInt32, metric.Scaled, 2, 0, 1 << 62},
		},
		"overflow from zero, upstream": {
			"this one it does not", total(object, 0, 1<<62).with(divergence.None),
			outcome{math.MinInt32, metric.Scaled, 1, 0, 1 << 62},
		},
		"overflow from zero": {
			"it stops at the largest number", total(object, 0, 1<<62), outcome{math.MaxInt32, metric.Scaled, 1, 0, 1 << 62},
		},
		"overflow of the sum, upstream": {
			"upstream caps a sum of positive values", total(external, 1, math.MaxInt64, 5).with(divergence.None),
			outcome{math.MaxInt32, metric.Scaled, 1, 0, math.MaxInt64},
		},
		"negative overflow of the sum, upstream": {
			"but not of negative ones: −2 × (2^63−1) wraps to 2",
			total(external, 1, -math.MaxInt64, -math.MaxInt64).with(divergence.None), outcome{1, metric.Scaled, 1, 0, 2},
		},
		"negative overflow of the sum": {
			"it stops at the smallest number",
			total(external, 1, -math.MaxInt64, -math.MaxInt64).with(divergence.Saturate),
			outcome{math.MinInt32, metric.Scaled, 1, 0, math.MinInt64},
		},
	})
}

func TestAverageValue(t *testing.T) {
	object, external := averageOf(source.Object, 100), averageOf(source.External, 100)
	check(t, map[string]row{
		"object": {
			"300 for 2 replicas is 1.5 times the target; 300/100 replicas bear it", total(object, 2, 300),
			outcome{3, metric.Scaled, 0, 0, 150},
		},
		"external": {
			"the series are added up", total(external, 2, 100, 200), outcome{3, metric.Scaled, 0, 0, 150},
		},
		"within the tolerance": {
			"210 for 2 replicas is 1.05 times the target", total(object, 2, 210), outcome{2, metric.WithinTolerance, 0, 0, 105},
		},
		"the average is rounded up": {
			"100/3", total(object, 3, 100), outcome{1, metric.Scaled, 0, 0, 34},
		},
		"no look at pods": {
			"unready pods do not matter here", unready(total(object, 2, 300), 0, 1), outcome{3, metric.Scaled, 0, 0, 150},
		},
		"surge, outside, upstream": {
			"210 for the 3 pods of a rollout is 0.7 of the target: ceil(2.1)",
			total(object, 2, 210).at(2, 3).with(divergence.None), outcome{3, metric.Scaled, 0, 0, 70},
		},
		"surge, inside, upstream": {
			"290 for 3 is inside of the tolerance: upstream proposes the 3 pods that happen to exist",
			total(external, 2, 290).at(2, 3).with(divergence.None), outcome{3, metric.WithinTolerance, 0, 0, 97},
		},
		"surge": {
			"210 for the 2 wanted pods is inside of the tolerance", total(external, 2, 210).at(2, 3),
			outcome{2, metric.WithinTolerance, 0, 0, 105},
		},
		"no replicas, upstream": {
			"a division by zero is shown in status", total(object, 0, 100).with(divergence.None),
			outcome{1, metric.Scaled, 0, 0, math.MinInt64},
		},
		"no replicas and no value, upstream": {
			"0/0 is outside of the tolerance, too", total(external, 0, 0).with(divergence.None),
			outcome{0, metric.Scaled, 0, 0, math.MinInt64},
		},
		"no replicas": {
			"the whole value stands in for the average that there is not", total(object, 0, 100),
			outcome{1, metric.Scaled, 0, 0, 100},
		},
		"pods not created yet": {
			"spec wants 2, status counts 0: Plimsoll divides by the wanted", total(external, 2, 300).at(2, 0),
			outcome{3, metric.Scaled, 0, 0, 150},
		},
		"overflow of object, upstream": {
			"not guarded", total(averageOf(source.Object, 1), 2, 1<<62).with(divergence.None),
			outcome{math.MinInt32, metric.Scaled, 0, 0, 1 << 61},
		},
		"overflow of external, upstream": {
			"guarded", total(averageOf(source.External, 1), 2, 1<<62).with(divergence.None),
			outcome{math.MaxInt32, metric.Scaled, 0, 0, 1 << 61},
		},
		"overflow of object": {
			"it stops at the largest number", total(averageOf(source.Object, 1), 2, 1<<62),
			outcome{math.MaxInt32, metric.Scaled, 0, 0, 1 << 61},
		},
		"overflow of the sum, upstream": {
			"a sum below zero reads as an overflow; the whole of it is shown, not an average",
			total(external, 2, math.MaxInt64, 1).with(divergence.None),
			outcome{math.MaxInt32, metric.Scaled, 0, 0, math.MaxInt64},
		},
		"a negative series, upstream": {
			"one is enough: −5 reads as an overflow", total(external, 2, -5, 205).with(divergence.None),
			outcome{math.MaxInt32, metric.Scaled, 0, 0, math.MaxInt64},
		},
		"a negative series": {
			"Saturate alone adds it up", total(external, 2, -5, 205).with(divergence.Saturate),
			outcome{2, metric.WithinTolerance, 0, 0, 100},
		},
		"overflow of the average of object, upstream": {
			"2^63 does not fit", total(object, 1, math.MaxInt64).with(divergence.None),
			outcome{math.MinInt32, metric.Scaled, 0, 0, math.MinInt64},
		},
		"overflow of the average of object": {
			"it stops at the largest number", total(object, 1, math.MaxInt64),
			outcome{math.MaxInt32, metric.Scaled, 0, 0, math.MaxInt64},
		},
	})
}
