package present

import (
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/output"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
)

// forecasts are the days of runs with a forecast, for people.
func forecasts(start time.Time, runs []*simulate.Run, width int) string {
	compared := simulate.ForecastDaysOf(start, runs)
	if len(compared) == 0 {
		return ""
	}
	var text strings.Builder
	for _, c := range compared {
		text.WriteString("\n" + c.Name + "\n" + output.ForecastDaysTable(c.Days))
	}
	text.WriteString(output.ForecastDaysLegend(width))
	return text.String()
}

// forecast is a run with a forecast in JSON, beside the one before it without.
type forecast struct {
	Name string               `json:"name"`
	Days []output.ForecastDay `json:"days"`
}

func forecastsOf(start time.Time, runs []*simulate.Run) (all []forecast) {
	for _, c := range simulate.ForecastDaysOf(start, runs) {
		all = append(all, forecast{Name: c.Name, Days: output.ForecastDays(c.Days)})
	}
	return all
}
