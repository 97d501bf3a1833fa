package present

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/output"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/score"
)

// Form has the format of the text.
type Form struct {
	// Width is how many characters a line of words has.
	Width int
	// HasAllRows says that all rows of the score are shown.
	HasAllRows bool
}

// Text writes what was assumed and simulated, and the scores side by side.
func Text(out io.Writer, s *simulate.Scene, runs []*simulate.Run, form Form) error {
	w := &s.Workload
	most := "no more than " + milli(w.CPULimitMilli)
	if w.CPULimitMilli <= 0 {
		most = fmt.Sprintf("without a limit: no more than %s here", milli(w.CPURequestMilli*w.Burst))
	}
	unit := "requests/s"
	if s.IsInPods() {
		unit = "pods at the target"
	}
	lines := []string{"assumed: " + s.Assumed}
	for _, fed := range s.MetricMeanings {
		lines = append(lines, "metric  "+fed)
	}
	lines = append(lines,
		fmt.Sprintf("load    %s, %s of it, peak %.4g %s, burstiness %.4g, seed %d", s.Load.Name,
			seconds(s.For.Seconds(), nil), s.Load.PeakWithin(s.For), unit, s.Burstiness, s.Seed),
		fmt.Sprintf("pods    %s: %s requested, %s; running after %v, ready %v later", w.Name, milli(w.CPURequestMilli), most,
			w.StartAfter, w.ReadyAfter))
	lines = append(lines, others(s)...)
	for i := range lines {
		lines[i] = output.Wrap(lines[i], form.Width, 0, len("assumed "))
	}
	_, err := fmt.Fprintf(out, "%s\n\n%s%s%s", strings.Join(lines, "\n"), table(runs, rowsFor(s, runs, form), form.Width),
		limits(s.Start, runs), forecasts(s.Start, runs, form.Width))
	return err
}

// others are lines about what most simulations do not have.
func others(s *simulate.Scene) (lines []string) {
	for _, c := range s.Workload.Sidecars {
		lines = append(lines, fmt.Sprintf("beside  sidecar %s: %s requested, %s used", c.Name, milli(c.CPURequestMilli),
			milli(c.CPUMilli)))
	}
	if s.Supply.CPUMilli > 0 {
		lines = append(lines, fmt.Sprintf("nodes   %d of %s, another one after %v",
			s.Supply.Nodes, milli(s.Supply.CPUMilli), s.Supply.Delay))
	}
	for _, o := range s.Outages {
		lines = append(lines, fmt.Sprintf("outage  of %d groups of nodes from %v to %v", o.Groups, o.From, o.To))
	}
	if len(s.ClockOffsets) > 0 {
		lines = append(lines, fmt.Sprintf("clocks  of the groups of nodes are ahead by %v", s.ClockOffsets))
	}
	return lines
}

// mostLimits are how many changes of a run's limits are printed.
const mostLimits = 12

// limits are those of runs in which schedules change them, by the clock.
func limits(start time.Time, runs []*simulate.Run) string {
	var text strings.Builder
	for _, run := range runs {
		if !run.HasSchedules() {
			continue
		}
		fmt.Fprintf(&text, "\nlimits of %s\n", run.Setting.Name)
		for i, l := range run.Limits {
			if i == mostLimits {
				fmt.Fprintf(&text, "  and %d more changes\n", len(run.Limits)-i)
				break
			}
			at := start.Add(l.At.Truncate(time.Second))
			fmt.Fprintf(&text, "  %s  %d to %d\n", at.UTC().Format(time.RFC3339), l.Least, l.Most)
		}
	}
	return text.String()
}

func milli(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) + "m" }

// rowsFor are all that scores say, or the rows that are read first.
func rowsFor(s *simulate.Scene, runs []*simulate.Run, form Form) []briefRow {
	var chosen []briefRow
	if form.HasAllRows {
		for _, r := range rows {
			chosen = append(chosen, briefRow{r.name, func(s *score.Score) string { return r.text(r.value(s), s) }})
		}
		return chosen
	}
	chosen = slices.Clone(brief)
	if s.IsQueue {
		chosen[lostRow] = waitRow
	}
	if slices.ContainsFunc(runs, func(r *simulate.Run) bool { return r.Score.AboveAtMaxPercent > 0 }) {
		chosen = slices.Insert(chosen, lostRow, atMaxRows...)
	}
	return chosen
}

// document is the JSON form.
type document struct {
	// Assumed says in words what a pod serves and why, and Metrics what each metric is.
	Assumed     string   `json:"assumed"`
	Metrics     []string `json:"metrics"`
	Load        string   `json:"load"`
	Seconds     float64  `json:"seconds"`
	Seed        uint64   `json:"seed"`
	Burstiness  float64  `json:"burstiness"`
	PodCapacity float64  `json:"podCapacity"`
	Target      float64  `json:"target"`
	Runs        []result `json:"runs"`
	// Forecasts has the results of the runs' forecasts.
	Forecasts []forecast `json:"forecasts,omitempty"`
}

type result struct {
	Name    string      `json:"name"`
	As      string      `json:"as"`
	Score   score.Score `json:"score"`
	Changes []change    `json:"changes"`
	// Limits has the limits that schedules change.
	Limits []limit `json:"limits,omitempty"`
}

type limit struct {
	AtSeconds   float64 `json:"atSeconds"`
	MinReplicas int32   `json:"minReplicas"`
	MaxReplicas int32   `json:"maxReplicas"`
}

type change struct {
	AtSeconds float64 `json:"atSeconds"`
	From      int32   `json:"from"`
	To        int32   `json:"to"`
	Surge     bool    `json:"surge,omitempty"`
}

// JSON writes scores and every change of the count.
func JSON(out io.Writer, s *simulate.Scene, runs []*simulate.Run) error {
	d := document{
		Assumed: s.Assumed, Metrics: s.MetricMeanings,
		Load: s.Load.Name, Seconds: s.For.Seconds(), Seed: s.Seed, Burstiness: s.Burstiness, PodCapacity: s.PodCapacity,
		Target: s.Target,
	}
	for _, run := range runs {
		r := result{Name: run.Setting.Name, As: string(run.Setting.Side), Score: run.Score, Changes: []change{}}
		for _, c := range run.Changes {
			r.Changes = append(r.Changes, change{AtSeconds: c.At.Seconds(), From: c.From, To: c.To, Surge: c.Surge})
		}
		for i := 0; run.HasSchedules() && i < len(run.Limits); i++ {
			l := &run.Limits[i]
			r.Limits = append(r.Limits, limit{AtSeconds: l.At.Seconds(), MinReplicas: l.Least, MaxReplicas: l.Most})
		}
		d.Runs = append(d.Runs, r)
	}
	d.Forecasts = forecastsOf(s.Start, runs)
	return output.JSON(out, d)
}

// CSV writes a line for each run.
func CSV(out io.Writer, _ *simulate.Scene, runs []*simulate.Run) error {
	w := csv.NewWriter(out)
	head := []string{"name", "as"}
	for _, r := range rows {
		head = append(head, r.field)
	}
	if err := w.Write(head); err != nil {
		return err
	}
	for _, run := range runs {
		line := []string{run.Setting.Name, string(run.Setting.Side)}
		for _, r := range rows {
			line = append(line, strconv.FormatFloat(r.value(&run.Score), 'g', 8, 64))
		}
		if err := w.Write(line); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}
