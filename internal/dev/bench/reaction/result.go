package reaction

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// targets are those of Plimsoll, in seconds: of the median and, unless they are 0, of the slowest run.
type targets struct {
	firstWrite, allWanted, worstFirstWrite, worstAllWanted float64
	// firstWriteAfter and allWantedAfter begin with the first sample that has the load.
	firstWriteAfter, allWantedAfter float64
}

func (s *SubjectResult) targets() targets {
	switch {
	case s.OnRequests:
		return targets{firstWrite: 1.2, allWanted: 3.5}
	case s.NodeAgent:
		return targets{firstWrite: 0.8, allWanted: 3, worstFirstWrite: 1.2, worstAllWanted: 3.5}
	case s.Housekeeping == 0 && len(s.SampledSeconds.Runs) > 0:
		// When a kubelet with its defaults has a sample with the load is chance.
		return targets{firstWrite: 5.5, allWanted: 8, firstWriteAfter: 1.5, allWantedAfter: 4}
	}
	return targets{firstWrite: 1.5, allWanted: 4}
}

// Result is the result of Run.
type Result struct {
	Benchmark  string          `json:"benchmark"`
	Stage      string          `json:"stage"`
	Machine    report.Machine  `json:"machine"`
	Kubernetes string          `json:"kubernetes"`
	Subjects   []SubjectResult `json:"subjects"`
}

// SubjectResult is one subject's numbers over all runs.
type SubjectResult struct {
	Subject
	Runs int `json:"runs"`
	// Repeated runs were scaled before any load.
	Repeated int `json:"repeated"`

	FirstWriteSeconds   report.Spread `json:"firstScaleWriteSeconds"`
	AlmostWantedSeconds report.Spread `json:"eightWantedSeconds"`
	AllWantedSeconds    report.Spread `json:"tenWantedSeconds"`
	AllReadySeconds     report.Spread `json:"tenReadySeconds"`

	// SampledSeconds is the time of the first sample that shows the load: with the subject's way of reading nothing can
	// show it earlier. The others begin there. It has no runs if the subject's metric is always current.
	SampledSeconds         report.Spread `json:"firstSampleWithLoadSeconds"`
	FirstWriteAfterSeconds report.Spread `json:"firstScaleWriteAfterSampleSeconds"`
	AllWantedAfterSeconds  report.Spread `json:"tenWantedAfterSampleSeconds"`

	RequestsPerSecond report.Spread `json:"requestsPerSecond"`

	KubeletCoresAlone   report.Spread `json:"kubeletCoresWithoutAutoscaler"`
	KubeletCoresWatched report.Spread `json:"kubeletCoresWithAutoscaler"`
}

func (c Config) newResult(machine report.Machine) Result {
	return Result{Benchmark: "reaction", Stage: c.Stage.Title(), Machine: machine, Kubernetes: build.KubernetesVersion}
}

func resultOf(subject Subject, trials []trial, repeated int) SubjectResult {
	over := func(of func(*trial) float64) report.Spread { return report.Over(trials, of) }
	return SubjectResult{
		Subject: subject, Runs: len(trials), Repeated: repeated,
		FirstWriteSeconds:   over(func(t *trial) float64 { return t.firstWrite }),
		AlmostWantedSeconds: over(func(t *trial) float64 { return t.almostWanted }),
		AllWantedSeconds:    over(func(t *trial) float64 { return t.allWanted }),
		AllReadySeconds:     over(func(t *trial) float64 { return t.allReady }),

		SampledSeconds:         over(func(t *trial) float64 { return t.sampled }),
		FirstWriteAfterSeconds: over(func(t *trial) float64 { return t.firstWrite - t.sampled }),
		AllWantedAfterSeconds:  over(func(t *trial) float64 { return t.allWanted - t.sampled }),

		RequestsPerSecond:   over(func(t *trial) float64 { return t.answered }),
		KubeletCoresAlone:   over(func(t *trial) float64 { return t.coresAlone }),
		KubeletCoresWatched: over(func(t *trial) float64 { return t.coresWatched }),
	}
}

type row = report.Row[SubjectResult]

func rows(subjects []SubjectResult) []row {
	return report.MeasuredRows(subjects,
		row{Name: "first scale write, s", Of: func(s *SubjectResult) report.Spread { return s.FirstWriteSeconds }},
		row{Name: "8 wanted, s", Of: func(s *SubjectResult) report.Spread { return s.AlmostWantedSeconds }},
		row{Name: "10 wanted, s", Of: func(s *SubjectResult) report.Spread { return s.AllWantedSeconds }},
		row{Name: "10 ready, s", Of: func(s *SubjectResult) report.Spread { return s.AllReadySeconds }},
		row{Name: "first sample with the load, s", Of: func(s *SubjectResult) report.Spread { return s.SampledSeconds }},
		row{Name: "first scale write after it, s",
			Of: func(s *SubjectResult) report.Spread { return s.FirstWriteAfterSeconds }},
		row{Name: "10 wanted after it, s", Of: func(s *SubjectResult) report.Spread { return s.AllWantedAfterSeconds }},
		row{Name: "requests answered a second", Of: func(s *SubjectResult) report.Spread { return s.RequestsPerSecond }},
		row{Name: "kubelet at rest, no autoscaler, cores",
			Of: func(s *SubjectResult) report.Spread { return s.KubeletCoresAlone }},
		row{Name: "kubelet at rest, autoscaler, cores",
			Of: func(s *SubjectResult) report.Spread { return s.KubeletCoresWatched }})
}

// Write prints the table and, below it, the targets and what may make its numbers doubtful.
func (r *Result) Write(w io.Writer) error {
	title := fmt.Sprintf(
		"Seconds from the begin of the load, %s, Kubernetes %s, on %d CPUs (%s). Median of the runs (least to most).",
		r.Stage, r.Kubernetes, r.Machine.CPUs, r.Machine.CPUModel)
	name := func(s *SubjectResult) string { return s.Name }
	if _, err := report.Compare(title, r.Subjects, name, rows(r.Subjects)).WriteTo(w); err != nil {
		return err
	}
	for _, note := range r.notes() {
		if _, err := fmt.Fprintln(w, "\n"+note); err != nil {
			return fmt.Errorf("print the notes: %w", err)
		}
	}
	return nil
}

// notes compares Plimsoll with the targets, and names missing medians.
func (r *Result) notes() []string {
	var notes []string
	for i := range r.Subjects {
		s := &r.Subjects[i]
		if s.Kind == Plimsoll {
			t := s.targets()
			notes = append(notes, judged(s.Name, "first scale write", "median", s.FirstWriteSeconds.Median(), t.firstWrite),
				judged(s.Name, "10 wanted", "median", s.AllWantedSeconds.Median(), t.allWanted))
			if t.firstWriteAfter > 0 {
				notes = append(notes,
					judged(s.Name, "first scale write after the first sample with the load", "median",
						s.FirstWriteAfterSeconds.Median(), t.firstWriteAfter),
					judged(s.Name, "10 wanted after it", "median", s.AllWantedAfterSeconds.Median(), t.allWantedAfter))
			}
			if t.worstFirstWrite > 0 {
				notes = append(notes,
					judged(s.Name, "first scale write", "slowest run", s.worst(s.FirstWriteSeconds), t.worstFirstWrite),
					judged(s.Name, "10 wanted", "slowest run", s.worst(s.AllWantedSeconds), t.worstAllWanted))
			}
		}
		if missing := s.Runs - len(s.AllReadySeconds.Runs); missing > 0 {
			notes = append(notes,
				fmt.Sprintf("Note: %s did not have %d replicas ready in %d of %d runs, which its medians leave out.",
					s.Name, maxReplicas, missing, s.Runs))
		}
		if s.Repeated > 0 {
			notes = append(notes, fmt.Sprintf("Note: %s scaled without load before %d of the runs, which was begun again.",
				s.Name, s.Repeated))
		}
	}
	return notes
}

// worst is the slowest run's; NaN if it did not happen in all of them.
func (s *SubjectResult) worst(spread report.Spread) float64 {
	if len(spread.Runs) < s.Runs {
		return math.NaN()
	}
	return slices.Max(spread.Runs)
}

func judged(subject, what, of string, measured, target float64) string {
	text := fmt.Sprintf("Target of %s: %s within %s s, %s: ", subject, what, report.Number(target), of)
	switch {
	case math.IsNaN(measured):
		return text + "MISSED, it did not happen."
	case measured <= target:
		return text + "met."
	default:
		return text + fmt.Sprintf("MISSED by %s s.", report.Number(measured-target))
	}
}
