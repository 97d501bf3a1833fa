package scoreboard

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/simulate/score"
)

// folder has one trace, with a surge in it, and something else.
func folder(t *testing.T) string {
	t.Helper()
	return traces(t, 30, func(minute int) float64 {
		if minute >= 10 {
			return 50
		}
		return 5
	})
}

// traces has one trace of so many minutes, and something else.
func traces(t *testing.T, minutes int, value func(minute int) float64) string {
	t.Helper()
	var trace strings.Builder
	trace.WriteString("timestamp,value\n")
	for minute := range minutes {
		trace.WriteString(strconv.Itoa(60*minute) + "," + strconv.FormatFloat(value(minute), 'f', 3, 64) + "\n")
	}
	in := t.TempDir()
	for name, content := range map[string]string{"surge.csv": trace.String(), "readme.md": "no trace"} {
		if err := os.WriteFile(filepath.Join(in, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

func measure(t *testing.T, c Config) Results {
	t.Helper()
	r, err := Measure(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestMeasure: all times to ready with all ages of samples and all sides, each with all seeds.
func TestMeasure(t *testing.T) {
	c := Defaults()
	c.Folder, c.Seeds, c.Forecasts = folder(t), 2, []string{"persistence", "headroom-20"}
	var said, done []string
	c.Say = func(format string, _ ...any) { said = append(said, format) }
	c.Done = func(r *Results) error {
		last := &r.Boards[len(r.Boards)-1]
		done = append(done, fmt.Sprintf("%v %s %d", last.ReadySeconds, last.Samples, len(last.Summaries)))
		return nil
	}
	r := measure(t, c)
	if len(r.Boards) != 6 || len(said) == 0 || !slices.Equal(r.Sides, []string{Upstream, Base, "persistence", "headroom-20"}) {
		t.Fatalf("%d boards of %v, %d lines of progress", len(r.Boards), r.Sides, len(said))
	}
	if want := 6.0 * 2 * 4 * 30 / 1440; math.Abs(r.Days-want) > 1e-9 {
		t.Errorf("%v days, want %v", r.Days, want)
	}
	if want := []string{"12 old 4", "12 fresh 4", "60 old 4", "60 fresh 4", "180 old 4", "180 fresh 4"}; !slices.Equal(done, want) {
		t.Errorf("%q are done, want %q", done, want)
	}
	for i, ready := range []float64{12, 12, 60, 60, 180, 180} {
		b := &r.Boards[i]
		if b.ReadySeconds != ready || b.Samples != []Samples{Old, Fresh}[i%2] || len(b.Loads) != 1 {
			t.Fatalf("%v s, %s samples, %d loads", b.ReadySeconds, b.Samples, len(b.Loads))
		}
		checkBoard(t, b)
	}
	if again := measure(t, c); !reflect.DeepEqual(again.Boards, r.Boards) {
		t.Error("the same seeds, other results")
	}
}

// TestMeasureSideBySide plays one load for each side at the same time, for the race detector.
func TestMeasureSideBySide(t *testing.T) {
	c := Defaults()
	c.Folder, c.Seeds, c.Ready, c.Samples = folder(t), 1, c.Ready[:1], []Samples{Fresh}
	var last string
	c.Say = func(format string, arguments ...any) { last = fmt.Sprintf(format, arguments...) }
	if r := measure(t, c); len(r.Boards) != 1 || len(r.Sides) < 2 || !strings.HasPrefix(last, "100 %") {
		t.Errorf("%d boards of %v; the last line is %q", len(r.Boards), r.Sides, last)
	}
}

func checkBoard(t *testing.T, b *Board) {
	t.Helper()
	for side, scores := range b.Loads[0].Scores {
		if len(scores) != 2 || scores[0].Hours != 0.5 || scores[1].Hours != 0.5 {
			t.Errorf("%s: %+v", side, scores)
		}
	}
	upstream, plimsoll := b.Loads[0].Scores[Upstream][0], b.Loads[0].Scores[Base][0]
	if upstream.Surges != 1 || plimsoll.WorstRecoverySeconds < b.ReadySeconds-2 {
		t.Errorf("%v s to ready, recovered after %v s", b.ReadySeconds, plimsoll.WorstRecoverySeconds)
	}
	if b.Samples == Fresh && plimsoll.WorstRecoverySeconds >= upstream.WorstRecoverySeconds {
		t.Errorf("recovered after %v s, upstream after %v", plimsoll.WorstRecoverySeconds, upstream.WorstRecoverySeconds)
	}
}

// TestForecastActs: a jump of each day is served from the second day on by yesterday's forecast, for about the
// same pod-hours, whatever the time to ready. What is learned from is not scored.
func TestForecastActs(t *testing.T) {
	c := Defaults()
	c.Folder = traces(t, 2*1440, func(minute int) float64 {
		if m := minute % 1440; m >= 600 && m < 630 {
			return 100
		}
		return 20
	})
	c.Seeds, c.ScoreFrom, c.Forecasts = 1, 24*time.Hour, []string{"yesterday"}
	c.Ready, c.Samples = []time.Duration{time.Minute, 3 * time.Minute}, []Samples{Fresh}
	for _, b := range measure(t, c).Boards {
		l := &b.Loads[0]
		if l.Hours != 24 || l.shortSeconds(Base) == 0 || l.shortSeconds("yesterday") != 0 {
			t.Errorf("%v s to ready: of %v hours short for %v s, with yesterday's forecast %v s", b.ReadySeconds, l.Hours,
				l.shortSeconds(Base), l.shortSeconds("yesterday"))
		}
		if p := l.podHoursPercent("yesterday"); math.Abs(p) > 5 {
			t.Errorf("%v s to ready: %+.2f %% pod-hours", b.ReadySeconds, p)
		}
	}
}

// TestOwnForecastActs: Plimsoll's own forecast serves the same jump after two earlier ones.
func TestOwnForecastActs(t *testing.T) {
	c := Defaults()
	c.Folder = traces(t, 3*1440, func(minute int) float64 {
		if m := minute % 1440; m >= 600 && m < 630 {
			return 100
		}
		return 20
	})
	c.Seeds, c.ScoreFrom, c.Forecasts = 1, 48*time.Hour, []string{"forecast"}
	c.Ready, c.Samples = []time.Duration{time.Minute}, []Samples{Old}
	l := &measure(t, c).Boards[0].Loads[0]
	if without, with := l.shortSeconds(Base), l.shortSeconds("forecast"); without < 30 || with > without/3 {
		t.Errorf("short for %v s, with the forecast %v s", without, with)
	}
	if p := l.podHoursPercent("forecast"); p > 3 {
		t.Errorf("%+.2f %% pod-hours", p)
	}
}

// TestMinutesAhead: if a pod is created when the forecast first has a jump, it is ready in time.
func TestMinutesAhead(t *testing.T) {
	for ready, want := range map[time.Duration]int{
		0: 2, 12 * time.Second: 2, 59 * time.Second: 2, time.Minute: 3, 3 * time.Minute: 5,
	} {
		if got := minutesAhead(ready); got != want {
			t.Errorf("ready after %v: %d minutes ahead, want %d", ready, got, want)
		}
	}
}

// board of two sides beside upstream: seconds short of capacity in an hour, and pod-hours.
func boardOf(loads map[string][3][2]float64) *Board {
	b := &Board{}
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range loads {
			if !yield(name) {
				return
			}
		}
	}) {
		l := Load{Name: name, Hours: 1, Scores: map[string][]score.Score{}}
		for i, side := range []string{Upstream, Base, "other"} {
			v := loads[name][i]
			l.Scores[side] = []score.Score{{Hours: 1, ShortPercent: v[0] / 36, PodHours: v[1]}}
		}
		b.Loads = append(b.Loads, l)
	}
	b.summarize([]string{Upstream, Base, "other"})
	return b
}

// TestSummary: the sums, the median and the geometric mean of ratios are three different things. Where upstream is never
// short there is no ratio, and no time below a second counts as less than that.
func TestSummary(t *testing.T) {
	b := boardOf(map[string][3][2]float64{
		"a": {{100, 9}, {50, 10}, {0, 11}},  // 0.5, 0.01
		"b": {{10, 9}, {10, 10}, {8, 10}},   // 1, 0.8
		"c": {{10, 9}, {1, 10}, {10, 10.5}}, // 0.1, 1
		"d": {{0, 9}, {0, 10}, {6, 10}},     // none
	})
	base, other := &b.Summaries[1], &b.Summaries[2]
	for name, pair := range map[string][2]float64{
		"sums":           {float64(base.RatioOfSums), 61.0 / 120},
		"median":         {float64(base.MedianRatio), 0.5},
		"geometric mean": {float64(base.MeanRatio), math.Cbrt(0.05)},
		"other's sums":   {float64(other.RatioOfSums), 24.0 / 120},
		"other's median": {float64(other.MedianRatio), 0.8},
		"other's mean":   {float64(other.MeanRatio), math.Cbrt(0.008)},
		"seconds a day":  {float64(other.ShortSecondsADay), 24 * 24.0 / 4},
		"pod-hours":      {float64(other.PodHoursPercent), 15.0 / 4},
		"most pod-hours": {float64(other.MostPodHours.Figure), 10},
		"most added":     {float64(other.MostAdded.Figure), 24 * 9},
		"base's own":     {float64(base.PodHoursPercent), 0},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-6 {
			t.Errorf("%s: %v, want %v", name, pair[0], pair[1])
		}
	}
	if base.RatioLoads != 3 || other.MostPodHours.Load != "a" || other.MostAdded.Load != "c" {
		t.Errorf("%+v", other)
	}
	none := boardOf(map[string][3][2]float64{"calm": {{0, 9}, {0, 9}, {0, 9}}})
	if out, err := json.Marshal(none.Summaries); err != nil || !strings.Contains(string(out), `"medianRatio":null`) {
		t.Errorf("%s, %v", out, err)
	}
}

// TestAdded: the seeds' differences of 10 and 16 seconds an hour are 312 a day, give or take 72.
func TestAdded(t *testing.T) {
	of := func(seconds ...float64) (scores []score.Score) {
		for _, s := range seconds {
			scores = append(scores, score.Score{Hours: 1, ShortPercent: s / 36})
		}
		return scores
	}
	l := Load{Scores: map[string][]score.Score{Base: of(20, 10), "other": of(30, 26)}}
	if mean, standardError := l.added("other"); math.Abs(mean-312) > 1e-6 || math.Abs(standardError-72) > 1e-6 {
		t.Errorf("%v ± %v", mean, standardError)
	}
	l = Load{Scores: map[string][]score.Score{Base: of(20), "other": of(30)}}
	if mean, standardError := l.added("other"); math.Abs(mean-240) > 1e-6 || !math.IsNaN(standardError) {
		t.Errorf("%v ± %v of one seed", mean, standardError)
	}
}

// TestTables: the row of medians has the median of the ratios 0.5, 1 and 0.1, not the ratio of the medians 10 and 10.
func TestTables(t *testing.T) {
	board := boardOf(map[string][3][2]float64{
		"a": {{100, 9}, {50, 10}, {0, 11}}, "b": {{10, 9}, {10, 10}, {8, 10}}, "c": {{10, 9}, {1, 10}, {10, 10}},
	})
	board.ReadySeconds, board.Samples = 60, Fresh
	var out strings.Builder
	if err := board.WriteTables(&out); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"| load":                 "short, % of time",
		"| **median of ratios**": "**1.11** |",
		"| less / more in":       "2 / 0",
		"| a":                    "9.0 / 10.0",
		"60 s to ready":          "fresh samples",
		"| other":                "0.800",
	} {
		if !slices.ContainsFunc(strings.Split(out.String(), "\n"), func(s string) bool {
			return strings.HasPrefix(s, line) && strings.Contains(s, want)
		}) {
			t.Errorf("no line %q with %q in\n%s", line, want, &out)
		}
	}
	rows := board.measures()
	if got := rows[len(rows)-2][2]; got != "**0.50**" {
		t.Errorf("short of capacity: %s in the median", got)
	}
}

// TestLoads: without a folder there are generated days or made-up weeks, which differ from seed to seed; traces do not.
func TestLoads(t *testing.T) {
	c := Defaults()
	c.Seeds = 2
	generated, err := c.sources()
	if err != nil || len(generated) < 5 || generated[0].seeds[0] != generated[0].seeds[1] {
		t.Errorf("%d generated loads, %v", len(generated), err)
	}
	c.MadeUp = true
	made, err := c.sources()
	if err != nil || len(made) < 9 || made[0].seeds[0] == made[0].seeds[1] {
		t.Errorf("%d made-up loads, %v", len(made), err)
	}
	c.Folder = folder(t)
	if both, err := c.sources(); err != nil || len(both) != len(made)+1 {
		t.Errorf("%d loads, %v", len(both), err)
	}
	c.For, c.MadeUp = 10*time.Minute, false
	calm := measure(t, c).Boards[0].Loads[0]
	if math.Abs(calm.Hours-1.0/6) > 1e-9 || calm.Scores[Upstream][0].Surges != 0 {
		t.Errorf("of the ten minutes before the surge: %+v", calm.Scores[Upstream][0])
	}
	c.Start = 5 * time.Minute
	if l := measure(t, c).Boards[0].Loads[0]; math.Abs(l.Hours-1.0/6) > 1e-9 || l.Scores[Upstream][0].Surges != 1 {
		t.Errorf("of five minutes before the surge and five after: %+v", l.Scores[Upstream][0])
	}
}

// TestPart: what a pod serves follows from the peak of the part that is played, wherever that begins.
func TestPart(t *testing.T) {
	for name, tt := range map[string]struct {
		start, lasts time.Duration
		wantPeak     float64
	}{
		"all of it":            {wantPeak: 50},
		"before the surge":     {lasts: 10 * time.Minute, wantPeak: 5},
		"five minutes of both": {start: 5 * time.Minute, lasts: 10 * time.Minute, wantPeak: 50},
		"some before it":       {start: 2 * time.Minute, lasts: 5 * time.Minute, wantPeak: 5},
		"all from the surge":   {start: 10 * time.Minute, wantPeak: 50},
	} {
		c := Defaults()
		c.Folder, c.Start, c.For = folder(t), tt.start, tt.lasts
		sources, err := c.sources()
		if err != nil {
			t.Fatal(err)
		}
		scene, err := c.scene(board{ready: time.Minute, samples: Old}, sources[0].seeds[0], 1)
		if err != nil {
			t.Fatal(err)
		}
		most := float64(c.MaxReplicas) * float64(c.TargetPercent) / 100
		if got := scene.PodCapacity * 0.7 * most; math.Abs(got-tt.wantPeak) > 1e-9 {
			t.Errorf("%s: fitted to a peak of %v, want %v", name, got, tt.wantPeak)
		}
		if want := tt.lasts; want > 0 && scene.For != want || want == 0 && scene.For != 30*time.Minute-tt.start {
			t.Errorf("%s: played for %v", name, scene.For)
		}
	}
}

func TestRefused(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"an empty folder":        func(c *Config) { c.Folder = t.TempDir() },
		"no seed":                func(c *Config) { c.Seeds = 0 },
		"no time to ready":       func(c *Config) { c.Ready = nil },
		"ready before asked":     func(c *Config) { c.Ready = []time.Duration{-time.Second} },
		"the same twice":         func(c *Config) { c.Ready = []time.Duration{time.Minute, time.Minute} },
		"unknown samples":        func(c *Config) { c.Samples = []Samples{"stale"} },
		"no samples":             func(c *Config) { c.Samples = nil },
		"an unknown forecast":    func(c *Config) { c.Forecasts = []string{"oracle"} },
		"a forecast twice":       func(c *Config) { c.Forecasts = []string{"trend", "trend"} },
		"all and one":            func(c *Config) { c.Forecasts = []string{AllForecasts, "trend"} },
		"more at least":          func(c *Config) { c.MinReplicas = 30 },
		"started after the end":  func(c *Config) { c.Start = time.Hour },
		"started before it was":  func(c *Config) { c.Start = -time.Hour },
		"scored after the end":   func(c *Config) { c.ScoreFrom = time.Hour },
		"scored before it began": func(c *Config) { c.ScoreFrom = -time.Hour },
	} {
		c := Defaults()
		c.Folder = folder(t)
		change(&c)
		if _, err := Measure(t.Context(), c); err == nil {
			t.Errorf("%s: it is played", name)
		}
	}
}
