package simulate

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
)

func (f *simulateFlags) addForecast(fs *pflag.FlagSet) {
	fs.BoolVar(&f.forecast, "forecast", false,
		"Play each setting without a forecast and with one in mode Active, and show for each day what the forecast avoids "+
			"and wastes. With --from, the default of --last is then the whole record.")
}

// completeForecast sets what --forecast implies.
func (f *simulateFlags) completeForecast(fs *pflag.FlagSet) {
	if f.forecast && !fs.Changed("last") {
		f.last = loadhistory.LongestTimeline
	}
}

// withForecasts has each setting with a forecast and without one, if that is asked for.
func (f *simulateFlags) withForecasts(settings []simulate.Setting) ([]simulate.Setting, error) {
	if !f.forecast {
		return settings, nil
	}
	settings, err := simulate.ForecastSettings(settings)
	if err != nil {
		return nil, fmt.Errorf("--forecast: %w", err)
	}
	return settings, nil
}

// checkForecast reports a load that is of no use to a forecast. Where rows of a trace are missing, there is no load;
// what was not recorded is not known.
func (f *simulateFlags) checkForecast(s *simulate.Scene) error {
	if !f.forecast {
		return nil
	}
	missing := s.Load.Missing()
	if f.recorded == nil {
		missing = 0
	}
	if err := simulate.CheckForecastDays(s, missing); err != nil {
		return fmt.Errorf("--forecast: %w", err)
	}
	return nil
}
