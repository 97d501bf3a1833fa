package forecastreport

import (
	"fmt"
	"io"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

const layout = "2006-01-02 15:04"

// WriteText prints the report for people, in lines of at most width characters; 0 breaks none.
func (r *Report) WriteText(w io.Writer, width int) error {
	var text strings.Builder
	line := func(name, format string, values ...any) {
		text.WriteString(output.Labelled(name, fmt.Sprintf(format, values...), width))
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
	text.WriteString("\n" + output.ForecastDaysTable(r.Result.Days) + "\n" + output.ForecastDaysLegend(width))
	text.WriteString(output.Wrap(fmt.Sprintf("At the end: %s.", r.atEnd()), width, 0, further) + "\n")
	text.WriteString(r.advice(width))
	_, err := io.WriteString(w, text.String())
	return err
}

// further is by how much a line is indented that goes on with a sentence.
const further = 2

func (r *Report) advice(width int) string {
	if r.Mode == forecast.Active {
		return "It is turned on: its mode is Active.\n"
	}
	mode := "Its mode is " + r.Mode.String()
	if r.IsModeDefault {
		mode = fmt.Sprintf("It has no mode of its own, which means %s unless the controller's flag "+
			"--horizontal-pod-autoscaler-forecast says otherwise", r.Mode)
	}
	state := ""
	switch r.Result.Last.Reason {
	case forecast.ReasonNotWorthItsPrice, forecast.ReasonAboveWasteLimit:
		state = "Turned on, it changes nothing as long as that is so. "
	case forecast.ReasonLearning:
		state = "Turned on, it changes nothing before it has learnt. "
	}
	return output.Wrap(state+mode+". To turn it on:", width, 0, further) + "\n  " +
		output.WrapCommand(r.toTurnOn(), width, len("  ")) + "\n"
}
