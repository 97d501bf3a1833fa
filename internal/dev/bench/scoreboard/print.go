package scoreboard

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll-dev/plimsoll/internal/simulate/score"
)

// column is one measure of the table.
type column struct {
	head string
	of   func(s *score.Score) float64
	// decimals are shown.
	decimals int
}

var columns = []column{
	{"pod-hours", func(s *score.Score) float64 { return s.PodHours }, 1},
	{"short, % of time", func(s *score.Score) float64 { return s.ShortPercent }, 3},
	{"longest, s", func(s *score.Score) float64 { return s.LongestShortSeconds }, 0},
	{"lost, %", func(s *score.Score) float64 { return s.LostPercent }, 3},
	{"slow, %", func(s *score.Score) float64 { return s.SlowPercent }, 3},
	{"p99, ms", func(s *score.Score) float64 { return 1000 * s.P99Seconds }, 0},
	{"θU, %", func(s *score.Score) float64 { return s.ThetaU }, 2},
	{"θO, %", func(s *score.Score) float64 { return s.ThetaO }, 1},
	{"τU, %", func(s *score.Score) float64 { return s.TauU }, 1},
	{"τO, %", func(s *score.Score) float64 { return s.TauO }, 1},
	{"υ, %", func(s *score.Score) float64 { return s.Instability }, 2},
	{"actions a day", func(s *score.Score) float64 { return float64(s.Actions) * 24 / s.Hours }, 0},
	{"turned round a day", func(s *score.Score) float64 { return float64(s.Reverses) * 24 / s.Hours }, 0},
	{"recovery, s", recovery, 0},
	{"worst, s", worst, 0},
}

// recovery is missing where there was no surge.
func recovery(s *score.Score) float64 {
	if len(s.RecoverySeconds) == 0 {
		return math.NaN()
	}
	return s.MedianRecoverySeconds
}

func worst(s *score.Score) float64 {
	if len(s.RecoverySeconds) == 0 {
		return math.NaN()
	}
	return s.WorstRecoverySeconds
}

// WriteTable prints the table as Markdown: of each load upstream's figure and Plimsoll's,
// medians over the seeds; then the medians over all loads, and in how many of them
// Plimsoll has less and more.
func (r *Results) WriteTable(out io.Writer) error {
	head := []string{"load"}
	for _, c := range columns {
		head = append(head, c.head)
	}
	cells := [][]string{head}
	type pair struct{ upstream, plimsoll []float64 }
	all := make([]pair, len(columns))
	for i := range r.Loads {
		l := &r.Loads[i]
		line := []string{l.Name}
		for k, c := range columns {
			a, b := medianOf(l.Upstream, c.of), medianOf(l.Plimsoll, c.of)
			line = append(line, both(a, b, c.decimals))
			if !math.IsNaN(a) && !math.IsNaN(b) {
				all[k].upstream, all[k].plimsoll = append(all[k].upstream, a), append(all[k].plimsoll, b)
			}
		}
		cells = append(cells, line)
	}
	medians, counts := []string{"**median**"}, []string{"less / more in"}
	for k, c := range columns {
		medians = append(medians, "**"+both(middle(all[k].upstream), middle(all[k].plimsoll), c.decimals)+"**")
		less, more := 0, 0
		for i := range all[k].upstream {
			switch a, b := text(all[k].upstream[i], c.decimals), text(all[k].plimsoll[i], c.decimals); {
			case a == b:
			case all[k].plimsoll[i] < all[k].upstream[i]:
				less++
			default:
				more++
			}
		}
		counts = append(counts, fmt.Sprintf("%d / %d", less, more))
	}
	_, err := io.WriteString(out, markdown(append(cells, medians, counts)))
	return err
}

func both(a, b float64, decimals int) string { return text(a, decimals) + " / " + text(b, decimals) }

func text(v float64, decimals int) string {
	if math.IsNaN(v) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

func medianOf(scores []score.Score, of func(s *score.Score) float64) float64 {
	var values []float64
	for i := range scores {
		if v := of(&scores[i]); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	return middle(values)
}

// middle is the median; NaN if there is nothing.
func middle(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return score.Median(slices.Sorted(slices.Values(values)))
}

// markdown aligns cells, numbers to the right.
func markdown(cells [][]string) string {
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, line := range cells {
		for i, cell := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i == 0 {
				b.WriteString("| " + cell + pad + " ")
			} else {
				b.WriteString("| " + pad + cell + " ")
			}
		}
		b.WriteString("|\n")
		if n > 0 {
			continue
		}
		for i, w := range widths {
			if i == 0 {
				b.WriteString("|" + strings.Repeat("-", w+2))
			} else {
				b.WriteString("|" + strings.Repeat("-", w+1) + ":")
			}
		}
		b.WriteString("|\n")
	}
	return b.String()
}
