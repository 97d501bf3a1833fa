package vertical

import (
	"fmt"
	"io"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// UpstreamVersion is that of upstream's recommender and updater, as tools/autoscaler pins it.
const UpstreamVersion = "v1.8.1"

// Result is the result of Run.
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
	Bare          Bare            `json:"bare"`
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
	ServerCPU         report.Spread `json:"actingAPIServerCPUSecondsPerPod"`
	TellingSeconds    report.Spread `json:"actingTellingSeconds"`

	ResidentBytes  report.Spread `json:"residentBytes"`
	AnonymousBytes report.Spread `json:"anonymousBytes"`
}

func (c Config) result(machine report.Machine, measured [][]measurement) Result {
	r := Result{
		Benchmark: "vertical", Machine: machine, Kubernetes: build.KubernetesVersion, Upstream: UpstreamVersion,
		Objects: c.Objects, PodsPerObject: c.PodsPer, Mode: c.Mode, Passes: c.Passes, Expected: c.actions(),
	}
	for i, subject := range c.Subjects {
		r.Subjects = append(r.Subjects, resultOf(subject, measured[i]))
	}
	return r
}

func resultOf(subject Subject, runs []measurement) SubjectResult {
	over := func(of func(*measurement) float64) report.Spread { return report.Over(runs, of) }
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
		ServerCPU:              over(func(m *measurement) float64 { return m.serverCPU / m.actions }),
		TellingSeconds:         over(func(m *measurement) float64 { return m.telling }),
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

type row = report.Row[SubjectResult]

func rows(kinds []string) []row {
	all := []row{
		{Name: "recommender's pass, s", Of: func(r *SubjectResult) report.Spread { return r.RecommenderPassSeconds }},
		{Name: "updater's pass at rest, s", Of: func(r *SubjectResult) report.Spread { return r.UpdaterPassSeconds }},
		{Name: "writes a minute at rest", Of: func(r *SubjectResult) report.Spread { return r.WritesPerMinute }},
	}
	for _, kind := range kinds {
		all = append(all, row{Name: "  " + kind, Of: func(r *SubjectResult) report.Spread { return r.WritesByKind[kind] }})
	}
	return append(all,
		row{Name: "CPU at rest, cores", Of: func(r *SubjectResult) report.Spread { return r.Cores }},
		row{Name: "acting: pass, s", Of: func(r *SubjectResult) report.Spread { return r.ActingPassSeconds }},
		row{Name: "acting: before the first, s", Of: func(r *SubjectResult) report.Spread { return r.ComputingSeconds }},
		row{Name: "acting: pods changed", Of: func(r *SubjectResult) report.Spread { return r.Actions }},
		row{Name: "acting: pods a second", Of: func(r *SubjectResult) report.Spread { return r.ActionsPerSecond }},
		row{Name: "acting: failures", Of: func(r *SubjectResult) report.Spread { return r.Failures }},
		row{Name: "acting: API server, CPU ms a pod",
			Of: func(r *SubjectResult) report.Spread { return r.ServerCPU.Times(1000) }},
		row{Name: "acting: telling objects, s", Of: func(r *SubjectResult) report.Spread { return r.TellingSeconds }},
		row{Name: "resident memory, MiB", Of: func(r *SubjectResult) report.Spread { return inMiB(r.ResidentBytes) }},
		row{Name: "  of that no file's, MiB", Of: func(r *SubjectResult) report.Spread { return inMiB(r.AnonymousBytes) }},
	)
}

func inMiB(s report.Spread) report.Spread { return s.Times(1.0 / report.Mebibyte) }

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
	title := fmt.Sprintf("%d vertical autoscalers in mode %s with %d pods each, upstream %s, Kubernetes %s, on %d CPUs "+
		"(%s). Median of the runs (least to most).",
		r.Objects, r.Mode, r.PodsPerObject, r.Upstream, r.Kubernetes, r.Machine.CPUs, r.Machine.CPUModel)
	name := func(s *SubjectResult) string { return s.Name }
	return report.Compare(title, r.Subjects, name, rows(r.kinds())).WriteNotes(w, r.notes())
}

func (r *Result) notes() []string {
	var notes []string
	if len(r.Bare.PerSecond.Runs) > 0 {
		notes = append(notes,
			fmt.Sprintf("A client that does nothing else evicts %s pods a second here, for %s CPU ms of the API server each.",
				r.Bare.PerSecond, r.Bare.ServerCPU.Times(1000)))
	}
	for i := range r.Subjects {
		s := &r.Subjects[i]
		if n := s.ActionsAtRest.Most(); n > 0 {
			notes = append(notes, fmt.Sprintf("%s changed %.0f pods when there was nothing to change.", s.Name, n))
		}
		if n := s.Actions.Least(); n < float64(r.Expected) {
			notes = append(notes, fmt.Sprintf("%s changed only %.0f of %d pods in its pass: the whole takes longer than shown.",
				s.Name, n, r.Expected))
		}
	}
	return notes
}
