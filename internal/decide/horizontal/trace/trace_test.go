package trace

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// of returns the trace of a decision for a target with so many replicas, on external metrics with these values for a
// target of 1000 for each replica. What is below 0 cannot be read.
func of(t *testing.T, change func(*horizontal.Policy, *horizontal.State), current int32, values ...int64) *Trace {
	t.Helper()
	p := horizontal.Policy{MinReplicas: 2, MaxReplicas: 10, Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1}}
	o := horizontal.Observation{Target: horizontal.Target{SpecReplicas: current, StatusReplicas: current}}
	for _, value := range values {
		p.Metrics = append(p.Metrics, source.Spec{
			Type: source.External, Name: "jobs", Target: source.Target{Type: source.AverageValue, Milli: 1000}})
		reading := metric.Reading{Series: []int64{value}}
		if value < 0 {
			reading = metric.Reading{Error: "no such server"}
		}
		o.Readings = append(o.Readings, reading)
	}
	var s horizontal.State
	if change != nil {
		change(&p, &s)
	}
	d, _ := horizontal.Decide(noon, &p, s, &o)
	return Of(&d)
}

// minutely starts each minute.
type minutely struct{}

func (minutely) Next(after time.Time) time.Time { return after.Truncate(time.Minute).Add(time.Minute) }

func TestOf(t *testing.T) {
	number := func(n int32) *int32 { return &n }
	used := func(n int32) []Metric { return []Metric{{0, number(n), "Used", "Computed"}} }
	for name, c := range map[string]struct {
		change  func(*horizontal.Policy, *horizontal.State)
		current int32
		values  []int64
		want    *Trace
	}{
		"what the metric recommends": {nil, 4, []int64{6000},
			&Trace{4, 6, number(6), "MetricRecommendation", used(6), nil}},
		"within the tolerance": {nil, 4, []int64{4100},
			&Trace{4, 4, number(4), "WithinTolerance", used(4), []string{"Tolerance"}}},
		"more than maxReplicas": {nil, 8, []int64{12000},
			&Trace{8, 10, number(12), "ReplicaLimit", used(12), []string{"MaxReplicas"}}},
		"above maxReplicas before": {nil, 12, []int64{12000},
			&Trace{12, 10, nil, "ReplicaLimit", nil, []string{"MaxReplicas"}}},
		"an earlier recommendation": {func(p *horizontal.Policy, _ *horizontal.State) {
			p.DownscaleStabilization = 5 * time.Minute
		}, 6, []int64{3000}, &Trace{6, 6, number(3), "Stabilized", used(3), []string{"Stabilization"}}},
		"faster than a policy": {func(p *horizontal.Policy, _ *horizontal.State) {
			p.Behavior = &behavior.Behavior{Up: behavior.Rules{
				Policies: []behavior.RatePolicy{{Type: behavior.RatePods, Value: 1, Period: time.Minute}}}}
		}, 4, []int64{8000}, &Trace{4, 5, number(8), "PolicyLimited", used(8), []string{"ScalingPolicy"}}},
		"to a schedule's max as fast as a policy permits": {func(p *horizontal.Policy, _ *horizontal.State) {
			p.Behavior = &behavior.Behavior{Down: behavior.Rules{
				Policies: []behavior.RatePolicy{{Type: behavior.RatePods, Value: 1, Period: time.Minute}}}}
			p.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{Schedules: []schedules.Schedule{{
				Name: "night", Start: minutely{}, Duration: time.Hour, MaxReplicas: 5}}}
		}, 8, []int64{8000}, &Trace{8, 7, nil, "PolicyLimited", nil, []string{"MaxReplicas", "ScalingPolicy"}}},
		"one of two cannot be read, and the other would lower": {nil, 6, []int64{3000, -1},
			&Trace{6, 6, number(3), "InvalidMetrics", []Metric{
				{0, number(3), "Valid", "SkippedScaleDown"}, {1, nil, "Invalid", "FetchFailed"}}, []string{"InvalidMetricGuard"}}},
		"one of two cannot be read, and the other raises": {nil, 4, []int64{-1, 6000},
			&Trace{4, 6, number(6), "MetricRecommendation", []Metric{
				{0, nil, "Invalid", "FetchFailed"}, {1, number(6), "Used", "Computed"}}, nil}},
		"none can be read": {nil, 4, []int64{-1},
			&Trace{4, 4, nil, "InvalidMetrics", []Metric{{0, nil, "Invalid", "FetchFailed"}}, nil}},
		"somebody put the target to zero": {nil, 0, []int64{3000}, nil},
	} {
		got := of(t, c.change, c.current, c.values...)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := Of(&horizontal.Decision{Branch: horizontal.BranchFailed}); got.Reason != "RecommendationFailed" {
		t.Errorf("without a selector: %+v", got)
	}
	if got := Of(&horizontal.Decision{}); got != nil {
		t.Errorf("without a scale: %+v", got)
	}
}

// TestIsSame: the KEP counts each number as a part of the meaning. Other numbers of the metrics alone are another
// decision with the same result, which is not worth a write.
func TestIsSame(t *testing.T) {
	at := func(values ...int64) *Trace { return of(t, nil, 8, values...) }
	if !at(12000).IsSame(at(12000)) || !at(12000, 3000).IsSame(at(12000, 3000)) {
		t.Error("a decision is not the same as itself")
	}
	for name, c := range map[string]struct{ one, other *Trace }{
		"the recommendation":          {at(12000), at(15000)},
		"a proposal that is not used": {at(12000, 3000), at(12000, 4000)},
	} {
		if c.one.IsSame(c.other) {
			t.Errorf("%s is no part of the meaning", name)
		}
	}
	if !at(12000, 3000).HasSameResult(at(15000, 4000)) {
		t.Error("12 and 15 replicas, where 10 are permitted, have two results")
	}
	for _, value := range []int64{9000, 8000, -1} {
		if at(12000).HasSameResult(at(value)) {
			t.Errorf("%d has the same result as 12000", value)
		}
	}
}
