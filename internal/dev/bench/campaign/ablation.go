package campaign

import (
	"fmt"
	"math"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

// ablationTable has the sums of each side, in how many plays anything differs from Plimsoll's, and in how many of those
// the load was short of capacity for longer or for less long by more than two seconds.
func (r *Results) ablationTable() *report.Table {
	t := &report.Table{
		Title: "What each divergence contributes: sums with it switched off alone.",
		Head:  []string{"side"},
	}
	for i := range columns {
		t.Head = append(t.Head, columns[i].head)
	}
	t.Head = append(t.Head, "plays that differ", "short for longer / shorter")
	base := r.of(plimsoll.Name, "")
	for _, side := range r.Sides {
		plays := r.of(side, "")
		cells := []any{side}
		for i := range columns {
			cells = append(cells, amount(columns[i].over(plays)))
		}
		differ, longer, shorter := compare(plays, base)
		t.Add(append(cells, differ, fmt.Sprintf("%d / %d", longer, shorter))...)
	}
	return t
}

// noticeable is the smallest difference of two plays that counts, in seconds short of capacity.
const noticeable = 2

// compare counts the plays that differ from those of a base, which are of the same cases and seeds.
func compare(plays, base []*Play) (differ, longer, shorter int) {
	for i := range plays {
		a, b := &plays[i].Figures, &base[i].Figures
		isOther := func(c column) bool { return !same(c.of(a), c.of(b)) }
		if slices.ContainsFunc(columns, isOther) {
			differ++
		}
		switch more := a.ShortSeconds - b.ShortSeconds; {
		case more > noticeable:
			longer++
		case more < -noticeable:
			shorter++
		}
	}
	return differ, longer, shorter
}

// same reports whether two figures are the same, or both are missing.
func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
