package proposal_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/fallback"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/history"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return noon.Add(-d) }

var (
	broken  = metric.Result{Failure: &source.Failure{}}
	awaited = metric.Result{Pending: true}
)

func wants(replicas int32) metric.Result { return metric.Result{Replicas: replicas} }

// TestOr: the larger of two counts, and of equals the first. As upstream, zero replicas give way to any other proposal.
func TestOr(t *testing.T) {
	of := func(index int, replicas int32) proposal.Proposal {
		return proposal.Proposal{Source: proposal.Metric, Index: index, Replicas: replicas}
	}
	for _, tt := range []struct{ first, later, want proposal.Proposal }{
		{of(0, 3), of(1, 5), of(1, 5)}, {of(0, 5), of(1, 3), of(0, 5)}, {of(0, 5), of(1, 5), of(0, 5)},
		{of(0, 0), of(1, 0), of(1, 0)}, {of(0, 1), of(1, 0), of(0, 1)},
	} {
		if got := tt.first.Or(tt.later); got != tt.want {
			t.Errorf("%+v or %+v: %+v", tt.first, tt.later, got)
		}
	}
}

// TestOfMetrics: metrics that fail or are awaited propose nothing.
func TestOfMetrics(t *testing.T) {
	got := proposal.OfMetrics([]metric.Result{wants(2), broken, awaited, wants(4), wants(3)}, true)
	if want := (proposal.Proposal{Source: proposal.Metric, Index: 3, Replicas: 4, MayLower: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := proposal.OfMetrics([]metric.Result{broken, awaited}, true); got != (proposal.Proposal{}) {
		t.Errorf("none has values: %+v", got)
	}
}

func TestOfFallbacks(t *testing.T) {
	active := []fallback.Active{{Metric: 1, Replicas: 4}, {Metric: 2, Replicas: 6}}
	metrics := proposal.Proposal{Source: proposal.Metric, Replicas: 5, MayLower: true}
	want := proposal.Proposal{Source: proposal.Fallback, Index: 2, Replicas: 6}
	if got := metrics.OrFallback(active, false); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := metrics.OrFallback(active[:1], false); got != metrics {
		t.Errorf("a metric proposes more: %+v", got)
	}
	if got := metrics.OfOthers(active); got != 6 {
		t.Errorf("the fallbacks propose %d", got)
	}
	schedule := proposal.Proposal{Source: proposal.Schedule, Replicas: 9}
	if got := schedule.OfOthers(active); got != 9 {
		t.Errorf("a schedule and the fallbacks propose %d", got)
	}
	if got := metrics.OfOthers(nil); got != 0 {
		t.Errorf("metrics alone propose %d", got)
	}
}

// TestAppend: one proposal of each source, in the order of the status.
func TestAppend(t *testing.T) {
	all := proposal.Sources{
		Specs: []source.Spec{
			{Type: source.External}, {Type: source.Resource}, {Type: source.Pods}, {Type: source.Object},
		},
		Metrics:   []metric.Result{wants(2), wants(3), broken, awaited},
		Surge:     &surge.Result{Verdict: surge.Asking, Metric: 1, Replicas: 8},
		Fallbacks: []fallback.Active{{Metric: 2, Replicas: 4}},
		Schedules: []schedules.InForce{{MinReplicas: 0}, {MinReplicas: 5}},
		Forecast:  &forecast.Result{Replicas: 6}, ForecastMode: forecast.Active, Ahead: 7,
	}
	if !all.Surge.Proposes() {
		t.Fatal("the surge window proposes nothing")
	}
	want := []proposal.Proposal{
		{Source: proposal.Metric, Index: 0, Replicas: 2}, {Source: proposal.Metric, Index: 1, Replicas: 3},
		{Source: proposal.Surge, Index: 1, Replicas: 8}, {Source: proposal.Fallback, Index: 2, Replicas: 4},
		{Source: proposal.Schedule, Index: 1, Replicas: 5}, {Source: proposal.Forecast, Replicas: 7},
	}
	if diff := cmp.Diff(want, all.Append(nil)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	all.IsIdle, all.ForecastMode, all.Surge = true, forecast.Preview, &surge.Result{}
	want = []proposal.Proposal{
		{Source: proposal.Metric, Index: 0}, {Source: proposal.Metric, Index: 1, Replicas: 3},
		{Source: proposal.Fallback, Index: 2, Replicas: 4}, {Source: proposal.Schedule, Index: 1, Replicas: 5},
	}
	if diff := cmp.Diff(want, all.Append(nil)); diff != "" {
		t.Errorf("idle, without a surge, and the forecast is in preview (-want +got):\n%s", diff)
	}
}

func TestOfForecast(t *testing.T) {
	for name, tt := range map[string]struct{ asked, current, stabilized, want int32 }{
		"above":             {8, 4, 5, 8},
		"metrics want more": {8, 4, 8, 0},
		"one less":          {7, 8, 5, 8},
		"at zero":           {8, 0, 0, 0},
	} {
		if got := proposal.OfForecast(&forecast.Result{Replicas: tt.asked}, tt.current, tt.stabilized, 0.1); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// TestOutdated: the count changed 20 s ago. TestNewerSamples and TestLoweredOnce of package horizontal decide on such
// values.
func TestOutdated(t *testing.T) {
	const second = time.Second
	for name, tt := range map[string]struct {
		reason    string
		isLowered bool
		r         metric.Result
		want      int
	}{
		"raised, measured since": {"it knows the new count", false, metric.Result{Oldest: ago(19 * second)}, 0},
		"raised, measured then":  {"the count was raised on it", false, metric.Result{Oldest: ago(20 * second)}, 1},
		"raised, began before": {"new pods had no samples before", false,
			metric.Result{Oldest: ago(second), Began: ago(60 * second)}, 0},
		"raised, requested since":  {"its time is unknown", false, metric.Result{Asked: ago(19 * second)}, 0},
		"raised, requested before": {"the count was raised on it", false, metric.Result{Asked: ago(20 * second)}, 1},
		"no time at all":           {"nothing says that it is old", false, metric.Result{}, 0},
		"no time at all, lowered":  {"nothing says that it is old", true, metric.Result{Base: 4}, 0},
		"lowered, no product":      {"it does not depend on the count", true, metric.Result{Oldest: ago(60 * second)}, 0},
		"lowered, began since": {"the whole window is after the change", true,
			metric.Result{Base: 4, Oldest: ago(second), Began: ago(19 * second)}, 0},
		"lowered, began before": {"the pods that are gone had a part of it", true,
			metric.Result{Base: 4, Oldest: ago(second), Began: ago(21 * second)}, 1},
		"lowered, requested at once": {"the value may be 15 s old", true, metric.Result{Base: 4, Asked: ago(6 * second)}, 1},
		"lowered, requested later": {"it is younger than the change", true,
			metric.Result{Base: 4, Asked: ago(4 * second)}, 0},
		"failed": {"it has no value", false,
			metric.Result{Failure: &source.Failure{}, Oldest: ago(time.Minute)}, 0},
		"awaited": {"it has no value", false, metric.Result{Pending: true, Oldest: ago(time.Minute)}, 0},
	} {
		c := history.Count{ChangedAt: ago(20 * second), EffectiveAt: ago(20 * second), IsLowered: tt.isLowered}
		if got := proposal.Outdated(noon, &c, []metric.Result{{Oldest: noon, Began: noon}, tt.r}); got != tt.want {
			t.Errorf("%s: %s: %d, want %d", name, tt.reason, got, tt.want)
		}
	}
	old := []metric.Result{{Oldest: ago(time.Hour)}}
	for name, c := range map[string]history.Count{
		"five minutes later":      {ChangedAt: ago(5 * time.Minute), EffectiveAt: ago(5 * time.Minute)},
		"the pods did not follow": {ChangedAt: ago(second)},
		"a clock was set back":    {ChangedAt: noon.Add(time.Hour), EffectiveAt: noon.Add(time.Hour)},
	} {
		if got := proposal.Outdated(noon, &c, old); got != 0 {
			t.Errorf("%s: %d are outdated", name, got)
		}
	}
	c := history.Count{ChangedAt: ago(299 * second), EffectiveAt: ago(299 * second)}
	if got := proposal.Outdated(noon, &c, old); got != 1 {
		t.Errorf("within five minutes: %d are outdated", got)
	}
}

// TestFresh: a value that was requested before the count was raised limits only its own proposal.
func TestFresh(t *testing.T) {
	raised := history.Count{ChangedAt: ago(10 * time.Second)}
	lowered, foreign := raised, raised
	lowered.IsLowered, foreign.IsForeign = true, true
	asked := func(replicas int32, before time.Duration) metric.Result {
		return metric.Result{Replicas: replicas, Asked: ago(before)}
	}
	before, since := asked(9, 10*time.Second), asked(6, 9*time.Second)
	none := &surge.Result{}
	for name, tt := range map[string]struct {
		c       history.Count
		results []metric.Result
		s       *surge.Result
		want    int32
	}{
		"requested since":      {raised, []metric.Result{since}, none, math.MaxInt32},
		"requested before":     {raised, []metric.Result{before}, none, 0},
		"one of two":           {raised, []metric.Result{before, since}, none, 6},
		"scraped":              {raised, []metric.Result{before, wants(4)}, none, 4},
		"the others have none": {raised, []metric.Result{before, broken, awaited}, none, 0},
		"the surge window": {raised, []metric.Result{before, since},
			&surge.Result{Verdict: surge.Asking, Replicas: 7}, 7},
		"after scaling down":      {lowered, []metric.Result{before}, none, math.MaxInt32},
		"another writer's change": {foreign, []metric.Result{before}, none, math.MaxInt32},
	} {
		if got := proposal.Fresh(&tt.c, tt.results, tt.s); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// TestLasting: the surge window raised the count to 10, and without it there would be 6.
func TestLasting(t *testing.T) {
	c := metric.Context{SpecReplicas: 10, Tolerance: metric.Tolerance{Up: 0.1, Down: 0.1}}
	// ofPods is a metric of ten pods that keeps the count, with this ratio of use and target.
	ofPods := func(ratio float64) metric.Result {
		return metric.Result{
			Replicas: 10, Ratio: ratio, Verdict: metric.WithinTolerance, Groups: []metric.Group{},
			Counts: metric.Counts{Counted: 8, Unsampled: 2},
		}
	}
	withNew, moves, queue := ofPods(0.95), ofPods(0.5), ofPods(0.5)
	withNew.Newest, moves.Verdict, queue.Groups = 1, metric.Scaled, nil
	for name, tt := range map[string]struct {
		reason string
		r      metric.Result
		want   int32
	}{
		"needed":          {"the pods need all ten", ofPods(0.9), 10},
		"less is needed":  {"8 and a half are more than 6", ofPods(0.85), 9},
		"not needed":      {"6 are enough", ofPods(0.6), 6},
		"within":          {"6.5 are within the tolerance of 6", ofPods(0.65), 6},
		"new pods":        {"their samples show too much", withNew, 6},
		"another verdict": {"it moves the count itself", moves, 10},
		"no pods":         {"a queue has no new pods", queue, 10},
	} {
		if got := proposal.Lasting([]metric.Result{tt.r}, &c, 6); got != tt.want {
			t.Errorf("%s: %s: %d, want %d", name, tt.reason, got, tt.want)
		}
		if got := proposal.Lasting([]metric.Result{tt.r}, &c, 0); got != 10 {
			t.Errorf("%s: the surge window raised nothing: %d", name, got)
		}
	}
}

func TestNames(t *testing.T) {
	for s, want := range map[proposal.Source]string{proposal.None: "None", proposal.Forecast: "Forecast"} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
