package scoreboard

import (
	"fmt"
	"io"
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

// WriteTables prints all as Markdown: a table of all measures, upstream's beside Plimsoll's, one of all loads and
// sides, and one that sums them up.
func (b *Board) WriteTables(out io.Writer) error {
	title := fmt.Sprintf("%.0f s to ready, %s samples", b.ReadySeconds, b.Samples)
	for _, table := range []string{
		"\n" + title + ": upstream / Plimsoll\n\n" + markdown(b.measures()),
		"\n" + title + ": time short of capacity in parts of upstream's, pod-hours against Plimsoll\n\n" +
			markdown(b.sides()),
		"\n" + title + ": summary\n\n" + markdown(b.summaries()),
	} {
		if _, err := io.WriteString(out, table); err != nil {
			return err
		}
	}
	return nil
}

// measures has for each load upstream's figure and Plimsoll's, medians over the seeds; then the medians of the ratios
// of those, and the number of loads in which Plimsoll has less and more.
func (b *Board) measures() [][]string {
	head := []string{"load"}
	medians, counts := []string{"**median of ratios**"}, []string{"less / more in"}
	lines := make([][]string, len(b.Loads))
	for i := range b.Loads {
		lines[i] = []string{b.Loads[i].Name}
	}
	for _, c := range columns {
		head = append(head, c.head)
		var ratios []float64
		less, more := 0, 0
		for i := range b.Loads {
			upstream, plimsoll := medianOf(b.Loads[i].Scores[Upstream], c.of), medianOf(b.Loads[i].Scores[Base], c.of)
			one, other := text(upstream, c.decimals), text(plimsoll, c.decimals)
			lines[i] = append(lines[i], one+" / "+other)
			if ratio := plimsoll / upstream; upstream > 0 && !math.IsNaN(ratio) {
				ratios = append(ratios, ratio)
			}
			switch {
			case one == other || math.IsNaN(upstream) || math.IsNaN(plimsoll):
			case plimsoll < upstream:
				less++
			default:
				more++
			}
		}
		medians = append(medians, "**"+text(report.Median(ratios), 2)+"**")
		counts = append(counts, fmt.Sprintf("%d / %d", less, more))
	}
	return append(append([][]string{head}, lines...), medians, counts)
}

// sides has for each load and side the time short of capacity relative to upstream's and the pod-hours.
func (b *Board) sides() [][]string {
	head := []string{"load", Upstream + ", s a day"}
	for _, s := range b.Summaries[1:] {
		head = append(head, s.Side)
	}
	cells := [][]string{head}
	for i := range b.Loads {
		l := &b.Loads[i]
		line := []string{l.Name, text(l.shortSeconds(Upstream)/l.days(Upstream), 1)}
		for _, s := range b.Summaries[1:] {
			line = append(line, text(l.shortRatio(s.Side), 3)+", "+percent(l.podHoursPercent(s.Side)))
		}
		cells = append(cells, line)
	}
	return cells
}

func (b *Board) summaries() [][]string {
	cells := [][]string{{
		"side", "short, s a day", "of upstream's: median", "geometric mean", "ratios of", "sums",
		"most added, s a day", "pod-hours, mean", "pod-hours, most",
	}}
	for _, s := range b.Summaries {
		cells = append(cells, []string{
			s.Side, text(float64(s.ShortSecondsADay), 1), text(float64(s.MedianRatio), 3), text(float64(s.MeanRatio), 3),
			fmt.Sprintf("%d loads", s.RatioLoads), text(float64(s.RatioOfSums), 3),
			fmt.Sprintf("%s ± %s %s", text(float64(s.MostAdded.Figure), 1), text(float64(s.MostAddedError), 1),
				s.MostAdded.Load),
			percent(float64(s.PodHoursPercent)),
			fmt.Sprintf("%s %s", percent(float64(s.MostPodHours.Figure)), s.MostPodHours.Load),
		})
	}
	return cells
}

func percent(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "-"
	}
	return fmt.Sprintf("%+.2f %%", v)
}
