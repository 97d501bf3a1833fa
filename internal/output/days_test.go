package output_test

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/replay"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// TestTable: columns are aligned, a day of which nothing is known has no numbers, and the last line is their sum.
func TestTable(t *testing.T) {
	monday := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	all := []replay.Day{
		{Date: monday, KnownMinutes: 24 * 60, Lacking: 123.44, Avoided: -0.04, Paid: 4000, Reason: forecast.ReasonLearning},
		{Date: monday.AddDate(0, 0, 1), Reason: forecast.ReasonLoadUnknown},
		{Date: monday.AddDate(0, 0, 2), KnownMinutes: 600, Lacking: 100, Avoided: 90.16, Wasted: 12.4, Paid: 2000,
			MostReplicas: 12, RaisedMinutes: 7, Reason: forecast.ReasonInUse},
	}
	want := `  DATE         KNOWN  LACKING  AVOIDED  WASTED  OF ALL  MOST  AT ITS END
  2026-03-02  24.0 h    123.4      0.0     0.0  0.00 %     -  Learning
  2026-03-03   0.0 h        -        -       -       -     -  LoadUnknown
  2026-03-04  10.0 h    100.0     90.2    12.4  0.62 %    12  InUse
  all days    34.0 h    223.4     90.1    12.4  0.21 %    12
`
	if got := output.ForecastDaysTable(all); got != want {
		t.Errorf("\n%s", got)
	}
	out := output.ForecastDays(all)
	if len(out) != 3 || out[1].KnownMinutes != 0 || out[2].WastedPercent != 0.62 ||
		out[2].AvoidedPodMinutes != 90.2 || out[2].Reason != "InUse" || out[0].Date != "2026-03-02" {
		t.Errorf("%+v", out)
	}
}
