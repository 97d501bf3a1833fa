package plot

import (
	"fmt"
	"image/color"
	"io"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/plimsoll-dev/plimsoll/internal/simulate"
)

// The picture's size. Half of its height is the pods', which it is about.
const (
	width  = 10 * vg.Inch
	height = 9 * vg.Inch
	margin = 0.12 * vg.Inch
)

var (
	black = color.RGBA{A: 255}
	grey  = color.RGBA{R: 153, G: 153, B: 153, A: 255}
	faint = color.RGBA{R: 225, G: 225, B: 225, A: 255}
	// colours has the colours of the runs, in their order.
	colours = []color.RGBA{
		{R: 213, G: 94, A: 255},          // vermillion
		{G: 114, B: 178, A: 255},         // blue
		{G: 158, B: 115, A: 255},         // bluish green
		{R: 204, G: 121, B: 167, A: 255}, // reddish purple
		{R: 230, G: 159, A: 255},         // orange
		{R: 86, G: 180, B: 233, A: 255},  // sky blue
	}
)

// MostRuns are how many runs a picture can show.
var MostRuns = len(colours)

// Formats has the formats that Draw writes.
var Formats = []string{"svg", "png"}

// Draw writes a picture of the runs.
func Draw(out io.Writer, format string, s *simulate.Scene, runs []*simulate.Run) error {
	if len(runs) == 0 || len(runs) > MostRuns {
		return fmt.Errorf("a picture shows 1 to %d runs, not %d", MostRuns, len(runs))
	}
	canvas, err := draw.NewFormattedCanvas(width, height, format)
	if err != nil {
		return err
	}
	panels, err := panelsOf(s, runs)
	if err != nil {
		return err
	}
	column := make([][]*plot.Plot, len(panels))
	for i := range panels {
		column[i] = []*plot.Plot{panels[i]}
	}
	whole := draw.New(canvas)
	whole.SetColor(color.White)
	whole.Fill(whole.Rectangle.Path())
	names := legend(draw.Crop(whole, margin, -margin, 0, -margin), s, runs)
	tiles := draw.Tiles{Rows: len(panels), Cols: 1, PadY: margin}
	for i, row := range plot.Align(column, tiles, draw.Crop(whole, margin, -margin, margin, -names-2*margin)) {
		panels[i].Draw(row[0])
	}
	_, err = canvas.WriteTo(out)
	return err
}

// panelsOf are the parts of the picture, from top to bottom.
func panelsOf(s *simulate.Scene, runs []*simulate.Run) ([]*plot.Plot, error) {
	first := runs[0].Series.Points
	load := panel("load")
	if err := line(load, first, style(black, nil, 1), func(m *simulate.Moment) float64 { return m.Load }); err != nil {
		return nil, err
	}
	pods, err := podsPanel(runs)
	if err != nil {
		return nil, err
	}
	used := panel("CPU used, % of requests")
	latency := panel("latency, s")
	latency.Y.Scale = plot.LogScale{}
	latency.Y.Tick.Marker = decades{}
	for i, run := range runs {
		look := style(colours[i], nil, 1)
		err := line(used, run.Series.Points, look, func(m *simulate.Moment) float64 { return 100 * m.Utilization })
		if err == nil {
			err = line(latency, run.Series.Points, look,
				func(m *simulate.Moment) float64 { return max(leastLatency, m.Latency) })
		}
		if err != nil {
			return nil, err
		}
	}
	target := plotter.NewFunction(func(float64) float64 { return 100 * s.Target })
	target.LineStyle = style(grey, dashed, 1)
	used.Add(target)
	panels := []*plot.Plot{load, pods, used, latency}
	for _, p := range panels {
		p.X.Min, p.X.Max = 0, s.For.Seconds()
		p.Y.Min = min(p.Y.Min, floorOf(p))
	}
	latency.Y.Min, latency.Y.Max = decadeBelow(latency.Y.Min), decadeBelow(latency.Y.Max)*10
	latency.X.Label.Text = "time since the load began"
	return panels, nil
}

// leastLatency stands for none: where no request was served.
const leastLatency = 1e-3

func decadeBelow(v float64) float64 { return math.Pow(10, math.Floor(math.Log10(v))) }

// floorOf returns the start of the axis: 0, unless the scale cannot show it.
func floorOf(p *plot.Plot) float64 {
	if _, isLog := p.Y.Scale.(plot.LogScale); isLog {
		return p.Y.Min
	}
	return 0
}

// podsPanel shows what was wanted, dashed, and what was ready.
func podsPanel(runs []*simulate.Run) (*plot.Plot, error) {
	pods := panel("pods")
	if err := line(pods, runs[0].Series.Points, needStyle,
		func(m *simulate.Moment) float64 { return float64(m.Need) }); err != nil {
		return nil, err
	}
	for i, run := range runs {
		err := line(pods, run.Series.Points, wantedStyle(i), func(m *simulate.Moment) float64 { return float64(m.Wanted) })
		if err == nil {
			err = line(pods, run.Series.Points, readyStyle(i), func(m *simulate.Moment) float64 { return float64(m.Ready) })
		}
		if err == nil && run.HasSchedules() {
			err = limitLines(pods, i, run)
		}
		if err != nil {
			return nil, err
		}
	}
	return pods, nil
}

// limitLines shows between which counts a run may be.
func limitLines(pods *plot.Plot, i int, run *simulate.Run) error {
	top := topOf([]*simulate.Run{run})
	err := line(pods, run.Series.Points, limitStyle(i), least)
	if err == nil {
		// A max that is far away would leave no room for the rest.
		err = line(pods, run.Series.Points, limitStyle(i), func(m *simulate.Moment) float64 { return most(m, top) })
	}
	return err
}

var dashed = []vg.Length{vg.Points(4), vg.Points(3)}

var dotted = []vg.Length{vg.Points(1), vg.Points(2)}

var needStyle = style(grey, nil, 3)

func wantedStyle(run int) draw.LineStyle { return style(colours[run], dashed, 1) }
func readyStyle(run int) draw.LineStyle  { return style(colours[run], nil, 1.5) }

func limitStyle(run int) draw.LineStyle { return style(colours[run], dotted, 1) }

func style(c color.Color, dashes []vg.Length, points float64) draw.LineStyle {
	return draw.LineStyle{Color: c, Width: vg.Points(points), Dashes: dashes}
}

func panel(what string) *plot.Plot {
	p := plot.New()
	p.Y.Label.Text = what
	p.X.Tick.Marker, p.Y.Tick.Marker = clock{}, short{}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = faint, faint
	p.Add(grid)
	return p
}

func line(p *plot.Plot, points []simulate.Moment, look draw.LineStyle, of func(m *simulate.Moment) float64) error {
	xy := make(plotter.XYs, len(points))
	for i := range points {
		xy[i].X, xy[i].Y = points[i].At.Seconds(), of(&points[i])
	}
	l, err := plotter.NewLine(xy)
	if err != nil {
		return err
	}
	l.LineStyle, l.StepStyle = look, plotter.PreStep
	p.Add(l)
	return nil
}
