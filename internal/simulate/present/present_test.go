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
			PodHours: 12.345, LongestShortSeconds: 92, ShortPercent: 0.001, P50Seconds: 0.0184, P99Seconds: 2.2, Actions: 3,
			Ups: 2, Downs: 1,
		}},
		{Setting: simulate.Setting{Name: "plimsoll, no window"}, Score: score.Score{
			PodHours: 1234.5, Surges: 1, RecoverySeconds: []float64{17.5}, MedianRecoverySeconds: 17.5,
			WorstRecoverySeconds: 17.5,
		}},
	}
}

// TestTable: columns stand in line, what is not there is no zero, and what is nearly
// nothing is not nothing.
func TestTable(t *testing.T) {
	lines := strings.Split(strings.TrimRight(Table(runs()), "\n"), "\n")
	if len(lines) != len(rows)+1 {
		t.Fatalf("%d lines of %d", len(lines), len(rows)+1)
	}
	width := len([]rune(lines[0]))
	for _, line := range lines {
		if len([]rune(line)) != width {
			t.Errorf("%q is not as wide as the head", line)
		}
	}
	text := strings.Join(lines, "\n")
	for _, want := range []string{"12.35", "1234\n", "1m32s", "<0.01", "18ms", "2.2s", "3 (2 up, 1 down)", "17.5s",
		"-   "} {
		if !strings.Contains(text+"\n", want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
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
