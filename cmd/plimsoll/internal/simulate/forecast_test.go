package simulate

import (
	"encoding/json"
	"strings"
	"testing"
)

const recurring = "--load=step:12@0s,60@12h,12@13h,60@36h,12@37h"

// TestSimulateForecast: each setting is played without a forecast and with one, and a table has the days.
func TestSimulateForecast(t *testing.T) {
	args := []string{recurring, "--for=38h", "--forecast", "--ready-after=1m", "--as=plimsoll"}
	out, err := simulateWith(t, simulated, args...)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"plimsoll, no forecast       plimsoll, forecast\n", "\nplimsoll, forecast\n  DATE ",
		"\n  2026-01-01  24.0 h ", "  Learning\n", "\n  2026-01-02  14.0 h ", "\n  all days    38.0 h ",
		"\nPod-minutes a day (UTC): lacking"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if out, err = simulateWith(t, simulated, append(args, "-o=json")...); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Forecasts []struct {
			Name string
			Days []struct {
				Date              string
				LackingPodMinutes float64
			}
		}
	}
	// What is said meanwhile comes before.
	_, out, _ = strings.Cut(out, "{")
	if err := json.Unmarshal([]byte("{"+out), &got); err != nil || len(got.Forecasts) != 1 || len(got.Forecasts[0].Days) != 2 ||
		got.Forecasts[0].Name != "plimsoll, forecast" || got.Forecasts[0].Days[0].Date != "2026-01-01" ||
		got.Forecasts[0].Days[0].LackingPodMinutes <= 0 {
		t.Errorf("%v, %+v", err, got)
	}
}

// TestSimulateForecastIsChecked: what a forecast cannot learn from is refused before it is played.
func TestSimulateForecastIsChecked(t *testing.T) {
	for args, want := range map[string]string{
		"--for=30h":               "--forecast: 30h0m0s of load are played, and a forecast needs more than 30 hours",
		"--for=40h --speed-up=2":  "--forecast: a load that is sped up",
		"--for=40h --as=upstream": "--forecast: upstream's loop has no forecast",
	} {
		_, err := simulateWith(t, simulated, append(strings.Fields(args), recurring, "--forecast")...)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	// The last five minutes may not be over.
	_, notes, err := simulateFrom(t, storedDeployment, "--forecast", "--as=plimsoll")
	if err == nil || !strings.Contains(err.Error(), "--forecast: 1h") || !strings.Contains(err.Error(), "of load are known") {
		t.Errorf("%v\n%s", err, notes)
	}
}
