package simulate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/replay"
)

// ForecastSettings has each setting that can have a forecast twice: without one, and then with one in mode Active.
// Those of upstream's loop stay as they are.
func ForecastSettings(settings []Setting) ([]Setting, error) {
	var both []Setting
	off, active := forecast.Off, forecast.Active
	for _, s := range settings {
		if s.Side == Upstream {
			both = append(both, s)
			continue
		}
		without, with := s, s
		without.Name, without.Forecast = s.Name+", no forecast", &off
		with.Name, with.Forecast = s.Name+", forecast", &active
		both = append(both, without, with)
	}
	if len(both) == len(settings) {
		return nil, errors.New("upstream's loop has no forecast: ask for plimsoll's")
	}
	return both, nil
}

// CheckForecastDays reports why a load is of no use to a forecast. Missing is for how long it is not known.
func CheckForecastDays(s *Scene, missing time.Duration) error {
	needed := replay.Needed()
	switch known := s.For - missing; {
	case s.Load.IsSpedUp():
		return errors.New("a load that is sped up does not recur each day")
	case known <= needed && missing > 0:
		return fmt.Errorf("%v of load are known, and a forecast needs more than %.0f hours of it: before that it proposes "+
			"nothing", known.Round(time.Minute), needed.Hours())
	case known <= needed:
		return fmt.Errorf("%v of load are played, and a forecast needs more than %.0f hours of it: before that it proposes "+
			"nothing", known.Round(time.Minute), needed.Hours())
	}
	return nil
}

// ForecastDays has the results of a forecast.
type ForecastDays struct {
	// Name is that of the run with it.
	Name string
	Days []replay.Day
}

// ForecastDaysOf compares each run with a forecast that comes after the same without one. The load begins at start.
func ForecastDaysOf(start time.Time, runs []*Run) (all []ForecastDays) {
	for i := 1; i < len(runs); i++ {
		if hasForecastMode(runs[i-1], forecast.Off) && hasForecastMode(runs[i], forecast.Active) {
			all = append(all, ForecastDays{
				Name: runs[i].Setting.Name, Days: forecastDays(start, runs[i-1].Minutes, runs[i].Minutes),
			})
		}
	}
	return all
}

func hasForecastMode(r *Run, mode forecast.Mode) bool {
	return r.Setting.Forecast != nil && *r.Setting.Forecast == mode
}

// forecastDays are the minutes of two runs by their day, in UTC.
func forecastDays(start time.Time, without, with []Minute) (days []replay.Day) {
	for i := range min(len(without), len(with)) {
		date := start.Add(time.Duration(i) * time.Minute).UTC().Truncate(24 * time.Hour)
		if n := len(days); n == 0 || !days[n-1].Date.Equal(date) {
			days = append(days, replay.Day{Date: date})
		}
		addMinute(&days[len(days)-1], &without[i], &with[i])
	}
	return slices.Clip(days)
}

func addMinute(day *replay.Day, without, with *Minute) {
	day.Add(&without.Tally, &with.Tally)
	if with.Forecast > 0 && float32(with.Forecast) > with.Needed {
		day.RaisedMinutes++
	}
	day.MostReplicas, day.Reason = max(day.MostReplicas, with.Forecast), with.Reason
}
