package campaign

import (
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

// column is a figure of the tables.
type column struct {
	// name is that of JSON files, head that of tables.
	name, head string
	of         func(f *Figures) float64
	// isMedian shows the median of plays; otherwise their sum.
	isMedian bool
}

// The columns whose names are used elsewhere.
const (
	shortColumn     = "short"
	lackingColumn   = "lacking"
	overshootColumn = "overshoot"
	podHoursColumn  = "podHours"
	actionsColumn   = "actions"
)

var columns = []column{
	{name: shortColumn, head: "short, s", of: func(f *Figures) float64 { return f.ShortSeconds }},
	{name: lackingColumn, head: "lacking, pod-s", of: func(f *Figures) float64 { return f.LackingPodSeconds }},
	{name: "lost", head: "lost, sum of %", of: func(f *Figures) float64 { return f.LostPercent }},
	{name: podHoursColumn, head: "pod-hours", of: func(f *Figures) float64 { return f.PodHours }},
	{name: actionsColumn, head: "actions", of: func(f *Figures) float64 { return f.Actions }},
	{name: "turns", head: "turns", of: func(f *Figures) float64 { return f.Turns }},
	{name: overshootColumn, head: "overshoot, pods", of: func(f *Figures) float64 { return f.Overshoot }},
	{name: "startActions", head: "actions at start", of: func(f *Figures) float64 { return f.StartActions }},
	{name: "firstUp", head: "first up, s", of: func(f *Figures) float64 { return float64(f.FirstUpSeconds) },
		isMedian: true},
}

// columnOf is the column of a name.
func columnOf(name string) *column {
	for i := range columns {
		if columns[i].name == name {
			return &columns[i]
		}
	}
	panic("no column " + name)
}

// over is a column's figure of several plays; NaN if it is a median, and none of them has a value.
func (c *column) over(plays []*Play) float64 {
	values, sum := make([]float64, 0, len(plays)), 0.0
	for _, p := range plays {
		value := c.of(&p.Figures)
		values, sum = append(values, value), sum+value
	}
	if c.isMedian {
		return report.Of(values...).Median()
	}
	return sum
}

// ratio is one figure relative to another; NaN if there is nothing to compare with.
func ratio(mine, upstreams float64) float64 {
	if upstreams == 0 {
		return math.NaN()
	}
	return mine / upstreams
}
