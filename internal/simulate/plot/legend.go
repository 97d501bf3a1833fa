package plot

import (
	"fmt"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/plimsoll-dev/plimsoll/internal/simulate"
)

// The legend's measures.
const (
	textSize   = vg.Length(10)
	lineHeight = 1.5 * textSize
	swatch     = 0.35 * vg.Inch
)

// legend says above the panels what is shown, and what each line is, in lines as long
// as there is room, and returns its height.
func legend(c draw.Canvas, s *simulate.Scene, runs []*simulate.Run) vg.Length {
	words := draw.TextStyle{Color: black, Font: font.From(plot.DefaultFont, textSize), Handler: plot.DefaultTextHandler}
	y := c.Max.Y - textSize
	c.FillText(words, vg.Point{X: c.Min.X, Y: y},
		fmt.Sprintf("%s, seed %d, at a target of %.0f %%", filepath.Base(s.Load.Name), s.Seed, 100*s.Target))
	x := c.Min.X
	y -= lineHeight
	for _, e := range entries(runs) {
		wide := swatch + words.Width(e.name) + 2*margin
		if x > c.Min.X && x+wide > c.Max.X {
			x, y = c.Min.X, y-lineHeight
		}
		middle := y + 0.3*textSize
		c.StrokeLine2(e.look, x, middle, x+swatch, middle)
		c.FillText(words, vg.Point{X: x + swatch + margin/2, Y: y}, e.name)
		x += wide
	}
	return c.Max.Y - y
}

// entry is a line of the picture and its name.
type entry struct {
	name string
	look draw.LineStyle
}

func entries(runs []*simulate.Run) []entry {
	all := []entry{{"pods the load asks for", needStyle}, {"target", style(grey, dashed, 1)}}
	for i, run := range runs {
		all = append(all, entry{run.Setting.Name, readyStyle(i)}, entry{run.Setting.Name + ", pods wanted", wantedStyle(i)})
		if run.HasSchedules() {
			all = append(all, entry{run.Setting.Name + ", limits", limitStyle(i)})
		}
	}
	return all
}
