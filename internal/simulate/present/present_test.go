package present

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/score"
)

func runs() []*simulate.Run {
	return []*simulate.Run{
		{Setting: simulate.Setting{Name: "upstream"}, Score: score.Score{
			PodHours: 12.345, LongestShortSeconds: 92, WorstMinutePercent: 37.6, WorstMinuteSeconds: 300, ShortPercent: 0.001, P50Seconds: 0.0184, P99Seconds: 2.2, Actions: 3,
			Ups: 2, Downs: 1,
		}},
		{Setting: simulate.Setting{Name: "plimsoll, no window"}, Score: score.Score{
			PodHours: 1234.5, Surges: 1, RecoverySeconds: []float64{17.5}, MedianRecoverySeconds: 17.5,
			WorstRecoverySeconds: 17.5,
		}},
	}
}

// TestTable: columns stand in line, what is not there is no zero, and what is nearly nothing is not nothing. Six rows are
// enough for most; no name of a row needs another alphabet.
func TestTable(t *testing.T) {
	for _, c := range []struct {
		hasAll bool
		rows   int
		want   []string
	}{
		{true, len(rows), []string{"12.35", "1234\n", "1m32s", "<0.01", "18ms", "2.2s", "3 (2 up, 1 down)", "17.5s", "-   "}},
		{false, 6, []string{"time short of capacity", "<0.01 % (at most 1m32s)", "requests lost", "pod-hours", "12.35",
			"changes", "3 (2 up, 1 down)", "worst minute", "38 % short, at 5m", "none short", "recovery from surges", "no surge",
			"17.5s\n"}},
	} {
		text := table(runs(), rowsFor(&simulate.Scene{}, runs(), Form{HasAllRows: c.hasAll}), 80)
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		if len(lines) != c.rows+1 {
			t.Fatalf("%d lines of %d", len(lines), c.rows+1)
		}
		for _, line := range lines {
			if utf8.RuneCountInString(line) != utf8.RuneCountInString(lines[0]) {
				t.Errorf("%q is not as wide as the head, or has letters of its own", line)
			}
		}
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in\n%s", want, text)
			}
		}
	}
}

// TestQueueRow: a queue loses no requests. How long they wait is what users notice.
func TestQueueRow(t *testing.T) {
	text := table(runs(), rowsFor(&simulate.Scene{IsQueue: true}, runs(), Form{}), 80)
	if !strings.Contains(text, "99 % of requests within") || strings.Contains(text, "lost") || !strings.Contains(text, "2.2s") {
		t.Errorf("%s", text)
	}
}

// TestAtMaxReplicas: where maxReplicas was too few for one run, the table says for how long, of each of them.
func TestAtMaxReplicas(t *testing.T) {
	all := runs()
	if text := table(all, rowsFor(&simulate.Scene{}, all, Form{}), 80); strings.Contains(text, "maxReplicas") {
		t.Errorf("of maxReplicas, which was enough:\n%s", text)
	}
	all[1].Score.AboveTargetPercent, all[1].Score.AboveAtMaxPercent = 40, 32.5
	text := table(all, rowsFor(&simulate.Scene{}, all, Form{}), 80)
	for _, want := range []string{"time above the target ", "40.00 %\n", "\n  at maxReplicas ", "32.50 %\nrequests lost"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// TestRecovery: how many surges were never recovered from is said.
func TestRecovery(t *testing.T) {
	for want, s := range map[string]score.Score{
		"no surge":            {},
		"never":               {Surges: 2, Unrecovered: 2},
		"30s (1 of 2 never)":  {Surges: 2, Unrecovered: 1, RecoverySeconds: []float64{30}, MedianRecoverySeconds: 30},
		"1m30s (at most 2h)":  {Surges: 2, RecoverySeconds: []float64{90, 7200}, MedianRecoverySeconds: 90, WorstRecoverySeconds: 7200},
		"10s (at most 1h10m)": {Surges: 2, RecoverySeconds: []float64{10, 4200}, MedianRecoverySeconds: 10, WorstRecoverySeconds: 4200},
	} {
		if got := recoveries(&s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestTableFits: no line of the output is wider than a terminal of 80 columns, whatever is compared, and each setting has
// each row once. Names are broken only where that saves a block.
func TestTableFits(t *testing.T) {
	const width = 80
	for name, c := range map[string]struct {
		names  []string
		hasAll bool
		blocks int
	}{
		"one":              {[]string{"plimsoll"}, false, 1},
		"both loops":       {[]string{"upstream", "plimsoll"}, false, 1},
		"three":            {[]string{"maxReplicas=6", "maxReplicas=8", "maxReplicas=60"}, false, 2},
		"fields and loops": {crossed([]string{"maxReplicas=6", "maxReplicas=60"}, []string{"upstream", "plimsoll"}), false, 2},
		"five":             {[]string{"minReplicas=1", "minReplicas=2", "minReplicas=3", "minReplicas=4", "minReplicas=5"}, false, 3},
		"five, all rows":   {[]string{"minReplicas=1", "minReplicas=2", "minReplicas=3", "minReplicas=4", "minReplicas=5"}, true, 3},
		"long fields":      {[]string{"stabilizationWindowSeconds=60", "stabilizationWindowSeconds=600"}, false, 1},
		"long fields, all rows": {crossed([]string{"maxReplicas=6", "maxReplicas=7"},
			[]string{"stabilizationWindowSeconds=60", "stabilizationWindowSeconds=600"}), true, 2},
		"whole paths": {crossed([]string{"spec.behavior.scaleUp.stabilizationWindowSeconds=0"},
			[]string{"spec.behavior.scaleDown.stabilizationWindowSeconds=60", "spec.behavior.scaleDown.stabilizationWindowSeconds=600"}), true, 1},
		"a name without end": {[]string{strings.Repeat("x", 3*width), "other"}, false, 2},
	} {
		var all []*simulate.Run
		for i, setting := range c.names {
			run := *runs()[i%2]
			run.Setting.Name = setting
			run.Score.Actions, run.Score.Ups, run.Score.Downs = 3, 2, 1
			all = append(all, &run)
		}
		text := table(all, rowsFor(&simulate.Scene{}, all, Form{HasAllRows: c.hasAll}), width)
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%s: %d characters: %s", name, n, line)
			}
		}
		if got := strings.Count(text, "\nchanges "); got != c.blocks {
			t.Errorf("%s: %d blocks, want %d\n%s", name, got, c.blocks, text)
		}
		if got := strings.Count(text, "3 (2 up, 1 down)"); got != len(c.names) {
			t.Errorf("%s: %d columns of %d\n%s", name, got, len(c.names), text)
		}
	}
}

func crossed(left, right []string) (all []string) {
	for _, l := range left {
		for _, r := range right {
			all = append(all, l+" "+r)
		}
	}
	return all
}

// TestTableHead: a name stands in its column's own lines, next to the cells.
func TestTableHead(t *testing.T) {
	all := runs()
	all[0].Setting.Name, all[1].Setting.Name = "maxReplicas=6 upstream", "maxReplicas=60 plimsoll"
	const want = `                maxReplicas=6   maxReplicas=60
                     upstream         plimsoll
requests lost          0.00 %           0.00 %
pod-hours               12.35             1234
`
	if got := table(all, brief[1:3], 50); got != want {
		t.Errorf("\n%s", got)
	}
}

func TestCSV(t *testing.T) {
	var out strings.Builder
	if err := CSV(&out, nil, runs()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(out.String(), "\n"); got != 3 || !strings.HasPrefix(out.String(), "name,as,pod_hours,") {
		t.Errorf("%d lines:\n%s", got, &out)
	}
}
