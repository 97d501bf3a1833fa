package plot

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/guptarohit/asciigraph"

	"github.com/plimsoll-dev/plimsoll/internal/output"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
)

// Size is that of a plot in a terminal, in characters.
type Size struct{ Width, Height int }

// Text draws ready pods beside those that the load asks for. In colour, all runs are in
// one plot; without, each has its own, because the lines would look alike.
func Text(runs []*simulate.Run, size Size, inColour bool) string {
	if inColour {
		return together(runs, size)
	}
	var text strings.Builder
	top := topOf(runs)
	heading := func(line string) string { return output.Wrap(line, size.Width, 0, len("  ")) }
	for _, run := range runs {
		fmt.Fprintf(&text, "%s\n%s\n", heading(run.Setting.Name+": pods ready"),
			strip(graph([][]float64{values(run, size.Width, ready)}, size, top)))
		if run.HasSchedules() {
			limits := fmt.Sprintf("%s: limits, those above %.0f as %.0f", run.Setting.Name, top, top)
			fmt.Fprintf(&text, "%s\n%s\n", heading(limits), strip(graph([][]float64{
				values(run, size.Width, least),
				values(run, size.Width, func(m *simulate.Moment) float64 { return most(m, top) }),
			}, size, top)))
		}
	}
	fmt.Fprintf(&text, "pods that the load asks for\n%s\n",
		strip(graph([][]float64{values(runs[0], size.Width, need)}, size, top)))
	return text.String()
}

func strip(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// ansi are the terminal's colours that come near those of the picture.
var ansi = []asciigraph.AnsiColor{
	asciigraph.OrangeRed, asciigraph.DodgerBlue, asciigraph.MediumSeaGreen, asciigraph.Orchid, asciigraph.Orange,
	asciigraph.SkyBlue,
}

func together(runs []*simulate.Run, size Size) string {
	series := [][]float64{values(runs[0], size.Width, need)}
	names, hues := []string{"the load asks for"}, []asciigraph.AnsiColor{asciigraph.Default}
	for i, run := range runs[:min(len(runs), len(ansi))] {
		series = append(series, values(run, size.Width, ready))
		names, hues = append(names, run.Setting.Name+", ready"), append(hues, ansi[i])
	}
	return graph(series, size, topOf(runs), asciigraph.SeriesColors(hues...)) + "\n\n" +
		textLegend(names, hues, size.Width)
}

// textLegend is a line for each name, behind a box in its colour.
func textLegend(names []string, hues []asciigraph.AnsiColor, width int) string {
	const box = "  ■ "
	var text strings.Builder
	for i, name := range names {
		n := utf8.RuneCountInString(box)
		text.WriteString(hues[i].String() + box + asciigraph.Default.String())
		text.WriteString(output.Wrap(name, width, n, n) + "\n")
	}
	return text.String()
}

// topOf is the largest count of all runs, so that their plots can be compared.
func topOf(runs []*simulate.Run) float64 {
	top := 1
	for _, run := range runs {
		for i := range run.Series.Points {
			m := &run.Series.Points[i]
			top = max(top, m.Need, m.Ready)
			if run.HasSchedules() {
				top = max(top, m.Least)
			}
		}
	}
	return float64(top)
}

// graph has round numbers at its axis, and as many rows as there is room for between them.
func graph(series [][]float64, size Size, top float64, options ...asciigraph.Option) string {
	step, rows := axis(int(top), size.Height)
	options = append([]asciigraph.Option{
		asciigraph.Height(rows), asciigraph.LowerBound(0), asciigraph.UpperBound(float64(upTo(int(top), step))),
		asciigraph.YAxisValueFormatter(func(v float64) string {
			if nearest := math.Round(v/float64(step)) * float64(step); math.Abs(v-nearest) < 1e-6*float64(step) {
				return strconv.FormatFloat(nearest, 'f', 0, 64)
			}
			return ""
		}),
	}, options...)
	return asciigraph.PlotMany(series, options...)
}

// mostLabels are how many numbers an axis has above 0.
const mostLabels = 6

// axis is how many pods are between two labels, and how many rows a plot has: those with which a row is the fewest
// pods, but one at least.
func axis(top, height int) (step, rows int) {
	highest := 0
	for decade := 1; decade/10 <= top; decade *= 10 {
		for _, of := range []int{decade, 2 * decade, 5 * decade} {
			high := upTo(top, of)
			n := high / of * min(of, height*of/high)
			if n > 0 && high/of <= mostLabels && (rows == 0 || high*rows < highest*n) {
				step, rows, highest = of, n, high
			}
		}
	}
	return step, rows
}

// upTo is the next multiple of a step.
func upTo(top, step int) int { return (top + step - 1) / step * step }

// least is the fewest replicas, and most the most, as far as they are shown.
func least(m *simulate.Moment) float64             { return float64(m.Least) }
func most(m *simulate.Moment, top float64) float64 { return min(float64(m.Most), top) }

func need(m *simulate.Moment) float64  { return float64(m.Need) }
func ready(m *simulate.Moment) float64 { return float64(m.Ready) }

// values are a run's, as many as there is room for: of several, the one that is most
// away from the mean, so that a short peak or dip is not lost.
func values(run *simulate.Run, width int, of func(m *simulate.Moment) float64) []float64 {
	points := run.Series.Points
	if len(points) == 0 {
		return []float64{0}
	}
	width = max(1, min(width, len(points)))
	thinned := make([]float64, width)
	for i := range thinned {
		part := points[i*len(points)/width : (i+1)*len(points)/width]
		mean := 0.0
		for k := range part {
			mean += of(&part[k]) / float64(len(part))
		}
		thinned[i] = of(&part[0])
		for k := range part {
			if v := of(&part[k]); math.Abs(v-mean) > math.Abs(thinned[i]-mean) {
				thinned[i] = v
			}
		}
	}
	return thinned
}
