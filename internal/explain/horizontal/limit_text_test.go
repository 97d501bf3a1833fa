package horizontal

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/projection"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// decided is the explanation of a decision on a target whose pods and counts are drawn.
func decided(t *rapid.T) *Explanation {
	p := horizontal.Policy{
		MinReplicas: 1, MaxReplicas: rapid.Int32Range(2, 40).Draw(t, "max"),
		Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1}, Divergences: divergence.Default,
		Metrics: []source.Spec{{
			Type: source.Resource, Name: "cpu", Target: source.Target{Type: source.Utilization, Percent: 50},
		}},
		DownscaleStabilization: time.Duration(rapid.IntRange(0, 300).Draw(t, "window")) * time.Second,
	}
	if rapid.Bool().Draw(t, "behavior") {
		p.Behavior = &behavior.Behavior{Up: behavior.Rules{
			Policies: []behavior.RatePolicy{{Type: behavior.RatePods, Value: 3, Period: time.Minute}},
		}}
	}
	current := rapid.Int32Range(1, 12).Draw(t, "replicas")
	o := horizontal.Observation{Target: horizontal.Target{SpecReplicas: current, StatusReplicas: current}}
	if rapid.IntRange(0, 9).Draw(t, "scale") == 0 {
		o.Target = horizontal.Target{Error: "the scale cannot be read"}
	}
	var r metric.Reading
	for i := range rapid.IntRange(0, 15).Draw(t, "pods") {
		pod := metric.Pod{
			Name: "web-" + strconv.Itoa(i), Phase: metric.PhaseRunning, Ready: metric.ReadyTrue,
			StartTime: noon.Add(-time.Hour), ReadyTransition: noon.Add(-time.Hour),
		}
		if rapid.IntRange(0, 5).Draw(t, "unready") == 0 {
			pod.Phase, pod.Ready = metric.PhasePending, metric.ReadyFalse
		}
		o.Pods = append(o.Pods, pod)
		r.Requests = append(r.Requests, metric.Request{Milli: 100})
		r.Samples = append(r.Samples, metric.Sample{
			Present: rapid.IntRange(0, 5).Draw(t, "has a sample") > 0, Milli: rapid.Int64Range(0, 200).Draw(t, "use"), At: noon,
		})
	}
	o.Readings = []metric.Reading{r}
	d, after := horizontal.Decide(noon, &p, horizontal.State{}, &o)
	e := &Explanation{KnowsHistory: true, Forecast: Forecast{Least: d.Desired, Most: d.Desired, Result: Result{
		Step: &snapshothorizontal.Step{
			Snapshot: &snapshothorizontal.Snapshot{Time: noon}, HPA: &autoscalingv2.HorizontalPodAutoscaler{},
		},
		Policy: p, Observation: o, Decision: d, Report: statusreport.Of(&d, horizontal.Outcome{At: noon}),
	}}}
	e.project(horizontal.State{}, after)
	return e
}

// anyCount is a replica count in a text.
var anyCount = regexp.MustCompile(`\b\d+\b (desired|current) replicas|at \d+|from \d+|to \d+`)

// TestCountsAreNamedOrUnknown: a printed count that is not what the ratio asks for has its limit beside it, and one that
// could not be read is printed nowhere, as 0 no more than as another number.
func TestCountsAreNamedOrUnknown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := decided(t)
		d := &e.Decision
		encoded, err := json.Marshal(e.output())
		if err != nil {
			t.Fatal(err)
		}
		hasCount := strings.Contains(string(encoded), `"currentReplicas":`+strconv.Itoa(int(d.Current))+",")
		if d.Branch == horizontal.BranchNoScale {
			var fields map[string]any
			if err := json.Unmarshal(encoded, &fields); err != nil {
				t.Fatal(err)
			}
			delete(fields, "status") // the object's own, of before
			for _, field := range []string{"desiredReplicas", "minDesiredReplicas", "maxDesiredReplicas"} {
				if value, has := fields[field]; has {
					t.Fatalf("%s is %v, and unknown", field, value)
				}
			}
			for _, line := range e.Lines(false) {
				if slices.Contains([]string{"result", "next", "target"}, line.Label) && anyCount.MatchString(line.Text) {
					t.Fatalf("%s %s: nobody knows the count", line.Label, line.Text)
				}
			}
			return
		}
		if !hasCount {
			t.Fatalf("the count is not in %s", encoded)
		}
		isPlain := d.Branch == horizontal.BranchMetrics && d.Desired == projection.Plain(d, &d.Metrics[0])
		if text := e.limitText(); text == "" || strings.HasPrefix(text, "no limit") != (isPlain && e.Limit == projection.None) {
			t.Fatalf("from %d to %d, limited by %q: %+v", d.Current, d.Desired, text, d.Metrics)
		}
	})
}

// TestToleranceIsNoFault: a count that stays because the metrics are close to their targets is limited by nothing.
func TestToleranceIsNoFault(t *testing.T) {
	for want, tolerance := range map[string]metric.Tolerance{
		"nothing: within the tolerance of 10 % (usage ratios from 0.9 to 1.1)":                                    {Up: 0.1, Down: 0.1},
		"nothing: within the tolerance of 5 % above the target and 20 % below it (usage ratios from 0.8 to 1.05)": {Up: 0.05, Down: 0.2},
	} {
		r := Result{Policy: horizontal.Policy{Tolerance: tolerance}}
		if got := r.toleranceText(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestSurgeIsNamed: what a surge asked for counts until it is no longer held, whatever the window is.
func TestSurgeIsNamed(t *testing.T) {
	p := horizontal.Policy{
		MinReplicas: 1, MaxReplicas: 10, Divergences: divergence.Default, DownscaleStabilization: 5 * time.Minute,
		Metrics: []source.Spec{{
			Type: source.External, Name: "queue", Target: source.Target{Type: source.AverageValue, Milli: 1000},
		}},
	}
	var s horizontal.State
	s.Recommendations.Add(noon.Add(-time.Hour), 1)
	s.Recommendations.AddPassing(noon.Add(-5*time.Second), 8)
	d, _ := horizontal.Decide(noon, &p, s, &horizontal.Observation{
		Target: horizontal.Target{SpecReplicas: 8}, Readings: []metric.Reading{{Series: []int64{3000}}},
	})
	const want = "a surge, whose count is held for 20 s, until 12:00:15, or longer if newer recommendations do not agree"
	if got := stabilizationLimit(&d.Stabilized, noon); got != want || !d.Stabilized.IsPassing {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLimitOfAnotherDay: a time of another day has its date.
func TestLimitOfAnotherDay(t *testing.T) {
	midnight := noon.Add(12 * time.Hour)
	s := behavior.Stabilized{Window: 5 * time.Minute, Reason: behavior.ScaleDownStabilized}
	s.By.Time = midnight.Add(-2 * time.Minute)
	const want = "stabilization window of scaleDown until 2026-11-21 00:03:00, or longer if newer recommendations do not agree"
	if got := stabilizationLimit(&s, midnight.Add(-time.Minute)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
