package scale

import (
	"context"
	"fmt"
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/viewers"
)

// uiNumbers are its numbers in a stretch of time; zero without pages.
type uiNumbers struct {
	answersPerSecond, bytesPerAnswer float64
	// In seconds.
	answerP50, answerP99 float64
	cores, residentBytes float64
}

// openPages runs plimsoll ui and opens its pages, each on another autoscaler as long as there are enough; nil if the
// subject has none.
func openPages(ctx context.Context, b *bench, subject Subject, r *running) (*viewers.Viewers, error) {
	if subject.Pages == 0 {
		return nil, nil //nolint:nilnil // Its methods do nothing then.
	}
	return viewers.Start(ctx, b.cluster, viewers.Config{
		Program: niced(b.Nice, []string{b.Plimsoll}), Inspection: r.inspection, Objects: looked(b.Size, subject.Pages),
	})
}

// looked returns the autoscalers of pages, from all namespaces.
func looked(size population.Size, pages int) []viewers.Object {
	objects := make([]viewers.Object, pages)
	for i := range objects {
		object := i * size.Objects / pages
		objects[i] = viewers.Object{
			Kind: "HorizontalPodAutoscaler", Namespace: size.NamespaceOf(object), Name: population.ObjectName(object),
		}
	}
	return objects
}

// uiBetween is an error if a page did not get all about its object.
func uiBetween(before, after numbers) (uiNumbers, error) {
	b, a := &before.ui, &after.ui
	if a.At.IsZero() {
		return uiNumbers{}, nil
	}
	answers := a.Answers - b.Answers
	if failures, lacking := a.Failures-b.Failures, a.Lacking-b.Lacking; failures > 0 || lacking > 0 || answers == 0 {
		return uiNumbers{}, fmt.Errorf("pages of plimsoll ui got %d answers, %d of them without an explanation or a "+
			"history, and %d errors: %s", answers, lacking, failures, a.Why)
	}
	seconds := a.At.Sub(b.At).Seconds()
	n := uiNumbers{
		answersPerSecond: float64(answers) / seconds, bytesPerAnswer: float64(a.Bytes-b.Bytes) / float64(answers),
		cores: (a.CPUSeconds - b.CPUSeconds) / seconds, residentBytes: a.ResidentBytes,
	}
	took := make([]float64, answers)
	for i, t := range a.Took[b.Answers:a.Answers] {
		took[i] = t.Seconds()
	}
	n.answerP50, n.answerP99 = report.Quantile(took, 0.5), report.Quantile(took, 0.99)
	return n, nil
}

// UIResult has the numbers of plimsoll ui over all runs; null without pages.
type UIResult struct {
	AnswersPerSecond report.Spread `json:"answersPerSecond"`
	AnswerP50Seconds report.Spread `json:"answerP50Seconds"`
	AnswerP99Seconds report.Spread `json:"answerP99Seconds"`
	BytesPerAnswer   report.Spread `json:"bytesPerAnswer"`
	CPUCores         report.Spread `json:"cpuCores"`
	ResidentBytes    report.Spread `json:"residentBytes"`
}

func uiResultOf(runs []measurement) UIResult {
	over := func(of func(*uiNumbers) float64) report.Spread {
		return report.Over(runs, func(m *measurement) float64 {
			if m.ui.answersPerSecond == 0 {
				return math.NaN()
			}
			return of(&m.ui)
		})
	}
	return UIResult{
		AnswersPerSecond: over(func(n *uiNumbers) float64 { return n.answersPerSecond }),
		AnswerP50Seconds: over(func(n *uiNumbers) float64 { return n.answerP50 }),
		AnswerP99Seconds: over(func(n *uiNumbers) float64 { return n.answerP99 }),
		BytesPerAnswer:   over(func(n *uiNumbers) float64 { return n.bytesPerAnswer }),
		CPUCores:         over(func(n *uiNumbers) float64 { return n.cores }),
		ResidentBytes:    over(func(n *uiNumbers) float64 { return n.residentBytes }),
	}
}

// uiRows are for subjects with pages.
func uiRows(subjects []SubjectResult) []row {
	return report.MeasuredRows(subjects,
		row{Name: "plimsoll ui: CPU, cores", Of: func(r *SubjectResult) report.Spread { return r.UI.CPUCores }},
		row{Name: "plimsoll ui: resident memory, MiB",
			Of: func(r *SubjectResult) report.Spread { return r.UI.ResidentBytes.Times(1.0 / report.Mebibyte) }},
		row{Name: "plimsoll ui: answers a second",
			Of: func(r *SubjectResult) report.Spread { return r.UI.AnswersPerSecond }},
		row{Name: "plimsoll ui: answer p50, ms",
			Of: func(r *SubjectResult) report.Spread { return r.UI.AnswerP50Seconds.Times(1000) }},
		row{Name: "plimsoll ui: answer p99, ms",
			Of: func(r *SubjectResult) report.Spread { return r.UI.AnswerP99Seconds.Times(1000) }},
		row{Name: "plimsoll ui: kB an answer",
			Of: func(r *SubjectResult) report.Spread { return r.UI.BytesPerAnswer.Times(0.001) }})
}
