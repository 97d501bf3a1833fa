package loadreport

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// Style is how text looks.
type Style struct {
	// Width is how many characters the plot and the table may have, and TextWidth a line of words; 0 breaks none.
	Width, TextWidth int
	// InColour draws load, wanted and ready pods in colours, too.
	InColour bool
}

// mostChanges are how many changes are printed, the latest ones.
const mostChanges = 40

// WriteText prints the report for people.
func (r *Report) WriteText(w io.Writer, style Style) error {
	cells, zone := r.Timeline.Cells, r.To.Location()
	s := summaryOf(cells)
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s, %s to %s\n", r.Object.Kind, r.Object.NamespacedName,
		r.Timeline.Start.In(zone).Format("2006-01-02 15:04:05"), r.Timeline.End().In(zone).Format("2006-01-02 15:04:05 MST"))
	line := func(name, format string, values ...any) {
		text.WriteString(output.Labelled(name, fmt.Sprintf(format, values...), style.TextWidth))
	}
	line("history", "%s", r.Source.Text(r.To))
	if missing := r.Timeline.Start.Sub(r.From); missing > r.Timeline.Step {
		line("", "nothing is recorded of the first %s of the last %s", ago(missing), ago(r.To.Sub(r.From)))
	}
	if s.isAnyNotRecorded {
		line("", "nothing is recorded for %s in between", r.lasts(len(cells)-s.recorded))
	}
	if s.knownLoads == 0 {
		line("load", "not known")
	} else {
		line("load", "%s to %s pods at the target, on average %s%s", pods(s.leastLoad), pods(s.mostLoad), pods(s.meanLoad),
			r.unknown(&s))
	}
	for i := range r.Metrics {
		line("", "%s", r.Metrics[i].text())
	}
	r.writeCounts(line, &s)
	text.WriteString("\n" + plot(&r.Timeline, style, zone) + "\n")
	if s.counted > 0 {
		text.WriteString(r.table(zone))
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// text is "2.1 to 7.5 pods, on average 3.3, by cpu resource utilization".
func (m *Metric) text() string {
	least, most, sum, n := math.Inf(1), 0.0, 0.0, 0
	for _, load := range m.Loads {
		if !math.IsNaN(load) {
			least, most, sum, n = min(least, load), max(most, load), sum+load, n+1
		}
	}
	if n == 0 {
		return "not known by " + m.Name
	}
	return fmt.Sprintf("%s to %s, on average %s, by %s", pods(least), pods(most), pods(sum/float64(n)), m.Name)
}

// writeCounts says what is known of the wanted and the ready count.
func (r *Report) writeCounts(line func(name, format string, values ...any), s *summary) {
	if s.counted == 0 {
		line("wanted", "not recorded: the load is from Prometheus")
		return
	}
	if s.knownLoads > 0 {
		line("", "more than the ready pods for %s", r.lasts(s.lacking))
	}
	line("wanted", "%d to %d pods", s.leastWanted, s.mostWanted)
	if turns := turnsOf(r.Changes); turns.All > 0 {
		line("", "%s", turns.text(r.To.Location()))
	}
	line("ready", "%d to %d pods", s.leastReady, s.mostReady)
	if before := s.recorded - s.counted; before > 0 {
		line("", "counts are not recorded for %s: the load is from Prometheus", r.lasts(before))
	}
}

// text is "turned 8 times between up and down, 7 times of them within the hour from 09:10".
func (t *Turns) text(zone *time.Location) string {
	text := fmt.Sprintf("turned %d times between up and down, %d of them within the hour from %s", t.All, t.MostInHour,
		t.From.In(zone).Format("Jan 02 15:04"))
	if t.IsFlapping() {
		text += ": it flaps. If the load does not, lengthen the stabilization window or widen the tolerance"
	}
	return text
}

func (r *Report) lasts(cells int) string { return ago(time.Duration(cells) * r.Timeline.Step) }

func (r *Report) unknown(s *summary) string {
	if !s.isAnyUnknown {
		return ""
	}
	return ", not known for " + r.lasts(s.recorded-s.knownLoads)
}

// pods is a load, about as exact as it is recorded.
func pods(load float64) string {
	switch {
	case math.IsNaN(load):
		return "unknown"
	case load >= 100:
		return strconv.FormatFloat(load, 'f', 0, 64)
	case load >= 1:
		return strconv.FormatFloat(load, 'f', 1, 64)
	}
	return strconv.FormatFloat(load, 'f', 2, 64)
}

// table has a line for each change of the wanted count.
func (r *Report) table(zone *time.Location) string {
	if len(r.Changes) == 0 {
		return "the wanted count did not change\n"
	}
	layout := "15:04"
	if r.To.Sub(r.Timeline.Start) > 20*time.Hour {
		layout = "Jan 02 15:04"
	}
	rows, shown := [][]string{{"TIME", "FROM", "TO", "LOAD", "READY", "LIMITED BY"}}, r.Changes
	left := max(0, len(shown)-mostChanges)
	for i := range shown[left:] {
		c := &shown[left+i]
		at := c.At.In(zone).Format(layout)
		if c.Every < time.Minute {
			at += c.At.In(zone).Format(":05")
		}
		rows = append(rows, []string{
			at, strconv.Itoa(int(c.From)), strconv.Itoa(int(c.To)), pods(c.Load),
			strconv.Itoa(int(c.Ready)), c.Limit.String(),
		})
	}
	heading := fmt.Sprintf("changes of the wanted count: %d\n", len(shown))
	if left > 0 {
		heading = fmt.Sprintf("changes of the wanted count: %d, of which -o json has all; the last %d\n", len(shown),
			mostChanges)
	}
	return heading + output.Columns(rows)
}

func topOf(cells []loadhistory.Cell) float64 {
	top := 1.0
	for i := range cells {
		c := &cells[i]
		if c.IsRecorded {
			top = max(top, float64(c.Wanted), float64(c.Ready))
		}
		if !math.IsNaN(c.Load) {
			top = max(top, c.Load)
		}
	}
	return top
}
