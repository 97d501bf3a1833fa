package zero_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// TestActivity: a scaler is active if it says so, other metrics by their value. A cooldown neither begins nor ends
// while that is not known.
func TestActivity(t *testing.T) {
	failure := &source.Failure{}
	for name, tt := range map[string]struct {
		kind   source.Type
		result metric.Result
		// idle is set if a cooldown has begun an hour ago.
		idle bool
		// active, begins and over are whether the metric is active, a cooldown has begun, and is over.
		active, begins, over bool
	}{
		"a query above":             {source.Prometheus, metric.Result{Total: 6}, false, true, false, false},
		"a query at its activation": {source.Prometheus, metric.Result{Total: 5}, false, false, true, false},
		"a query that fails": {source.Prometheus, metric.Result{Total: 6, Failure: failure}, false, false, false,
			false},
		"an endpoint": {source.PodEndpoint, metric.Result{Total: 6}, false, false, true, false},
		"a scaler that is active": {source.ExternalScaler, metric.Result{Activity: metric.Active}, false, true, false,
			false},
		"whatever its value": {source.ExternalScaler, metric.Result{Total: 6, Activity: metric.Inactive}, false,
			false, true, false},
		"active without a value": {source.ExternalScaler, metric.Result{Failure: failure, Activity: metric.Active},
			true, true, false, false},
		"active before its values": {source.ExternalScaler, metric.Result{Pending: true, Activity: metric.Active}, true,
			true, false, false},
		"inactive without a value": {source.ExternalScaler, metric.Result{Failure: failure, Activity: metric.Inactive},
			false, false, false, false},
		"inactive for long": {source.ExternalScaler, metric.Result{Activity: metric.Inactive}, true, false, true,
			true},
		"a scaler that does not say":   {source.ExternalScaler, metric.Result{Total: 6}, false, false, false, false},
		"that no longer says":          {source.ExternalScaler, metric.Result{}, true, false, true, false},
		"an External metric for long":  {source.External, metric.Result{}, true, false, true, true},
		"an External metric at a time": {source.External, metric.Result{Total: 6}, true, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			var since time.Time
			if tt.idle {
				since = noon.Add(-time.Hour)
			}
			in := &zero.Input{
				Now: noon, CreatedAt: noon.Add(-time.Hour), Current: 1, Results: []metric.Result{tt.result},
				Specs: []source.Spec{{Type: tt.kind, ActivationMilli: 5}},
			}
			r := zero.Evaluate(&zero.Settings{CooldownPeriod: time.Minute}, in, &since)
			if r.IsActive != tt.active || since.IsZero() == tt.begins || r.IsCooledDown != tt.over {
				t.Errorf("%+v, idle since %v", r, since)
			}
			if !r.CooldownEnd.IsZero() && !r.IsCooledDown && !r.CooldownEnd.After(noon) {
				t.Errorf("the cooldown has ended at %v, and goes on", r.CooldownEnd)
			}
		})
	}
}

// TestOtherPodsActivate: a metric of pods that are not the target's is active by its value, and wakes the target.
func TestOtherPodsActivate(t *testing.T) {
	specs := []source.Spec{{Type: source.PodEndpoint, OtherPods: "service gateway", ActivationMilli: 5}}
	if !zero.MayBe(specs, 0) || zero.IsWithoutPods(&specs[0], 0) {
		t.Error("nothing can end zero replicas")
	}
	for total, active := range map[int64]bool{5: false, 6: true} {
		var since time.Time
		in := &zero.Input{Now: noon, Specs: specs, Results: []metric.Result{{Total: total}}}
		if r := zero.Evaluate(&zero.Settings{}, in, &since); r.IsActive != active || r.IsIdle == active {
			t.Errorf("at %d: %+v", total, r)
		}
	}
}

// TestFallbackOfScaler: while a scaler does not report whether it is active, an active fallback decides it.
func TestFallbackOfScaler(t *testing.T) {
	for replicas, active := range map[int32]bool{0: false, 1: true} {
		since := noon.Add(-time.Hour)
		in := &zero.Input{
			Now: noon, Current: 1, Specs: []source.Spec{{Type: source.ExternalScaler}},
			Results:   []metric.Result{{Failure: &source.Failure{}}},
			Fallbacks: []fallback.Active{{Metric: 0, Replicas: replicas}},
		}
		r := zero.Evaluate(&zero.Settings{CooldownPeriod: time.Minute}, in, &since)
		if r.IsActive != active || r.IsCooledDown == active {
			t.Errorf("a fallback of %d: %+v", replicas, r)
		}
	}
}

// TestCooldownWithFailures: what was not known is no part of a cooldown.
func TestCooldownWithFailures(t *testing.T) {
	failed, idle := metric.Result{Failure: &source.Failure{}}, metric.Result{}
	var since, unknown time.Time
	at := func(seconds int, r metric.Result) zero.Result {
		result := zero.Evaluate(&zero.Settings{CooldownPeriod: 300 * time.Second}, &zero.Input{
			Now: noon.Add(time.Duration(seconds) * time.Second), CreatedAt: noon.Add(-time.Hour), Current: 1,
			Results: []metric.Result{r}, Specs: []source.Spec{{Type: source.Prometheus}}, UnknownSince: unknown,
		}, &since)
		unknown = result.UnknownSince
		return result
	}
	at(0, metric.Result{Total: 5000})
	for s := 5; s <= 100; s += 5 {
		at(s, idle)
	}
	for s := 105; s <= 400; s += 5 {
		if at(s, failed).IsCooledDown {
			t.Fatalf("cooled down after %d s, in a failure", s)
		}
	}
	// Idle since 5 s, and unknown from 105 s to 405 s.
	const end = 605
	for s := 405; s < end; s += 5 {
		if at(s, idle).IsCooledDown {
			t.Fatalf("cooled down after %d s", s)
		}
	}
	if r := at(end, idle); !r.IsCooledDown {
		t.Errorf("after %d s: %+v", end, r)
	}
}
