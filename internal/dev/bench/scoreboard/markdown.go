package scoreboard

import (
	"math"
	"strconv"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

func text(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// markdown aligns cells, of which the first line is the head.
func markdown(cells [][]string) string {
	return (&report.Table{Head: cells[0], Rows: cells[1:]}).Markdown()
}
