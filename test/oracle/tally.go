package oracle

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// Tally counts what a run compared.
type Tally struct {
	Timelines int
	// Steps were compared with every divergence off; Equal of them were equal.
	Steps, Equal int
	// Attributed steps were compared with every divergence on, too, and Same of
	// them were equal nevertheless. Divergences counts the steps that each changes;
	// Jointly are those among them that only several undo together.
	Attributed, Same int
	Divergences      map[divergence.Set]int
	Jointly          map[divergence.Set]int
	// Replayed steps were decided a third time, from their snapshots.
	Replayed int
	// OnPurpose are the steps that a WorkloadAutoscaler decides otherwise, and Unreadable those without
	// a decision to compare.
	OnPurpose  map[purpose]int
	Unreadable int
	// Reached counts the reasons of upstream's conditions and events, the
	// situations, and the core's ways.
	Reached map[string]int
	// Unexplained are the differences that should not be.
	Unexplained []string
}

// NewTally is an empty one.
func NewTally() *Tally {
	return &Tally{Divergences: map[divergence.Set]int{}, Jointly: map[divergence.Set]int{}, Reached: map[string]int{},
		OnPurpose: map[purpose]int{}}
}

// Add adds another's counts.
func (t *Tally) Add(o *Tally) {
	t.Timelines += o.Timelines
	t.Steps += o.Steps
	t.Equal += o.Equal
	t.Attributed += o.Attributed
	t.Same += o.Same
	t.Replayed += o.Replayed
	for d, n := range o.Divergences {
		t.Divergences[d] += n
	}
	for d, n := range o.Jointly {
		t.Jointly[d] += n
	}
	for what, n := range o.Reached {
		t.Reached[what] += n
	}
	t.Unreadable += o.Unreadable
	for why, n := range o.OnPurpose {
		t.OnPurpose[why] += n
	}
	t.Unexplained = append(t.Unexplained, o.Unexplained...)
}

// PrintPasted writes the table of a run with WorkloadAutoscalers.
func (t *Tally) PrintPasted(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer func() { _ = table.Flush() }()
	fmt.Fprintf(table, "timelines\t%d\n", t.Timelines)
	fmt.Fprintf(table, "the HPA's spec in a WorkloadAutoscaler: steps compared\t%d\n", t.Steps)
	fmt.Fprintf(table, "  equal\t%d\n", t.Equal)
	for _, why := range slices.Sorted(maps.Keys(t.OnPurpose)) {
		fmt.Fprintf(table, "  other on purpose: %s\t%d\n", why, t.OnPurpose[why])
	}
	fmt.Fprintf(table, "unexplained\t%d\n", len(t.Unexplained))
	fmt.Fprintf(table, "steps without a readable target, not compared\t%d\n", t.Unreadable)
}

// Print writes the table.
func (t *Tally) Print(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer func() { _ = table.Flush() }()
	fmt.Fprintf(table, "timelines\t%d\n", t.Timelines)
	fmt.Fprintf(table, "with divergences off: steps compared\t%d\n", t.Steps)
	fmt.Fprintf(table, "  equal\t%d\n", t.Equal)
	fmt.Fprintf(table, "with divergences on: steps compared\t%d\n", t.Attributed)
	fmt.Fprintf(table, "  equal\t%d\n", t.Same)
	for _, d := range divergence.All() {
		fmt.Fprintf(table, "  changed by %s\t%d\n", d, t.Divergences[d])
	}
	for _, set := range slices.Sorted(maps.Keys(t.Jointly)) {
		fmt.Fprintf(table, "  of these by several together only: %s\t%d\n", set, t.Jointly[set])
	}
	fmt.Fprintf(table, "replayed from snapshots: steps compared\t%d\n", t.Replayed)
	fmt.Fprintf(table, "unexplained\t%d\n", len(t.Unexplained))
	for _, place := range t.Unreached() {
		fmt.Fprintf(table, "not reached: %s\t0\n", place)
	}
	for _, place := range slices.Sorted(maps.Keys(t.Reached)) {
		fmt.Fprintf(table, "reached: %s\t%d\n", place, t.Reached[place])
	}
}
