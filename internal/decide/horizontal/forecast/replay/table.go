package replay

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// OutputDay is a day for programs.
type OutputDay struct {
	// Date is that in UTC.
	Date         string `json:"date"`
	KnownMinutes int    `json:"knownMinutes"`
	// The pod-minutes are those of Day.
	LackingPodMinutes float64 `json:"lackingPodMinutes"`
	AvoidedPodMinutes float64 `json:"avoidedPodMinutes"`
	WastedPodMinutes  float64 `json:"wastedPodMinutes"`
	PodMinutes        float64 `json:"podMinutes"`
	WastedPercent     float64 `json:"wastedPercent"`
	RaisedMinutes     int     `json:"raisedMinutes"`
	MostReplicas      int32   `json:"mostReplicas"`
	Reason            string  `json:"reason"`
}

// Output is days for programs.
func Output(days []Day) []OutputDay {
	all := make([]OutputDay, 0, len(days))
	for i := range days {
		d := &days[i]
		all = append(all, OutputDay{
			Date: d.Date.Format("2006-01-02"), KnownMinutes: d.KnownMinutes, LackingPodMinutes: tenths(d.Lacking),
			AvoidedPodMinutes: tenths(d.Avoided), WastedPodMinutes: tenths(d.Wasted), PodMinutes: tenths(d.Paid),
			WastedPercent: math.Round(100*d.wastedPercent()) / 100, RaisedMinutes: d.RaisedMinutes,
			MostReplicas: d.MostReplicas, Reason: d.Reason.String(),
		})
	}
	return all
}

func tenths(v float64) float64 { return math.Round(10*v) / 10 }

// wastedPercent is what is wasted, in percent of the pod-minutes that there are without the forecast.
func (d *Day) wastedPercent() float64 {
	if d.Paid <= 0 {
		return 0
	}
	return 100 * d.Wasted / d.Paid
}

// Sum is all days together.
func Sum(days []Day) (sum Day) {
	for i := range days {
		d := &days[i]
		sum.KnownMinutes += d.KnownMinutes
		sum.RaisedMinutes += d.RaisedMinutes
		sum.Lacking += d.Lacking
		sum.Avoided += d.Avoided
		sum.Wasted += d.Wasted
		sum.Paid += d.Paid
		sum.MostReplicas = max(sum.MostReplicas, d.MostReplicas)
	}
	return sum
}

// Table has a line for each day, and one for all of them.
func Table(days []Day) string {
	rows := [][]string{{"DATE", "KNOWN", "LACKING", "AVOIDED", "WASTED", "OF ALL", "MOST", "AT ITS END"}}
	for i := range days {
		d := &days[i]
		rows = append(rows, d.row(d.Date.Format("2006-01-02"), d.Reason.String()))
	}
	sum := Sum(days)
	return aligned(append(rows, sum.row("all days", "")))
}

// row is the day's. Where no load was known, nothing was counted.
func (d *Day) row(name, reason string) []string {
	const minutesOfHour = 60
	row := []string{name, fmt.Sprintf("%.1f h", float64(d.KnownMinutes)/minutesOfHour), "-", "-", "-", "-", "-", reason}
	if d.KnownMinutes > 0 {
		row[2], row[3], row[4] = podMinutes(d.Lacking), podMinutes(d.Avoided), podMinutes(d.Wasted)
		row[5] = fmt.Sprintf("%.2f %%", d.wastedPercent())
	}
	if d.MostReplicas > 0 {
		row[6] = strconv.Itoa(int(d.MostReplicas))
	}
	return row
}

// podMinutes has no minus before nothing.
func podMinutes(v float64) string { return fmt.Sprintf("%.1f", tenths(v)+0) }

// aligned puts rows into columns, numbers to the right, between the first and the last.
func aligned(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var text strings.Builder
	for _, row := range rows {
		line := fmt.Sprintf("  %-*s", widths[0], row[0])
		last := len(row) - 1
		for i := 1; i < last; i++ {
			line += fmt.Sprintf("   %*s", widths[i], row[i])
		}
		text.WriteString(strings.TrimRight(line+"   "+row[last], " ") + "\n")
	}
	return text.String()
}
