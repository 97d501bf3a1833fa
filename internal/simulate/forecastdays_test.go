package simulate

import (
	"math"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/playback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/replay"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
)

// jumps has a load that jumps at noon for an hour, each day.
const jumps = "step:12@0s,60@12h,12@13h,60@36h,12@37h,60@60h,12@61h,60@84h,12@85h"

func hpa() *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		MinReplicas: ptr.To[int32](2), MaxReplicas: 8, Metrics: []autoscalingv2.MetricSpec{{
			Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name:   "cpu",
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](70)},
			},
		}},
	}}
}

func scene(t *testing.T, text string, lasts time.Duration) *Scene {
	t.Helper()
	l, err := load.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	w := DefaultWorkload()
	w.ReadyAfter = time.Minute
	w.Complete()
	s, err := NewScene(l, w, observehorizontal.HPA(hpa()))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.PlayFor(lasts); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDaysOfALoadThatRecurs: the days agree with the runs, and a forecast avoids what lacks once it has learnt.
func TestDaysOfALoadThatRecurs(t *testing.T) {
	s := scene(t, jumps, 86*time.Hour)
	settings, err := ForecastSettings([]Setting{
		{Name: "upstream", Side: Upstream, HPA: hpa()}, {Name: "plimsoll", Side: Plimsoll, HPA: hpa()},
	})
	if err != nil || len(settings) != 3 {
		t.Fatalf("%d settings, %v", len(settings), err)
	}
	settings[0].Side, settings[0].Name = Plimsoll, "as it is"
	runs, err := PlayAll(t.Context(), s, settings, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := ForecastDaysOf(s.Start, runs)
	if len(all) != 1 || all[0].Name != "plimsoll, forecast" || len(all[0].Days) != 4 {
		t.Fatalf("%+v", all)
	}
	checkDays(t, all[0].Days)
	sum := replay.Sum(all[0].Days)
	if paid := 60 * runs[1].Score.PodHours; sum.Paid < 0.999*paid || sum.Paid > 1.001*paid ||
		sum.KnownMinutes != 86*60 {
		t.Errorf("%v pod-minutes of %v, %d minutes", sum.Paid, paid, sum.KnownMinutes)
	}
	if without, with := runs[1].Score.ShortPercent, runs[2].Score.ShortPercent; with > 0.6*without {
		t.Errorf("short of capacity for %v %% of the time, without a forecast for %v %%", with, without)
	}
	// A playback of the same load, which forecasts go by, counts the same.
	load := replay.Load{Start: s.Start, Full: 1 / s.Target}
	for at := time.Duration(0); at < s.For; at += time.Minute {
		load.Pods = append(load.Pods, s.Load.Mean(at, at+time.Minute)/(s.PodCapacity*s.Target))
	}
	played := replay.Sum(replay.Play(&load, &replay.Config{
		Settings: forecast.Settings{
			Mode: forecast.Active, WasteLimitPercent: forecast.DefaultWasteLimitPercent, Price: forecast.DefaultPrice,
		},
		MinReplicas: 2, MaxReplicas: 8, StartUp: time.Minute, Tolerance: 0.1,
	}).Days)
	if !isNear(sum.Avoided, played.Avoided) || !isNear(sum.Wasted, played.Wasted) {
		t.Errorf("avoided %.1f, wasted %.1f; played back %.1f, %.1f", sum.Avoided, sum.Wasted, played.Avoided, played.Wasted)
	}
	// What is asked for without a mode is a preview, which changes nothing.
	if preview, off := runs[0].Score.PodHours, runs[1].Score.PodHours; preview != off {
		t.Errorf("%v pod-hours with a preview, %v without", preview, off)
	}
}

// isNear allows for samples that show a change some seconds earlier or later than the playback has it.
func isNear(a, b float64) bool { return max(a, b) <= 1.3*min(a, b)+3 }

// checkDays wants days on which the forecast learns, and then avoids what lacks.
func checkDays(t *testing.T, days []replay.Day) {
	t.Helper()
	for i, want := range []forecast.Reason{forecast.ReasonLearning, forecast.ReasonInUse, forecast.ReasonInUse} {
		if days[i].Reason != want {
			t.Errorf("day %d ends with %v, want %v", i, days[i].Reason, want)
		}
	}
	if first := &days[0]; first.Lacking < 4 || first.Avoided != 0 || first.Wasted != 0 || first.MostReplicas != 0 {
		t.Errorf("the first day: %+v", first)
	}
	third := &days[2]
	if third.Avoided < 0.8*third.Lacking || third.MostReplicas < 5 || third.RaisedMinutes == 0 ||
		math.Abs(third.Wasted) > 0.03*third.Paid {
		t.Errorf("the third day: %+v", third)
	}
}

// minute has so many pods needed, lacking and paid for.
func minute(needed float32, lacking, paid float64) Minute {
	spare := max(0, paid-float64(needed))
	return Minute{Tally: playback.Tally{Lacking: lacking, Paid: paid, Spare: spare}, Needed: needed}
}

// TestDays: dates are those of the load's own clock, and what pods too many cost is wasted only beyond the need. A pod
// less by chance at another time makes up for it.
func TestDays(t *testing.T) {
	start := time.Date(2026, 3, 2, 23, 58, 0, 0, time.UTC)
	without := []Minute{
		minute(6, 2, 4), minute(4, 0, 4), minute(3, 0, 4), minute(3, 0, 9),
	}
	with := []Minute{minute(6, 0.5, 7), minute(4, 0, 4), minute(3, 0, 6), minute(3, 0, 8)}
	with[0].Forecast, with[0].Reason, with[1].Forecast = 7, forecast.ReasonInUse, 4
	with[2].Forecast, with[2].Reason = 6, forecast.ReasonLoadUnknown
	got := forecastDays(start, without, with)
	want := []replay.Day{
		{Date: start.Truncate(24 * time.Hour), KnownMinutes: 2, Lacking: 2, Avoided: 1.5, Wasted: 1, Paid: 8,
			RaisedMinutes: 1, MostReplicas: 7},
		{Date: start.Add(2 * time.Minute), KnownMinutes: 2, Wasted: 1, Paid: 13, RaisedMinutes: 1, MostReplicas: 6},
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestNoUse: what a forecast cannot learn from is refused, with the reason.
func TestNoUse(t *testing.T) {
	long := scene(t, jumps, 40*time.Hour)
	if err := CheckForecastDays(long, 0); err != nil {
		t.Errorf("%v", err)
	}
	fast := scene(t, jumps, 40*time.Hour)
	fast.Load = fast.Load.SpedUp(2)
	for want, err := range map[string]error{
		"30h0m0s of load are played, and a forecast needs more than 30 hours": CheckForecastDays(scene(t, jumps, 30*time.Hour), 0),
		"28h0m0s of load are known, and a forecast needs more than 30 hours":  CheckForecastDays(long, 12*time.Hour),
		"sped up": CheckForecastDays(fast, 0),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := ForecastSettings([]Setting{{Side: Upstream}}); err == nil {
		t.Error("upstream's loop has a forecast")
	}
	on := forecast.Active
	_, err := Play(t.Context(), long, Setting{Side: Upstream, HPA: hpa(), Forecast: &on},
		Watch{})
	if err == nil || !strings.Contains(err.Error(), "has no forecast") {
		t.Errorf("upstream's loop plays it: %v", err)
	}
}
