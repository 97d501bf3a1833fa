package oracle

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/plimsoll-dev/plimsoll/internal/decide/divergence"
)

// Tally counts what a run compared.
type Tally struct {
	Timelines int
	// Steps were compared with every divergence off; Equal of them were equal.
	Steps, Equal int
	// Attributed steps were compared with every divergence on, too. Same of them
	// were equal nevertheless, Jointly those that differ and that no single
	// divergence undoes.
	Attributed, Same, Jointly int
	Divergences               map[divergence.Set]int
	// Reached counts the reasons of upstream's conditions and events, and the
	// situations.
	Reached map[string]int
	// Unexplained are the differences that should not be.
	Unexplained []string
}

// NewTally is an empty one.
func NewTally() *Tally {
	return &Tally{Divergences: map[divergence.Set]int{}, Reached: map[string]int{}}
}

// Add adds another's counts.
func (t *Tally) Add(o *Tally) {
	t.Timelines += o.Timelines
	t.Steps += o.Steps
	t.Equal += o.Equal
	t.Attributed += o.Attributed
	t.Same += o.Same
	t.Jointly += o.Jointly
	for d, n := range o.Divergences {
		t.Divergences[d] += n
	}
	for what, n := range o.Reached {
		t.Reached[what] += n
	}
	t.Unexplained = append(t.Unexplained, o.Unexplained...)
}

var reasonOf = regexp.MustCompile(`^\S+ (?:Normal|Warning) (\w+):`)

// reach counts what a step touched.
func (t *Tally) reach(s *Situation, r *Result) {
	for i := range r.Status.Conditions {
		c := &r.Status.Conditions[i]
		t.Reached[fmt.Sprintf("condition %s %s %s", c.Type, c.Status, c.Reason)]++
	}
	for _, event := range r.Events {
		if found := reasonOf.FindStringSubmatch(event); found != nil {
			t.Reached["event "+found[1]]++
		}
	}
	for i := range s.Spec.Metrics {
		t.Reached["metric "+string(s.Spec.Metrics[i].Type)]++
	}
	for name, is := range map[string]bool{
		"scale written":       slices.ContainsFunc(r.Writes, func(w string) bool { return strings.HasSuffix(w, "<nil>") }),
		"scale write refused": slices.ContainsFunc(r.Writes, func(w string) bool { return !strings.HasSuffix(w, "<nil>") }),
		"restart":             s.Restart, "recreated": s.Recreate, "two objects on one target": s.Rival, "behavior": s.Spec.Behavior != nil,
		"from zero": s.Scale.Spec == 0 && len(r.Writes) > 0, "hostile numbers": s.Wild, "scale unreadable": s.Scale.GetError != "",
		"surge pods": len(s.Pods) > int(s.Scale.Spec), "no pods": len(s.Pods) == 0,
	} {
		if is {
			t.Reached["situation "+name]++
		}
	}
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
	fmt.Fprintf(table, "  changed by several together only\t%d\n", t.Jointly)
	fmt.Fprintf(table, "unexplained\t%d\n", len(t.Unexplained))
	keys := slices.SortedFunc(maps.Keys(t.Reached), func(a, b string) int { return cmp.Compare(a, b) })
	for _, key := range keys {
		fmt.Fprintf(table, "reached: %s\t%d\n", key, t.Reached[key])
	}
}
