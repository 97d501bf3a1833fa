package metric_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// outcome has the parts of a result that the tables compare.
type outcome struct {
	Replicas int32
	Verdict  metric.Verdict
	Base     int64
	Percent  int32
	Milli    int64
}

func outcomeOf(r metric.Result) outcome {
	return outcome{Replicas: r.Replicas, Verdict: r.Verdict, Base: r.Base, Percent: r.Percent, Milli: r.Milli}
}

// row is a scene, its expected result, and the reason.
type row struct {
	reason string
	scene  scene
	want   outcome
}

func check(t *testing.T, rows map[string]row) {
	t.Helper()
	for name, tt := range rows {
		t.Run(name, func(t *testing.T) {
			r := tt.scene.evaluate()
			if r.Failure != nil {
				t.Fatalf("failed: %s; expected: %s", r.Failure.Message, tt.reason)
			}
			if diff := cmp.Diff(tt.want, outcomeOf(r)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func deleting(s scene, pods ...int) scene {
	for _, i := range pods {
		s.pods[i].Deleting = true
	}
	return s
}

func TestUtilization(t *testing.T) {
	half := utilization(50)
	check(t, map[string]row{
		"twice the target": {
			"100 % against 50 % doubles", running(half, 1000, 1000),
			outcome{4, metric.Scaled, 2, 100, 1000},
		},
		"half the target": {
			"25 % against 50 % halves", running(half, 250, 250),
			outcome{1, metric.Scaled, 2, 25, 250},
		},
		"upper end of the tolerance": {
			"55/50 is exactly 1.1: both ends are inside", running(half, 550, 550),
			outcome{2, metric.WithinTolerance, 0, 55, 550},
		},
		"truncated to the upper end": {
			"55.9 % reads as 55 %", running(half, 559, 559),
			outcome{2, metric.WithinTolerance, 0, 55, 559},
		},
		"above the tolerance": {
			"56/50 is 1.12, times 2, rounded up", running(half, 560, 560),
			outcome{3, metric.Scaled, 2, 56, 560},
		},
		"lower end of the tolerance": {
			"45/50 is exactly 0.9", running(half, 450, 450),
			outcome{2, metric.WithinTolerance, 0, 45, 450},
		},
		"no tolerance": {
			"51 % against 50 % proposes a change already", running(half, 510, 510).tolerating(0, 0),
			outcome{3, metric.Scaled, 2, 51, 510},
		},
		"a wide tolerance upwards only": {
			"1.5 is inside upwards", running(half, 750, 750).tolerating(0.5, 0),
			outcome{2, metric.WithinTolerance, 0, 75, 750},
		},
		"and none downwards": {
			"0.4 is outside downwards", running(half, 200, 200).tolerating(0.5, 0),
			outcome{1, metric.Scaled, 2, 20, 200},
		},
		"a tolerance that swallows everything below": {
			"a ratio of 0 is inside of 1 − 1", running(half, 0, 0).tolerating(0.1, 1),
			outcome{2, metric.WithinTolerance, 0, 0, 0},
		},
		"pods of different size": {
			"the totals are compared, not the pods: 1500 of 4000", running(half, 500, 1000).asking(0, request(3000)),
			outcome{2, metric.Scaled, 2, 37, 750},
		},
		"missing on the way down": {
			"the missing pod counts with its whole request: (0+0+0+1000)/4000 = 25 %, half of the target",
			running(half, 0, 0, 0).missing(1000), outcome{2, metric.Recomputed, 4, 0, 0},
		},
		"missing on the way down, target above the request": {
			"it counts with 200 % of its request then: 6000/4000 = 150 %, three quarters of the target",
			running(utilization(200), 0).missing(1000).missing(1000).missing(1000), outcome{3, metric.Recomputed, 4, 0, 0},
		},
		"missing on the way up": {
			"it counts with nothing: 2000/3000 = 66 %, times 3 / 50 %", running(half, 1000, 1000).missing(1000),
			outcome{4, metric.Recomputed, 3, 100, 1000},
		},
		"missing at the target": {
			"nothing is added where there is no direction", running(half, 500, 500).missing(1000),
			outcome{3, metric.WithinTolerance, 0, 50, 500},
		},
		"missing brings it into the tolerance": {
			"1600/3000 = 53 %", running(half, 800, 800).missing(1000),
			outcome{3, metric.WithinTolerance, 0, 80, 800},
		},
		"missing would turn up into down": {
			"600/2000 = 30 % is below although 60 % was above", running(half, 600).missing(1000),
			outcome{2, metric.DirectionKept, 0, 60, 600},
		},
		"missing would turn down into up": {
			"1400/2000 = 70 % is above although 40 % was below", running(half, 400).missing(1000),
			outcome{2, metric.DirectionKept, 0, 40, 400},
		},
		"unready on the way up": {
			"it counts with nothing", running(half, 1000, 1000).pending(1000),
			outcome{4, metric.Recomputed, 3, 100, 1000},
		},
		"unready on the way down": {
			"it is left out altogether: 2 × 0.5", running(half, 250, 250).pending(1000),
			outcome{1, metric.Scaled, 2, 25, 250},
		},
		"unready and missing on the way down": {
			"only the missing one is filled in: 1000/4000", running(half, 0, 0, 0).missing(1000).pending(1000),
			outcome{2, metric.Recomputed, 4, 0, 0},
		},
		"unready and missing on the way up": {
			"both count with nothing: 2000/4000 = 50 %", running(half, 1000, 1000).missing(1000).pending(1000),
			outcome{4, metric.WithinTolerance, 0, 100, 1000},
		},
		"recomputed against the direction": {
			"3400/4000 of 4 pods would be 4, but 85 % of 100 % is no reason to leave 2",
			running(utilization(100), 800, 800, 800).missing(1000).at(2, 4).with(divergence.None),
			outcome{2, metric.DirectionKept, 0, 80, 800},
		},
		"surge, upstream": {
			"3 ready pods of a rollout at 89 %: upstream scales 2 up below the target",
			running(utilization(100), 890, 890, 890).at(2, 3).with(divergence.None),
			outcome{3, metric.Scaled, 3, 89, 890},
		},
		"surge": {
			"89 % is no reason to add a pod", running(utilization(100), 890, 890, 890).at(2, 3),
			outcome{2, metric.DirectionKept, 0, 89, 890},
		},
		"surge, above the target": {
			"three busy pods where 2 are wanted: 3 × 1.2 would be 4, and more with each rollout",
			running(utilization(100), 1200, 1200, 1200).at(2, 3), outcome{3, metric.Scaled, 2, 120, 1200},
		},
		"surge that shares the load": {
			"6 pods at 29 % carry what 4 carry at 43 %: 4 × 0.58 would be 3, too few for it",
			running(half, 290, 290, 290, 290, 290, 290).at(4, 6), outcome{4, metric.Scaled, 6, 29, 290},
		},
		"surge, with a missing pod": {
			"the base of a recomputation, too, is at most the wanted count: (3000+0)/4000 = 75 % × 3 / 50 %",
			running(half, 1000, 1000, 1000).missing(1000).at(3, 4), outcome{5, metric.Recomputed, 3, 100, 1000},
		},
		"deleted pods shrink the base, upstream": {
			"2 × 1.5 = 3 is a scale-down of 5 although the load is above the target",
			deleting(running(half, 750, 750, 0, 0, 0), 2, 3, 4).with(divergence.None),
			outcome{3, metric.Scaled, 2, 75, 750},
		},
		"deleted pods shrink the base": {
			"no way goes against its ratio", deleting(running(half, 750, 750, 0, 0, 0), 2, 3, 4),
			outcome{5, metric.DirectionKept, 0, 75, 750},
		},
		"extraneous, no recomputation": {
			"a sample without a pod has no request and takes no part", running(half, 1000, 1000).extraneous(1, 1),
			outcome{4, metric.Scaled, 2, 100, 1000},
		},
		"extraneous, recomputed": {
			"upstream multiplies with all samples, the one without a pod too: 66 % × 4 / 50 %",
			running(half, 1000, 1000).missing(1000).extraneous(5).with(divergence.None),
			outcome{6, metric.Recomputed, 4, 100, 1000},
		},
		"nothing used": {
			"0 % needs 0 replicas; min is applied later", running(half, 0, 0),
			outcome{0, metric.Scaled, 2, 0, 0},
		},
		"overflow of the percentage, upstream": {
			"2^50·100 % cut to 32 bits is 0: the largest load scales to nothing",
			running(half, 1<<50).asking(0, request(1)).with(divergence.None),
			outcome{0, metric.Scaled, 1, 0, 1 << 50},
		},
		"overflow of the percentage": {
			"it stops at 2147483647 %", running(half, 1<<50).asking(0, request(1)),
			outcome{42949673, metric.Scaled, 1, math.MaxInt32, 1 << 50},
		},
		"overflow of the product, upstream": {
			"2^58·100 wraps to −7·2^60, which is −28 %",
			running(half, 1<<58).asking(0, request(1<<58)).with(divergence.None),
			outcome{0, metric.Scaled, 1, -28, 1 << 58},
		},
		"no overflow of the product": {
			"2^58·100/2^58 is 100 %", running(half, 1<<58).asking(0, request(1<<58)),
			outcome{2, metric.Scaled, 1, 100, 1 << 58},
		},
		"overflow of the replicas, upstream": {
			"2·10^9 % of 1 % times 2 does not fit into 32 bits and reads as the smallest number",
			running(utilization(1), 20e9, 20e9).with(divergence.None),
			outcome{math.MinInt32, metric.Scaled, 2, 2e9, 20e9},
		},
		"overflow of the replicas": {
			"it stops at the largest number", running(utilization(1), 20e9, 20e9),
			outcome{math.MaxInt32, metric.Scaled, 2, 2e9, 20e9},
		},
		"overflow of the sums": {
			"neither use nor requests wrap: both stop at the largest number, which is 100 %",
			running(half, 1<<62, 1<<62).asking(0, request(1<<62)).asking(1, request(1<<62)),
			outcome{4, metric.Scaled, 2, 100, (1<<63 - 1) / 2},
		},
	})
}

func TestAverage(t *testing.T) {
	rps := averageOf(source.Pods, 100)
	check(t, map[string]row{
		"twice the target": {
			"200m against 100m doubles", running(rps, 200, 200), outcome{4, metric.Scaled, 2, 0, 200},
		},
		"half the target": {
			"50m against 100m halves", running(rps, 50, 50), outcome{1, metric.Scaled, 2, 0, 50},
		},
		"within the tolerance": {
			"109m is less than a tenth above 100m", running(rps, 109, 109), outcome{2, metric.WithinTolerance, 0, 0, 109},
		},
		"truncated": {
			"201/2 is cut to 100m, which is the target", running(rps, 100, 101).tolerating(0, 0),
			outcome{2, metric.WithinTolerance, 0, 0, 100},
		},
		"missing on the way down": {
			"the missing pod counts with the target: (0+0+0+100)/4 = 25m", running(rps, 0, 0, 0).missing(0),
			outcome{1, metric.Recomputed, 4, 0, 0},
		},
		"missing on the way up": {
			"it counts with nothing: 400/3 = 133m", running(rps, 200, 200).missing(0),
			outcome{4, metric.Recomputed, 3, 0, 200},
		},
		"missing would turn up into down": {
			"120/2 = 60m", running(rps, 120).missing(0), outcome{2, metric.DirectionKept, 0, 0, 120},
		},
		"unready on the way up": {
			"it counts with nothing", running(rps, 200, 200).pending(0), outcome{4, metric.Recomputed, 3, 0, 200},
		},
		"unready on the way down": {
			"it is left out", running(rps, 50, 50).pending(0), outcome{1, metric.Scaled, 2, 0, 50},
		},
		"extraneous": {
			"a sample without a pod takes part in an average: (100+100+400)/3, but not in the base",
			running(rps, 100, 100).extraneous(400), outcome{4, metric.Scaled, 2, 0, 200},
		},
		"only extraneous, at the target": {
			"there is an average, but no pod that it is of", running(rps).missing(0).extraneous(100),
			outcome{1, metric.WithinTolerance, 0, 0, 100},
		},
		"surge, upstream": {
			"3 ready pods at 89m keep 3 where 2 are wanted", running(rps, 89, 89, 89).at(2, 3).with(divergence.None),
			outcome{3, metric.Scaled, 3, 0, 89},
		},
		"surge": {
			"89m are no reason to add a pod", running(rps, 89, 89, 89).at(2, 3), outcome{2, metric.DirectionKept, 0, 0, 89},
		},
		"surge that shares the load": {
			"350m over 100m is 4, on 6 pods as on 4", running(rps, 88, 88, 88, 87, 0, 0).at(4, 6),
			outcome{4, metric.Scaled, 6, 0, 58},
		},
		"overflow of the sum, upstream": {
			"two of the largest numbers add up to −2", running(rps, math.MaxInt64, math.MaxInt64).with(divergence.None),
			outcome{0, metric.Scaled, 2, 0, -1},
		},
		"overflow of the sum": {
			"the sum stops at the largest number", running(rps, math.MaxInt64, math.MaxInt64),
			outcome{math.MaxInt32, metric.Scaled, 2, 0, math.MaxInt64 / 2},
		},
		"a resource": {
			"cpu against a fixed value goes the same way", running(source.Spec{
				Type: source.Resource, Name: source.CPU, Target: source.Target{Type: source.AverageValue, Milli: 100},
			}, 300), outcome{3, metric.Scaled, 1, 0, 300},
		},
		"negative, upstream": {
			"upstream takes it for a number: −0.5 × 2, which max(0, …) raises later",
			running(rps, -50, -50).with(divergence.None), outcome{-1, metric.Scaled, 2, 0, -50},
		},
	})
}

// TestFillInKeepsShownValues: status shows the measured values.
func TestFillInKeepsShownValues(t *testing.T) {
	s := running(utilization(50), 1000, 1000).missing(1000).pending(1000)
	// This is the newest sample that counts; the one of the pod that is starting does not.
	s.reading.Samples[1].At, s.reading.Samples[3].At = now.Add(-time.Second), now.Add(time.Second)
	r := s.evaluate()
	if r.Ratio != 2 || r.Adjusted != 1 || r.Percent != 100 || r.Milli != 1000 || !r.At.Equal(now) {
		t.Errorf("ratio %v, adjusted %v, %d %%, %dm, at %v: the ratio is 2 as measured and 1 with the pods filled in",
			r.Ratio, r.Adjusted, r.Percent, r.Milli, r.At)
	}
	want := metric.Counts{Counted: 2, Missing: 1, Unready: 1}
	if diff := cmp.Diff(want, r.Counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
}

// TestSilentPods: the usage of a pod without new samples counts as at least its last one. That is not a sample: if all
// pods have none, the metric fails.
func TestSilentPods(t *testing.T) {
	silent := func(value, last int64) scene {
		s := running(averageOf(source.PodEndpoint, 30_000), value, value, value, value)
		for i := 2; i < 4; i++ {
			s.reading.Samples[i] = metric.Sample{Silent: true, Milli: last, At: now.Add(-time.Minute), Window: 15 * time.Second}
		}
		return s
	}
	check(t, map[string]row{
		"up": {"(60 + 60 + 45 + 45) / 30 = 7, where idle pods would make 4", silent(60_000, 45_000),
			outcome{7, metric.Recomputed, 4, 0, 60_000}},
		"up, and they had little": {"(60 + 60 + 6 + 6) / 30 = 4.4", silent(60_000, 6_000),
			outcome{4, metric.WithinTolerance, 0, 0, 60_000}},
		"down": {"the others have little because these have much: (15 + 15 + 45 + 45) / 30 = 4", silent(15_000, 45_000),
			outcome{4, metric.WithinTolerance, 0, 0, 15_000}},
		"down, and they had little": {"no less than the target: (7.5 + 7.5 + 30 + 30) / 30 = 2.5", silent(7_500, 3_000),
			outcome{3, metric.Recomputed, 4, 0, 7_500}},
		"down, and they had too much": {"(15 + 15 + 60 + 60) / 30 = 5: not against the ratio", silent(15_000, 60_000),
			outcome{4, metric.DirectionKept, 0, 0, 15_000}},
	})
	s := silent(60_000, 60_000)
	s.reading.Samples[0], s.reading.Samples[1] = s.reading.Samples[2], s.reading.Samples[3]
	if r := s.evaluate(); r.Failure == nil {
		t.Errorf("nothing but silent pods: %d replicas", r.Replicas)
	}
}
