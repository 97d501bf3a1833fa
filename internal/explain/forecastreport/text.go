package forecastreport

import (
	"fmt"
	"io"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

const layout = "2006-01-02 15:04"

// WriteText prints the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var text strings.Builder
	line := func(name, format string, values ...any) {
		fmt.Fprintf(&text, "  %-9s %s\n", name, fmt.Sprintf(format, values...))
	}
	fmt.Fprintf(&text, "%s %s, with a forecast in mode Active\n", r.Object.Kind, r.Object.NamespacedName)
	line("load", "%s", r.Source)
	line("", "%s to %s UTC, known for %s", r.Load.Start.UTC().Format(layout), r.end().UTC().Format(layout), lasts(r.Known))
	for _, note := range r.notes() {
		line("", "%s", note)
	}
	c := &r.Config
	line("replicas", "%d to %d", c.MinReplicas, c.MaxReplicas)
	line("start-up", "%s, %s", r.Result.Last.StartUp, r.startUp())
	line("costs", "a lacking pod-minute as much as %g wasted ones; %g %% of all may be wasted", c.Settings.Price,
		c.Settings.WasteLimitPercent)
	text.WriteString("\n" + output.ForecastDaysTable(r.Result.Days) + "\n")
	text.WriteString("Pod-minutes a day (UTC): lacking without the forecast, avoided by it, wasted by it and in percent " +
		"of all.\nMOST is the most replicas that it asks for.\n")
	fmt.Fprintf(&text, "At the end: %s.\n", r.atEnd())
	text.WriteString(r.advice())
	_, err := io.WriteString(w, text.String())
	return err
}

func (r *Report) advice() string {
	if r.Mode == forecast.Active {
		return "It is turned on: its mode is Active.\n"
	}
	mode := "Its mode is " + r.Mode.String()
	if r.IsModeDefault {
		mode = fmt.Sprintf("It has no mode of its own, which means %s unless the controller's flag "+
			"--horizontal-pod-autoscaler-forecast says otherwise", r.Mode)
	}
	on := fmt.Sprintf("%s. To turn it on:\n  %s\n", mode, r.toTurnOn())
	switch r.Result.Last.Reason {
	case forecast.ReasonNotWorthItsPrice, forecast.ReasonAboveWasteLimit:
		return "Turned on, it changes nothing as long as that is so. " + on
	case forecast.ReasonLearning:
		return "Turned on, it changes nothing before it has learnt. " + on
	}
	return on
}
