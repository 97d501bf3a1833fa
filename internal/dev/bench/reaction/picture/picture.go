// Package picture draws how many replicas were wanted in the seconds after a load began: a line for each run, and the
// median of the runs in words.
package picture

import (
	"errors"
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/reaction"
)

const (
	width  = 8 * vg.Inch
	height = 3.6 * vg.Inch
	margin = 0.12 * vg.Inch
)

// colours are those of the subjects, in their order. Colour-blind people can distinguish them, too.
var colours = []color.RGBA{
	{R: 230, G: 159, A: 255},         // orange
	{R: 86, G: 180, B: 233, A: 255},  // sky blue
	{G: 114, B: 178, A: 255},         // blue
	{R: 204, G: 121, B: 167, A: 255}, // reddish purple
}

// SVG draws a result. It has the moments at which more replicas were first wanted, at which 8 were, and 10; the
// experiment begins with 2.
func SVG(out io.Writer, result *reaction.Result) error {
	if n := len(result.Subjects); n == 0 || n > len(colours) {
		return fmt.Errorf("a picture shows 1 to %d subjects, not %d", len(colours), n)
	}
	p := plot.New()
	p.Title.Text = "nginx on a real node under a sudden load"
	p.X.Label.Text = "seconds since the load began"
	p.Y.Label.Text = "replicas wanted"
	p.Y.Min, p.Y.Max, p.X.Min = 0, 11, 0
	p.X.Tick.Marker = plot.TickerFunc(everyTen)
	p.Y.Tick.Marker = plot.ConstantTicks{
		{Value: 2, Label: "2"}, {Value: 4, Label: "4"}, {Value: 8, Label: "8"}, {Value: 10, Label: "10"},
	}
	// Browsers have no serif of the same widths; right of the legend there is room for wider letters.
	p.Legend.Left, p.Legend.XOffs, p.Legend.YOffs = true, 0.45*width, 2*margin
	for _, style := range []*text.Style{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		style.Font.Variant = "Sans"
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{Y: 225}, color.Gray{Y: 225}
	p.Add(grid)
	end := endOf(result)
	for i := range result.Subjects {
		if err := add(p, &result.Subjects[i], colours[i], end); err != nil {
			return err
		}
	}
	p.X.Max = end
	canvas, err := draw.NewFormattedCanvas(width, height, "svg")
	if err != nil {
		return err
	}
	whole := draw.New(canvas)
	whole.SetColor(color.White)
	whole.Fill(whole.Rectangle.Path())
	p.Draw(draw.Crop(whole, margin, -margin, margin, -margin))
	_, err = canvas.WriteTo(out)
	return err
}

func everyTen(low, high float64) (ticks []plot.Tick) {
	for at := low; at <= high; at += 10 {
		ticks = append(ticks, plot.Tick{Value: at, Label: fmt.Sprintf("%.0f", at)})
	}
	return ticks
}

// endOf leaves some room after the last moment.
func endOf(result *reaction.Result) (end float64) {
	for i := range result.Subjects {
		for _, at := range result.Subjects[i].AllWantedSeconds.Runs {
			end = max(end, at)
		}
	}
	return end * 1.05
}

// add draws a line for each run of a subject.
func add(p *plot.Plot, subject *reaction.SubjectResult, in color.Color, end float64) error {
	first, almost, all := subject.FirstWriteSeconds.Runs, subject.AlmostWantedSeconds.Runs, subject.AllWantedSeconds.Runs
	if len(first) == 0 || len(almost) != len(first) || len(all) != len(first) {
		return errors.New(subject.Name + ": the result has not the same moments of each run")
	}
	for run := range first {
		line, err := plotter.NewLine(plotter.XYs{
			{X: 0, Y: 2}, {X: first[run], Y: 4}, {X: almost[run], Y: 8}, {X: all[run], Y: 10}, {X: end, Y: 10},
		})
		if err != nil {
			return err
		}
		line.StepStyle = plotter.PostStep
		line.LineStyle = draw.LineStyle{Color: in, Width: vg.Points(1.8)}
		p.Add(line)
		if run == 0 {
			p.Legend.Add(fmt.Sprintf("%s: 10 after %.1f s", subject.Name, subject.AllWantedSeconds.Median()), line)
		}
	}
	return nil
}
