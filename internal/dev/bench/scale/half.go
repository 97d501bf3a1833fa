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

// installDefinitions installs those of WorkloadAutoscalers and AutoscalerCheckpoints if a subject has some. They are
// there for all subjects then.
func (b *bench) installDefinitions(ctx context.Context) error {
	if !b.needDefinitions() {
		return nil
	}
	return b.cluster.InstallDefinitions(ctx, plimsollv1alpha1.SchemeGroupVersion.Group)
}

// replace gives the workloads the kinds of autoscalers that a subject is measured with.
func (b *bench) replace(ctx context.Context, subject *Subject) error {
	wanted := subject.autoscalers()
	if wanted == b.autoscalers {
		return nil
	}
	b.progress.Say("replacing autoscalers by those of the other kind")
	if err := population.Replace(ctx, b.population, b.autoscalers, wanted); err != nil {
		return err
	}
	b.autoscalers = wanted
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

// writeRatios prints the cost of each subject with WorkloadAutoscalers, or with learnt forecasts, relative to the same
// flags with HPAs alone: the ratio of the medians, and that of each run to the same run.
func (r *Result) writeRatios(w io.Writer) error {
	for i := range r.Subjects {
		other := &r.Subjects[i]
		alone := slices.IndexFunc(r.Subjects, func(s SubjectResult) bool {
			return s.Kind == other.Kind && !s.isCompared() && slices.Equal(s.Flags, other.Flags)
		})
		if !other.isCompared() || alone < 0 {
			continue
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return fmt.Errorf("print the ratios: %w", err)
		}
		if _, err := ratios(&r.Subjects[alone], other).WriteTo(w); err != nil {
			return err
		}
	}
	return nil
}

func ratios(alone, other *SubjectResult) *report.Table {
	table := &report.Table{
		Title: other.Name + " in relation to " + alone.Name + ": 1 is the same.",
		Head:  []string{"", "of the medians", "of each run"},
	}
	for _, row := range rows(nil, nil) {
		if !slices.Contains(compared(), row.Name) {
			continue
		}
		a, o := row.Of(alone), row.Of(other)
		var each []float64
		for run := range min(len(a.Runs), len(o.Runs)) {
			each = append(each, o.Runs[run]/a.Runs[run])
		}
		table.Add(row.Name, report.Of(o.Median()/a.Median()), report.Of(each...))
	}
	return table
}
