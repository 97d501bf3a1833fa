package e2e

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

// Result is the result of Run.
type Result struct {
	Benchmark  string         `json:"benchmark"`
	Tests      string         `json:"tests"`
	Machine    report.Machine `json:"machine"`
	Kubernetes string         `json:"kubernetes"`
	Focus      string         `json:"focus,omitempty"`
	Specs      []SpecResult   `json:"specs"`
}

// SpecResult is the result of one test.
type SpecResult struct {
	Spec
	Outcomes map[Subject][]Outcome `json:"outcomes"`
	// alone is true if it is shown and not run.
	alone bool
}

func (s *SpecResult) canRun() bool { return s.NotRun == "" && !s.alone }

// judged counts the runs of the test with the requested load.
func (s *SpecResult) judged(subject Subject) int {
	count := 0
	for _, outcome := range s.Outcomes[subject] {
		if !outcome.Starved() {
			count++
		}
	}
	return count
}

func (r *Result) runnable() int {
	count := 0
	for i := range r.Specs {
		if r.Specs[i].canRun() {
			count++
		}
	}
	return count
}

// groups returns those of the tests that can be run, by their names.
func (r *Result) groups() []string {
	var groups []string
	for i := range r.Specs {
		if r.Specs[i].canRun() {
			groups = append(groups, r.Specs[i].Group)
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// longestFirst are the indices of the tests, those first that took longest earlier: a long one that is begun last runs
// alone at the end. Those that have not been run keep their order, behind the others.
func (r *Result) longestFirst() []int {
	order, seconds := make([]int, len(r.Specs)), make([]float64, len(r.Specs))
	for i := range r.Specs {
		order[i] = i
		for _, outcomes := range r.Specs[i].Outcomes {
			for _, outcome := range outcomes {
				seconds[i] = max(seconds[i], outcome.Seconds)
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(seconds[b], seconds[a]) })
	return order
}

// Take adds the outcomes of subjects that another call ran and this one did not, so that both are in one table.
func (r *Result) Take(other *Result) {
	for i := range r.Specs {
		spec := &r.Specs[i]
		at := slices.IndexFunc(other.Specs, func(s SpecResult) bool { return s.FullName == spec.FullName })
		if at < 0 {
			continue
		}
		for subject, outcomes := range other.Specs[at].Outcomes {
			if len(spec.Outcomes[subject]) == 0 {
				spec.Outcomes[subject] = outcomes
			}
		}
	}
}

// Failures returns the tests that failed in any run of a subject, except those whose load was not as requested. Those
// are starved, unless they were run again since.
func (r *Result) Failures(subject Subject) (failed, starved []string) {
	for i := range r.Specs {
		outcomes := r.Specs[i].Outcomes[subject]
		for run, outcome := range outcomes {
			switch {
			case outcome.State == Passed:
			case outcome.Starved() && run < len(outcomes)-1:
			case outcome.Starved():
				starved = append(starved, r.Specs[i].Name)
			default:
				failed = append(failed, r.Specs[i].Name)
			}
		}
	}
	return failed, starved
}

// String is for a line of progress.
func (o Outcome) String() string {
	text := fmt.Sprintf("%s after %.0f s", o.State, o.Seconds)
	if o.Starved() {
		text += "; the load was not what the test asked for, so this says nothing of the autoscaler"
	}
	var why []string
	if o.Load.Starved() {
		why = append(why, o.Load.String())
	}
	if o.isCrowded() {
		why = append(why, fmt.Sprintf("%.0f %% of the machine's CPU time was used", 100*o.BusyCPU))
	}
	if len(why) > 0 {
		text += ": " + strings.Join(why, "; ")
	}
	if o.State != Passed {
		text += "\n" + strings.TrimSpace(o.Message)
	}
	return text
}

// cell is for a table: the outcomes of a subject's runs.
func cell(outcomes []Outcome) string {
	texts := make([]string, len(outcomes))
	for i, o := range outcomes {
		texts[i] = fmt.Sprintf("%s %.0f s", o.State, o.Seconds)
		if o.Starved() {
			texts[i] += " (starved)"
		}
	}
	if len(texts) == 0 {
		return "not run"
	}
	return strings.Join(texts, ", ")
}

// Write prints the table, and below it what may make it doubtful.
func (r *Result) Write(w io.Writer) error {
	table := &report.Table{
		Title: fmt.Sprintf("Kubernetes %s, %s, on %d CPUs (%s): result and seconds of each run",
			r.Kubernetes, r.Tests, r.Machine.CPUs, r.Machine.CPUModel),
		Head: []string{"spec", string(Plimsoll), string(Upstream)},
	}
	var notes []string
	for i := range r.Specs {
		spec := &r.Specs[i]
		if spec.NotRun != "" {
			table.Add(spec.Name, "not run", "not run")
			notes = append(notes, fmt.Sprintf("%s: not run: %s.", spec.Name, spec.NotRun))
			continue
		}
		table.Add(spec.Name, cell(spec.Outcomes[Plimsoll]), cell(spec.Outcomes[Upstream]))
		notes = append(notes, spec.notes()...)
	}
	return table.WriteNotes(w, notes)
}

func (s *SpecResult) notes() []string {
	var notes []string
	for _, subject := range []Subject{Plimsoll, Upstream} {
		for run, outcome := range s.Outcomes[subject] {
			which := fmt.Sprintf("%s, %s, run %d, %s", s.Name, subject, run+1, outcome.State)
			if outcome.Load.Starved() {
				notes = append(notes, fmt.Sprintf("%s: the machine starved the load: %s.", which, outcome.Load))
			}
			if outcome.isCrowded() {
				notes = append(notes, fmt.Sprintf("%s: %.0f %% of the machine's CPU time was used.", which, 100*outcome.BusyCPU))
			}
		}
	}
	return notes
}
