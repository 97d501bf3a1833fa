package present

import (
	"strings"
	"testing"

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
		text := table(runs(), rowsFor(&simulate.Scene{}, Form{HasAllRows: c.hasAll}))
		lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
		if len(lines) != c.rows+1 {
			t.Fatalf("%d lines of %d", len(lines), c.rows+1)
		}
		for _, line := range lines {
			if len(line) != len(lines[0]) {
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
	text := table(runs(), rowsFor(&simulate.Scene{IsQueue: true}, Form{}))
	if !strings.Contains(text, "99 % of requests within") || strings.Contains(text, "lost") || !strings.Contains(text, "2.2s") {
		t.Errorf("%s", text)
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

// TestWrap: lines break between words, and go on behind an indentation.
func TestWrap(t *testing.T) {
	got := wrap("metric  hits is the requests that a pod serves", 24)
	if want := "metric  hits is the\n        requests that a\n        pod serves"; got != want {
		t.Errorf("%q", got)
	}
	if got := wrap("short", 24); got != "short" {
		t.Errorf("%q", got)
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
