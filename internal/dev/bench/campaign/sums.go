package campaign

import (
	"fmt"
	"math"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

// of returns the plays of a side, in the order of cases and seeds; of one family, or of all if it is empty.
func (r *Results) of(side, family string) []*Play {
	var plays []*Play
	for i := range r.Plays {
		if p := &r.Plays[i]; p.Side == side && (family == "" || p.Family == family) {
			plays = append(plays, p)
		}
	}
	return plays
}

// familiesPlayed are the names of the families, in their order.
func (r *Results) familiesPlayed() []string {
	var names []string
	for i := range r.Plays {
		if name := r.Plays[i].Family; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// sumTable has all plays of upstream, of Plimsoll, and the ratio of both.
func (r *Results) sumTable() *report.Table {
	t := &report.Table{
		Title: fmt.Sprintf("All %d cases, seeds %v, kubelets: %s.", r.Cases, r.Seeds, r.Kubelets),
		Head:  []string{"sum, or median", upstream.Name, plimsoll.Name, "ratio"},
	}
	theirs, ours := r.of(upstream.Name, ""), r.of(plimsoll.Name, "")
	for i := range columns {
		a, b := columns[i].over(theirs), columns[i].over(ours)
		t.Add(columns[i].head, amount(a), amount(b), ratioText(a, b))
	}
	return t
}

// familyTable has upstream's and Plimsoll's figures and their ratio, by family.
func (r *Results) familyTable() *report.Table {
	t := &report.Table{Title: "By family: upstream / Plimsoll, ratio.", Head: []string{"family", "plays"}}
	for i := range columns {
		t.Head = append(t.Head, columns[i].head)
	}
	for _, family := range append(r.familiesPlayed(), "") {
		theirs, ours := r.of(upstream.Name, family), r.of(plimsoll.Name, family)
		name := family
		if name == "" {
			name = "all"
		}
		cells := []any{name, len(ours)}
		for i := range columns {
			a, b := columns[i].over(theirs), columns[i].over(ours)
			cells = append(cells, amount(a)+" / "+amount(b)+" "+fmt.Sprintf("%5s", ratioText(a, b)))
		}
		t.Add(cells...)
	}
	return t
}

// amount is a sum: whole where it is large.
func amount(value float64) string {
	switch {
	case math.IsNaN(value):
		return "-"
	case value == float64(int64(value)) || value >= 100:
		return fmt.Sprintf("%.0f", value)
	}
	return fmt.Sprintf("%.1f", value)
}

func ratioText(theirs, ours float64) string {
	if q := ratio(ours, theirs); !math.IsNaN(q) {
		return fmt.Sprintf("%.2f", q)
	}
	return "-"
}
