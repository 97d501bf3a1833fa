package output

import (
	"fmt"
	"math"
	"strconv"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/replay"
)

// ForecastDay is a day for programs.
type ForecastDay struct {
	// Date is that in UTC.
	Date         string `json:"date"`
	KnownMinutes int    `json:"knownMinutes"`
	// The pod-minutes are those of replay.Day.
	LackingPodMinutes float64 `json:"lackingPodMinutes"`
	AvoidedPodMinutes float64 `json:"avoidedPodMinutes"`
	WastedPodMinutes  float64 `json:"wastedPodMinutes"`
	PodMinutes        float64 `json:"podMinutes"`
	WastedPercent     float64 `json:"wastedPercent"`
	RaisedMinutes     int     `json:"raisedMinutes"`
	MostReplicas      int32   `json:"mostReplicas"`
	Reason            string  `json:"reason"`
}

// ForecastDays is days for programs.
func ForecastDays(days []replay.Day) []ForecastDay {
	all := make([]ForecastDay, 0, len(days))
	for i := range days {
		d := &days[i]
		all = append(all, ForecastDay{
			Date: d.Date.Format("2006-01-02"), KnownMinutes: d.KnownMinutes, LackingPodMinutes: tenths(d.Lacking),
			AvoidedPodMinutes: tenths(d.Avoided), WastedPodMinutes: tenths(d.Wasted), PodMinutes: tenths(d.Paid),
			WastedPercent: math.Round(100*d.WastedPercent()) / 100, RaisedMinutes: d.RaisedMinutes,
			MostReplicas: d.MostReplicas, Reason: d.Reason.String(),
		})
	}
	return all
}

func tenths(v float64) float64 { return math.Round(10*v) / 10 }

// ForecastDaysTable has a line for each day, and one for all of them.
func ForecastDaysTable(days []replay.Day) string {
	rows := [][]string{{"DATE", "KNOWN", "LACKING", "AVOIDED", "WASTED", "OF ALL", "MOST", "AT ITS END"}}
	for i := range days {
		d := &days[i]
		rows = append(rows, dayRow(d, d.Date.Format("2006-01-02"), d.Reason.String()))
	}
	sum := replay.Sum(days)
	return Columns(append(rows, dayRow(&sum, "all days", "")))
}

// ForecastDaysLegend says what the table has, in lines of at most width characters; 0 breaks none.
func ForecastDaysLegend(width int) string {
	const text = "Pod-minutes a day (UTC): lacking without the forecast, avoided by it, wasted by it and in percent " +
		"of all."
	return Wrap(text, width, 0, len("  ")) + "\nMOST is the most replicas that it asks for.\n"
}

// dayRow is the day's. Where no load was known, nothing was counted.
func dayRow(d *replay.Day, name, reason string) []string {
	const minutesOfHour = 60
	cells := []string{name, fmt.Sprintf("%.1f h", float64(d.KnownMinutes)/minutesOfHour), "-", "-", "-", "-", "-", reason}
	if d.KnownMinutes > 0 {
		cells[2], cells[3], cells[4] = podMinutes(d.Lacking), podMinutes(d.Avoided), podMinutes(d.Wasted)
		cells[5] = fmt.Sprintf("%.2f %%", d.WastedPercent())
	}
	if d.MostReplicas > 0 {
		cells[6] = strconv.Itoa(int(d.MostReplicas))
	}
	return cells
}

// podMinutes has no minus before nothing.
func podMinutes(v float64) string { return fmt.Sprintf("%.1f", tenths(v)+0) }
