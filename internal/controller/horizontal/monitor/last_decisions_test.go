package monitor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// TestSeriesOfWorkloadAutoscalers: they have the same series as HPAs, with names of their own, and one for active
// fallbacks, which exists only for an object with a fallback.
func TestSeriesOfWorkloadAutoscalers(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	specs := []source.Spec{{Type: source.External, Fallback: source.Fallback{FailureDuration: time.Minute}}}
	d := &horizontal.Decision{
		At: now, Metrics: []metric.Result{{Replicas: 7, At: now.Add(-3 * time.Second)}},
		Fallbacks: fallback.Result{Active: []fallback.Active{{}}},
	}
	desired := int32(6)
	decisions := newLastDecisions()
	decisions.record(observe.WLA("shop", "web"), specs, d, &desired)
	decisions.record(observe.WLA("shop", "plain"), []source.Spec{{Type: source.External}}, d, &desired)
	decisions.record(observe.HPA("shop", "web"), []source.Spec{{Type: source.External}}, d, &desired)
	want := `# HELP plimsoll_workload_desired_replicas Current desired replica count for WorkloadAutoscaler objects.
# TYPE plimsoll_workload_desired_replicas gauge
plimsoll_workload_desired_replicas{name="plain",namespace="shop"} 6
plimsoll_workload_desired_replicas{name="web",namespace="shop"} 6
# HELP plimsoll_workload_fallbacks_active Active fallbacks of an object's metrics.
# TYPE plimsoll_workload_fallbacks_active gauge
plimsoll_workload_fallbacks_active{name="web",namespace="shop"} 1
# HELP plimsoll_workload_proposed_replicas Replicas that each metric of an object proposed at its last decision, before any limit.
# TYPE plimsoll_workload_proposed_replicas gauge
plimsoll_workload_proposed_replicas{metric_index="0",metric_type="External",name="plain",namespace="shop"} 7
plimsoll_workload_proposed_replicas{metric_index="0",metric_type="External",name="web",namespace="shop"} 7
# HELP plimsoll_workload_sample_age_seconds Age of the newest sample of an object at its last decision.
# TYPE plimsoll_workload_sample_age_seconds gauge
plimsoll_workload_sample_age_seconds{name="plain",namespace="shop"} 3
plimsoll_workload_sample_age_seconds{name="web",namespace="shop"} 3
`
	err := testutil.CollectAndCompare(decisions, strings.NewReader(want), "plimsoll_workload_desired_replicas",
		"plimsoll_workload_fallbacks_active", "plimsoll_workload_proposed_replicas", "plimsoll_workload_sample_age_seconds")
	if err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(decisions, "plimsoll_workload_bound"); n != 2 {
		t.Errorf("%d objects have a limit that binds, want 2", n)
	}
}

// TestPodSeries: there is no series, rather than 0, for pods that were not read, and for a scale that cannot be read.
func TestPodSeries(t *testing.T) {
	decisions := newLastDecisions()
	for name, o := range map[string]*horizontal.Observation{
		"read": {Target: horizontal.Target{StatusReplicas: 3}, Pods: []metric.Pod{
			{Phase: metric.PhaseRunning, Ready: metric.ReadyTrue}, {Phase: metric.PhasePending}}},
		"none":            {},
		"no pods read":    {Target: horizontal.Target{StatusReplicas: 3}},
		"no scale":        {Target: horizontal.Target{Error: "not found"}},
		"no longer known": {Target: horizontal.Target{Error: "not found"}},
	} {
		key := observe.HPA("shop", name)
		decisions.record(key, nil, &horizontal.Decision{}, nil)
		if name == "no longer known" {
			decisions.recordPods(key, &horizontal.Observation{Target: horizontal.Target{StatusReplicas: 9}})
		}
		decisions.recordPods(key, o)
	}
	want := `# HELP plimsoll_horizontal_current_replicas Pods of an object's target at its last decision, by the target's scale; absent if that could not be read.
# TYPE plimsoll_horizontal_current_replicas gauge
plimsoll_horizontal_current_replicas{hpa_name="no pods read",namespace="shop"} 3
plimsoll_horizontal_current_replicas{hpa_name="none",namespace="shop"} 0
plimsoll_horizontal_current_replicas{hpa_name="read",namespace="shop"} 3
# HELP plimsoll_horizontal_ready_pods Ready pods of an object's target at its last decision; absent if the pods were not read.
# TYPE plimsoll_horizontal_ready_pods gauge
plimsoll_horizontal_ready_pods{hpa_name="none",namespace="shop"} 0
plimsoll_horizontal_ready_pods{hpa_name="read",namespace="shop"} 1
`
	err := testutil.CollectAndCompare(decisions, strings.NewReader(want), "plimsoll_horizontal_current_replicas",
		"plimsoll_horizontal_ready_pods")
	if err != nil {
		t.Error(err)
	}
}

// TestForecastSeries: the series are sums over all objects.
func TestForecastSeries(t *testing.T) {
	decisions := newLastDecisions()
	for name, d := range map[string]*horizontal.Decision{
		"used": {Forecast: forecast.Result{Reason: forecast.ReasonInUse,
			Day: forecast.Day{AvoidedPodMinutes: 30, WastedPodMinutes: 4}},
			ForecastReplicas: 9, Limited: behavior.Limited{Replicas: 8}, Stabilized: behavior.Stabilized{Replicas: 3}},
		"previewed": {Forecast: forecast.Result{Reason: forecast.ReasonInUse,
			Day: forecast.Day{AvoidedPodMinutes: 10, WastedPodMinutes: 1}}},
		"too dear": {Forecast: forecast.Result{Reason: forecast.ReasonNotWorthItsPrice,
			Day: forecast.Day{AvoidedPodMinutes: 10, WastedPodMinutes: 1000}}},
		"off": {},
	} {
		decisions.record(observe.HPA("shop", name), nil, d, nil)
	}
	want := `# HELP plimsoll_forecast_avoided_pod_minutes_per_day Pod-minutes of lacking capacity that the forecasts in use avoid in a day, including previews.
# TYPE plimsoll_forecast_avoided_pod_minutes_per_day gauge
plimsoll_forecast_avoided_pod_minutes_per_day 40
# HELP plimsoll_forecast_objects Objects with a forecast, by the reason why it proposes replicas or none.
# TYPE plimsoll_forecast_objects gauge
plimsoll_forecast_objects{reason="AboveWasteLimit"} 0
plimsoll_forecast_objects{reason="InUse"} 2
plimsoll_forecast_objects{reason="Learning"} 0
plimsoll_forecast_objects{reason="LoadUnknown"} 0
plimsoll_forecast_objects{reason="NotWorthItsPrice"} 1
# HELP plimsoll_forecast_raised_replicas Sum of the replicas by which forecasts raised counts at the objects' last decisions.
# TYPE plimsoll_forecast_raised_replicas gauge
plimsoll_forecast_raised_replicas 5
# HELP plimsoll_forecast_wasted_pod_minutes_per_day Pod-minutes that the forecasts in use add without need in a day, including previews.
# TYPE plimsoll_forecast_wasted_pod_minutes_per_day gauge
plimsoll_forecast_wasted_pod_minutes_per_day 5
`
	err := testutil.CollectAndCompare(decisions, strings.NewReader(want), "plimsoll_forecast_objects",
		"plimsoll_forecast_raised_replicas", "plimsoll_forecast_avoided_pod_minutes_per_day",
		"plimsoll_forecast_wasted_pod_minutes_per_day")
	if err != nil {
		t.Error(err)
	}
}

// TestSeriesAreBounded: the number of series does not grow with the cluster, except for upstream's series, which has
// all objects.
func TestSeriesAreBounded(t *testing.T) {
	decisions := newLastDecisions()
	for i := range maxListed + 7 {
		decisions.record(observe.HPA("shop", fmt.Sprintf("web-%06d", i)), nil,
			&horizontal.Decision{}, new(int32))
	}
	decisions.record(observe.HPA("shop", "web-000000"), nil, &horizontal.Decision{}, nil)
	registry := prometheus.NewRegistry()
	registry.MustRegister(decisions)
	n, err := testutil.GatherAndCount(registry, "plimsoll_horizontal_bound")
	if err != nil || n != maxListed {
		t.Errorf("%d objects have series, %v; want %d", n, err, maxListed)
	}
	const desired = upstreamSubsystem + "_desired_replicas"
	if n, err := testutil.GatherAndCount(registry, desired); err != nil || n != maxListed+7 {
		t.Errorf("%d objects have a count, %v; want all", n, err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "plimsoll_horizontal_unlisted_objects" && f.GetMetric()[0].GetGauge().GetValue() != 7 {
			t.Errorf("%v count as left out, want 7", f.GetMetric()[0].GetGauge().GetValue())
		}
	}
}
