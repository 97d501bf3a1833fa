package vertical

import (
	"fmt"
	"io"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/devcluster"
)

// UpstreamVersion is that of upstream's recommender and updater, as tools/autoscaler pins it.
const UpstreamVersion = "v1.8.1"

// Result is what Run measured.
type Result struct {
	Benchmark  string         `json:"benchmark"`
	Machine    report.Machine `json:"machine"`
	Kubernetes string         `json:"kubernetes"`
	Upstream   string         `json:"upstream"`

	Objects       int             `json:"objects"`
	PodsPerObject int             `json:"podsPerObject"`
	Mode          string          `json:"mode"`
	Passes        int             `json:"passesAtRest"`
	Expected      int             `json:"actionsExpected"`
	Subjects      []SubjectResult `json:"subjects"`
}

// SubjectResult is one subject's numbers over all runs.
type SubjectResult struct {
	Subject
	Runs int `json:"runs"`

	RecommenderPassSeconds report.Spread            `json:"recommenderPassSeconds"`
	UpdaterPassSeconds     report.Spread            `json:"updaterPassAtRestSeconds"`
	WritesPerMinute        report.Spread            `json:"writesPerMinute"`
	WritesByKind           map[string]report.Spread `json:"writesPerMinuteByKind"`
	Cores                  report.Spread            `json:"coresAtRest"`
	ActionsAtRest          report.Spread            `json:"actionsAtRest"`

	ActingPassSeconds report.Spread `json:"actingPassSeconds"`
	ComputingSeconds  report.Spread `json:"actingPassComputingSeconds"`
	Actions           report.Spread `json:"actions"`
	ActionsPerSecond  report.Spread `json:"actionsPerSecond"`
	Failures          report.Spread `json:"actionsFailed"`

	ResidentBytes  report.Spread `json:"residentBytes"`
	AnonymousBytes report.Spread `json:"anonymousBytes"`
}

func (c Config) result(machine report.Machine, measured [][]measurement) Result {
	r := Result{
		Benchmark: "vertical", Machine: machine, Kubernetes: devcluster.KubernetesVersion, Upstream: UpstreamVersion,
		Objects: c.Objects, PodsPerObject: c.PodsPer, Mode: c.Mode, Passes: c.Passes, Expected: c.actions(),
	}
	for i, subject := range c.Subjects {
		r.Subjects = append(r.Subjects, resultOf(subject, measured[i]))
	}
	return r
}

func resultOf(subject Subject, runs []measurement) SubjectResult {
	over := func(of func(*measurement) float64) report.Spread {
		values := make([]float64, len(runs))
		for i := range runs {
			values[i] = of(&runs[i])
		}
		return report.Of(values...)
	}
	r := SubjectResult{
		Subject: subject, Runs: len(runs), WritesByKind: map[string]report.Spread{},
		RecommenderPassSeconds: over(func(m *measurement) float64 { return m.recommenderPass }),
		UpdaterPassSeconds:     over(func(m *measurement) float64 { return m.updaterPass }),
		WritesPerMinute:        over((*measurement).total),
		Cores:                  over(func(m *measurement) float64 { return m.restCores }),
		ActionsAtRest:          over(func(m *measurement) float64 { return m.restActions }),
		ActingPassSeconds:      over(func(m *measurement) float64 { return m.actingPass }),
		ComputingSeconds:       over(func(m *measurement) float64 { return m.computing }),
		Actions:                over(func(m *measurement) float64 { return m.actions }),
		ActionsPerSecond:       over(func(m *measurement) float64 { return m.actions / m.acting }),
		Failures:               over(func(m *measurement) float64 { return m.failures }),
		ResidentBytes:          over(func(m *measurement) float64 { return m.residentBytes }),
		AnonymousBytes:         over(func(m *measurement) float64 { return m.anonymousBytes }),
	}
	for i := range runs {
		for kind := range runs[i].writesPerMinute {
			r.WritesByKind[kind] = over(func(m *measurement) float64 { return m.writesPerMinute[kind] })
		}
	}
	return r
}

// row is a line of the table.
type row struct {
	name string
	of   func(*SubjectResult) report.Spread
}

const mebibyte = 1 << 20

func rows(kinds []string) []row {
	all := []row{
		{"recommender's pass, s", func(r *SubjectResult) report.Spread { return r.RecommenderPassSeconds }},
		{"updater's pass at rest, s", func(r *SubjectResult) report.Spread { return r.UpdaterPassSeconds }},
		{"writes a minute at rest", func(r *SubjectResult) report.Spread { return r.WritesPerMinute }},
	}
	for _, kind := range kinds {
		all = append(all, row{"  " + kind, func(r *SubjectResult) report.Spread { return r.WritesByKind[kind] }})
	}
	return append(all,
		row{"CPU at rest, cores", func(r *SubjectResult) report.Spread { return r.Cores }},
		row{"acting: pass, s", func(r *SubjectResult) report.Spread { return r.ActingPassSeconds }},
		row{"acting: before the first, s", func(r *SubjectResult) report.Spread { return r.ComputingSeconds }},
		row{"acting: pods changed", func(r *SubjectResult) report.Spread { return r.Actions }},
		row{"acting: pods a second", func(r *SubjectResult) report.Spread { return r.ActionsPerSecond }},
		row{"acting: failures", func(r *SubjectResult) report.Spread { return r.Failures }},
		row{"resident memory, MiB", func(r *SubjectResult) report.Spread { return inMiB(r.ResidentBytes) }},
		row{"  of that no file's, MiB", func(r *SubjectResult) report.Spread { return inMiB(r.AnonymousBytes) }},
	)
}

func inMiB(s report.Spread) report.Spread {
	values := slices.Clone(s.Runs)
	for i := range values {
		values[i] /= mebibyte
	}
	return report.Of(values...)
}

// kinds of writes that some subject made, in order.
func (r *Result) kinds() []string {
	var kinds []string
	for i := range r.Subjects {
		for kind := range r.Subjects[i].WritesByKind {
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	slices.Sort(kinds)
	return kinds
}

// Write prints the table and, below it, what may make its numbers doubtful.
func (r *Result) Write(w io.Writer) error {
	table := report.Table{
		Title: fmt.Sprintf("%d vertical autoscalers in mode %s with %d pods each, upstream %s, Kubernetes %s, on %d CPUs (%s). Median of the runs (least to most).",
			r.Objects, r.Mode, r.PodsPerObject, r.Upstream, r.Kubernetes, r.Machine.CPUs, r.Machine.CPUModel),
		Head: []string{""},
	}
	for i := range r.Subjects {
		table.Head = append(table.Head, r.Subjects[i].Name)
	}
	for _, row := range rows(r.kinds()) {
		cells := []any{row.name}
		for i := range r.Subjects {
			cells = append(cells, row.of(&r.Subjects[i]))
		}
		table.Add(cells...)
	}
	if _, err := table.WriteTo(w); err != nil {
		return err
	}
	for _, doubt := range r.doubts() {
		if _, err := fmt.Fprintln(w, "\nNote: "+doubt); err != nil {
			return fmt.Errorf("print the notes: %w", err)
		}
	}
	return nil
}

func (r *Result) doubts() []string {
	var doubts []string
	for i := range r.Subjects {
		s := &r.Subjects[i]
		if n := s.ActionsAtRest.Most(); n > 0 {
			doubts = append(doubts, fmt.Sprintf("%s changed %.0f pods when there was nothing to change.", s.Name, n))
		}
		if n := s.Actions.Least(); n < float64(r.Expected) {
			doubts = append(doubts, fmt.Sprintf("%s changed only %.0f of %d pods in its pass: the whole takes longer than shown.", s.Name, n, r.Expected))
		}
	}
	return doubts
}
