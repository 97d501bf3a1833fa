package scoreboard

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

func text(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
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
