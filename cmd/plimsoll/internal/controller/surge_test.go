package controller

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
)

func parsed(t *testing.T, arguments ...string) (*Flags, error) {
	t.Helper()
	f := &Flags{}
	fs := pflag.NewFlagSet("controller", pflag.ContinueOnError)
	f.Add(fs)
	if err := fs.Parse(arguments); err != nil {
		return f, err
	}
	err := f.Validate()
	return f, err
}

func TestSurgeFlags(t *testing.T) {
	f, err := parsed(t)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(surge.Defaults(), f.config.Options.Surge); diff != "" {
		t.Errorf("the defaults (-core +flags):\n%s", diff)
	}
	f, err = parsed(t, "--surge-window=4s", "--surge-steep-factor=5", "--surge-margin=2", "--surge-least-cpu=0.1",
		"--surge-ready-for=1m")
	if err != nil {
		t.Fatal(err)
	}
	want := surge.Settings{Window: 4e9, SteepFactor: 5, Margin: 2, LeastCPUMilli: 100, ReadyFor: 60e9}
	if diff := cmp.Diff(want, f.config.Options.Surge); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if f, err = parsed(t, "--surge-window=0"); err != nil || f.config.Options.Surge.Window != 0 {
		t.Errorf("it cannot be turned off: %v", err)
	}
}

func TestSurgeFlagsAreChecked(t *testing.T) {
	for _, bad := range []string{
		"--surge-window=-1s", "--surge-margin=0.9", "--surge-margin=NaN", "--surge-steep-factor=1.2",
		"--surge-steep-factor=NaN",
		"--surge-steep-factor=Inf", "--surge-least-cpu=-1m", "--surge-least-cpu=many", "--surge-ready-for=-1s",
	} {
		name, _, _ := strings.Cut(strings.TrimPrefix(bad, "--"), "=")
		if _, err := parsed(t, bad); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want an error that names the flag", bad, err)
		}
	}
}

func TestForecastFlag(t *testing.T) {
	for text, want := range map[string]forecast.Mode{
		"": forecast.Preview, "--horizontal-pod-autoscaler-forecast=Off": forecast.Off,
		"--horizontal-pod-autoscaler-forecast=Active": forecast.Active,
	} {
		var arguments []string
		if text != "" {
			arguments = []string{text}
		}
		if f, err := parsed(t, arguments...); err != nil || f.Config().Options.Forecast != want {
			t.Errorf("%q: %v, %v", text, f.Config().Options.Forecast, err)
		}
	}
	if _, err := parsed(t, "--horizontal-pod-autoscaler-forecast=on"); err == nil ||
		!strings.Contains(err.Error(), "must be Off, Preview or Active") {
		t.Errorf("got %v", err)
	}
}
