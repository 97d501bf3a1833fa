package campaign

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

// limit is the amount by which a case's mean must exceed upstream's to be worse: absolute, and relative to upstream's.
// It must exceed it by two standard errors too.
type limit struct {
	column string
	amount float64
	part   float64
}

var limits = []limit{
	{column: shortColumn, amount: 5, part: 0.1},
	{column: lackingColumn, amount: 20, part: 0.1},
	{column: overshootColumn, amount: 1, part: 0.1},
}

// standardErrors is the number of them that a difference of means must exceed.
const standardErrors = 2

// Worse is a case that is worse than upstream.
type Worse struct {
	Case   string `json:"case"`
	Column string `json:"column"`
	// Upstream is upstream's mean over the seeds, Added how much more Plimsoll's is, and Error the standard error of that,
	// which is missing with one seed.
	Upstream float64       `json:"upstream"`
	Added    float64       `json:"added"`
	Error    report.Figure `json:"standardError"`
}

// difference is the mean of paired differences, and its standard error: sqrt(sum((d - mean(d))²) / (n - 1) / n), NaN
// with one pair.
func difference(ours, theirs []float64) (mean, standardError float64) {
	n := float64(len(ours))
	for i := range ours {
		mean += (ours[i] - theirs[i]) / n
	}
	squares := 0.0
	for i := range ours {
		d := ours[i] - theirs[i] - mean
		squares += d * d
	}
	return mean, math.Sqrt(squares / (n - 1) / n)
}

// isExceeded reports whether a mean difference is beyond the limit. With one seed there is no standard error, and the
// other two bounds decide.
func (l *limit) isExceeded(upstreams, added, standardError float64) bool {
	return added > l.amount && added > l.part*upstreams && !(added <= standardErrors*standardError)
}

// worse are the cases that are worse than upstream in one column, the gravest first; better is how many are better by
// as much.
func (r *Results) worse(l *limit) (worse []Worse, better int) {
	theirs, ours := r.of(upstream.Name, ""), r.of(plimsoll.Name, "")
	c, n := columnOf(l.column), len(r.Seeds)
	for i := 0; i < len(ours); i += n {
		a, b := c.values(theirs[i:i+n]), c.values(ours[i:i+n])
		added, standardError := difference(b, a)
		before := mean(a)
		switch {
		case l.isExceeded(before, added, standardError):
			worse = append(worse, Worse{
				Case: ours[i].Case, Column: l.column, Upstream: before, Added: added, Error: report.Figure(standardError),
			})
		case l.isExceeded(before, -added, standardError):
			better++
		}
	}
	slices.SortStableFunc(worse, func(a, b Worse) int { return cmp.Compare(b.Added, a.Added) })
	return worse, better
}

// values are the column's figures of each play.
func (c *column) values(plays []*Play) []float64 {
	values := make([]float64, len(plays))
	for i, p := range plays {
		values[i] = c.of(&p.Figures)
	}
	return values
}

func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// command is the command line that replays a case.
func (r *Results) command(name string) string {
	seeds := make([]string, len(r.Seeds))
	for i, seed := range r.Seeds {
		seeds[i] = fmt.Sprint(seed)
	}
	text := fmt.Sprintf("go run -C internal/dev ./cmd/bench campaign --cases='^%s$' --seeds=%s --trace",
		name, strings.Join(seeds, ","))
	if r.Kubelets != kubelets[0].Name {
		text += " --kubelets=" + r.Kubelets
	}
	return text
}

// writeWorse prints the cases that are worse, each with the command that replays it.
func (r *Results) writeWorse(out io.Writer) error {
	var b strings.Builder
	for i := range limits {
		l := &limits[i]
		worse, better := r.worse(l)
		fmt.Fprintf(&b, "\nWorse than upstream in %s by more than %g, %.0f %% and %d standard errors: %d cases; better by "+
			"as much: %d.\n", columnOf(l.column).head, l.amount, 100*l.part, standardErrors, len(worse), better)
		for _, w := range worse {
			fmt.Fprintf(&b, "  %-14s %s + %s ± %s  %s\n", w.Case, amount(w.Upstream), amount(w.Added),
				amount(float64(w.Error)), r.command(w.Case))
		}
	}
	if _, err := io.WriteString(out, b.String()); err != nil {
		return fmt.Errorf("print results: %w", err)
	}
	return nil
}
