package scale

import (
	"context"
	"fmt"
	"io"
	"slices"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
)

// installWorkloadAutoscalers installs the definition of WorkloadAutoscalers if a subject has some. It is there for all
// subjects then.
func (b *bench) installWorkloadAutoscalers(ctx context.Context) error {
	if !slices.ContainsFunc(b.Subjects, func(s Subject) bool { return s.HalfWorkloadAutoscalers }) {
		return nil
	}
	return b.cluster.InstallDefinitions(ctx, plimsollv1alpha1.SchemeGroupVersion.Group)
}

// replace gives the workloads the kinds of autoscalers that a subject is measured with.
func (b *bench) replace(ctx context.Context, subject Subject) error {
	if subject.HalfWorkloadAutoscalers == b.isHalved {
		return nil
	}
	b.progress.Say("replacing half of the autoscalers by the other kind")
	if err := population.Replace(ctx, b.population, subject.HalfWorkloadAutoscalers); err != nil {
		return err
	}
	b.isHalved = subject.HalfWorkloadAutoscalers
	return nil
}

// compared are the rows of which the ratio is printed, by their names in the table.
func compared() []string {
	return []string{
		"decision period p50, s", "decision period p99, s", "newest sample's age p99, s", "CPU s per 1000 decisions",
		"CPU, cores", "API server's CPU s per 1000", "resident memory, MiB", "live heap, MiB",
		"status writes / object / min",
	}
}

// writeRatios prints what each subject with WorkloadAutoscalers takes of what the same flags take with HPAs alone: the
// ratio of the medians, and that of each run to the same run.
func (r *Result) writeRatios(w io.Writer) error {
	for i := range r.Subjects {
		half := &r.Subjects[i]
		alone := slices.IndexFunc(r.Subjects, func(s SubjectResult) bool {
			return s.Kind == half.Kind && !s.HalfWorkloadAutoscalers && slices.Equal(s.Flags, half.Flags)
		})
		if !half.HalfWorkloadAutoscalers || alone < 0 {
			continue
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return fmt.Errorf("print the ratios: %w", err)
		}
		if _, err := ratios(&r.Subjects[alone], half).WriteTo(w); err != nil {
			return err
		}
	}
	return nil
}

func ratios(alone, half *SubjectResult) *report.Table {
	table := &report.Table{
		Title: half.Name + " in relation to " + alone.Name + ": 1 is the same.",
		Head:  []string{"", "of the medians", "of each run"},
	}
	for _, row := range rows(nil) {
		if !slices.Contains(compared(), row.Name) {
			continue
		}
		a, h := row.Of(alone), row.Of(half)
		var each []float64
		for run := range min(len(a.Runs), len(h.Runs)) {
			each = append(each, h.Runs[run]/a.Runs[run])
		}
		table.Add(row.Name, report.Of(h.Median()/a.Median()), report.Of(each...))
	}
	return table
}
