package loadreport

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
)

// The plot's size in characters: its rows, the columns before the axis, and the fewest and the most after it.
const (
	plotRows    = 12
	labelWidth  = 6
	leastWidth  = 20
	mostColumns = 160
)

// mark is the content of a place of the plot.
type mark uint8

const (
	blank mark = iota
	readyPods
	wantedPods
	load
)

// Marks differ without colours, too. People with any kind of colour vision can distinguish the colours: blue, green and
// orange.
var (
	runes   = [...]string{" ", "░", "─", "•"}
	colours = [...]string{"", "\x1b[38;5;35m", "\x1b[38;5;33m", "\x1b[38;5;202m"}
)

const plain = "\x1b[0m"

// column combines the cells of one column of the plot: the highest load, the most wanted pods, and the fewest ready
// ones, so that a short lack of pods stays visible. NaN means unknown.
type column struct{ load, wanted, ready float64 }

// plot draws ready pods as an area, wanted ones as a line and the load as dots.
func plot(t *loadhistory.Timeline, style Style, zone *time.Location) string {
	columns := columnsOf(t.Cells, max(leastWidth, min(style.Width-labelWidth-2, mostColumns)))
	top := topOf(t.Cells)
	rows := min(plotRows, int(math.Ceil(top))+1)
	scale := float64(rows-1) / top
	var text strings.Builder
	for row := rows - 1; row >= 0; row-- {
		fmt.Fprintf(&text, "%*s ┤", labelWidth, label(row, rows, top))
		last := blank
		var drawn strings.Builder
		for i := range columns {
			m := columns[i].markAt(row, scale)
			if style.InColour && m != last {
				drawn.WriteString(switchTo(last, m))
			}
			drawn.WriteString(runes[m])
			last = m
		}
		if style.InColour && last != blank {
			drawn.WriteString(plain)
		}
		text.WriteString(strings.TrimRight(drawn.String(), " ") + "\n")
	}
	text.WriteString(axis(t, len(columns), zone))
	fmt.Fprintf(&text, "%*s  %s load   %s wanted   %s ready\n", labelWidth, "", runes[load], runes[wantedPods],
		runes[readyPods])
	return text.String()
}

func switchTo(last, m mark) string {
	if m == blank {
		return plain
	}
	if last == blank {
		return colours[m]
	}
	return plain + colours[m]
}

// label returns the label of a row; only the lowest, the middle and the top one have one.
func label(row, rows int, top float64) string {
	switch {
	case row == 0:
		return "0"
	case row == rows-1 || rows > 4 && row == (rows-1)/2:
		return pods(top * float64(row) / float64(rows-1))
	}
	return ""
}

func columnsOf(cells []loadhistory.Cell, width int) []column {
	width = max(1, min(width, len(cells)))
	columns := make([]column, width)
	for i := range columns {
		columns[i] = columnOf(cells[i*len(cells)/width : (i+1)*len(cells)/width])
	}
	return columns
}

func columnOf(cells []loadhistory.Cell) column {
	c := column{load: math.NaN(), wanted: math.NaN(), ready: math.NaN()}
	for i := range cells {
		cell := &cells[i]
		if !cell.IsRecorded {
			continue
		}
		// A comparison with NaN is false.
		if !(c.load >= cell.Load) && !math.IsNaN(cell.Load) {
			c.load = cell.Load
		}
		if !cell.HasCounts() {
			continue
		}
		if wanted := float64(cell.Wanted); !(c.wanted >= wanted) {
			c.wanted = wanted
		}
		if ready := float64(cell.Ready); !(c.ready <= ready) {
			c.ready = ready
		}
	}
	return c
}

func (c *column) markAt(row int, scale float64) mark {
	height := func(value float64) float64 { return math.Round(value * scale) }
	at := float64(row)
	switch {
	case height(c.load) == at:
		return load
	case height(c.wanted) == at:
		return wantedPods
	case at > 0 && at <= height(c.ready):
		return readyPods
	}
	return blank
}

// axis has the times of the first column, the middle and the end.
func axis(t *loadhistory.Timeline, width int, zone *time.Location) string {
	layout := "15:04"
	switch length := t.End().Sub(t.Start); {
	case length > 20*time.Hour:
		layout = "Jan 02 15:04"
	case length <= 15*time.Minute:
		layout = "15:04:05"
	}
	names := []string{
		t.Start.In(zone).Format(layout), t.Start.Add(t.End().Sub(t.Start) / 2).In(zone).Format(layout),
		t.End().In(zone).Format(layout),
	}
	if width < 3*len(layout)+4 {
		names = []string{names[0], names[2]}
	}
	text := names[0]
	for i, name := range names[1:] {
		end := width * (i + 1) / (len(names) - 1)
		if i+2 < len(names) {
			end += len(name) / 2 // the middle one is centred
		}
		text += strings.Repeat(" ", max(2, end-len(text)-len(name))) + name
	}
	return fmt.Sprintf("%*s  %s\n", labelWidth, "", text)
}
