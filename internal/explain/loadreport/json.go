package loadreport

import (
	"io"
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// Output is the report in JSON. docs/reference/json.md has its fields.
type Output struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Source is Controller, AutoscalerCheckpoint, or both; SavedAt is the checkpoint's.
	Source  string     `json:"source"`
	SavedAt *time.Time `json:"savedAt,omitempty"`
	// NoController is why the controller did not respond.
	NoController string `json:"noController,omitempty"`
	// NoCheckpoint is why explain has not read the time before the controller's start either.
	NoCheckpoint      string         `json:"noCheckpoint,omitempty"`
	From              time.Time      `json:"from"`
	To                time.Time      `json:"to"`
	ResolutionSeconds int64          `json:"resolutionSeconds"`
	Points            []OutputPoint  `json:"points"`
	Changes           []OutputChange `json:"changes"`
	// Turns is absent if the wanted count never changed direction.
	Turns   *OutputTurns   `json:"turns,omitempty"`
	Metrics []OutputMetric `json:"metrics,omitempty"`
}

// OutputTurns counts the changes in the opposite direction of the last change.
type OutputTurns struct {
	All        int `json:"all"`
	MostInHour int `json:"mostInHour"`
	// From is when that hour begins.
	From       time.Time `json:"from"`
	IsFlapping bool      `json:"isFlapping"`
}

// OutputMetric is the load of one metric, in pods at its target.
type OutputMetric struct {
	Name string `json:"name"`
	// Loads belong to Points, index for index; null where the load was unknown.
	Loads []*float64 `json:"loads"`
}

// OutputPoint is a step with a record.
type OutputPoint struct {
	// Time is when the step begins.
	Time time.Time `json:"time"`
	// Load is in pods at the target, absent if unknown.
	Load        *float64 `json:"load,omitempty"`
	PerPodMilli *float64 `json:"perPodMilli,omitempty"`
	// Wanted and Ready are absent if the limit is NotRecorded.
	Wanted *int32 `json:"wanted,omitempty"`
	Ready  *int32 `json:"ready,omitempty"`
	Limit  string `json:"limit"`
}

// OutputChange is a change of the wanted count.
type OutputChange struct {
	Time time.Time `json:"time"`
	// WithinSeconds is the precision of the time.
	WithinSeconds int64    `json:"withinSeconds"`
	From          int32    `json:"from"`
	To            int32    `json:"to"`
	Load          *float64 `json:"load,omitempty"`
	Ready         int32    `json:"ready"`
	Limit         string   `json:"limit"`
}

// Output returns the report for JSON.
func (r *Report) Output() *Output {
	o := &Output{
		Kind: r.Object.Kind.String(), Namespace: r.Object.Namespace, Name: r.Object.Name, Source: "Controller",
		NoCheckpoint: r.Source.NoCheckpoint,
		From:         r.From.UTC(), To: r.To.UTC(), ResolutionSeconds: int64(r.Timeline.Step / time.Second),
		Points: []OutputPoint{}, Changes: []OutputChange{},
	}
	if at := r.Source.SavedAt; !at.IsZero() {
		at = at.UTC()
		o.Source, o.SavedAt, o.NoController = "AutoscalerCheckpoint", &at, r.Source.NoLeader
		if r.Source.IsSinceStart {
			o.Source = "ControllerAndAutoscalerCheckpoint"
		}
	}
	for i := range r.Timeline.Cells {
		c := &r.Timeline.Cells[i]
		if !c.IsRecorded {
			continue
		}
		p := OutputPoint{
			Time: r.Timeline.Start.Add(time.Duration(i) * r.Timeline.Step).UTC(), Load: known(c.Load), Limit: c.Limit.String(),
		}
		if c.HasCounts() {
			p.Wanted, p.Ready = &c.Wanted, &c.Ready
		}
		if c.PerPodMilli > 0 {
			p.PerPodMilli = &c.PerPodMilli
		}
		o.Points = append(o.Points, p)
	}
	if t := turnsOf(r.Changes); t.All > 0 {
		o.Turns = &OutputTurns{All: t.All, MostInHour: t.MostInHour, From: t.From.UTC(), IsFlapping: t.IsFlapping()}
	}
	for i := range r.Metrics {
		o.Metrics = append(o.Metrics, r.metricOutput(&r.Metrics[i]))
	}
	for i := range r.Changes {
		c := &r.Changes[i]
		o.Changes = append(o.Changes, OutputChange{
			Time: c.At.UTC(), WithinSeconds: int64(c.Every / time.Second), From: c.From, To: c.To, Load: known(c.Load),
			Ready: c.Ready, Limit: c.Limit.String(),
		})
	}
	return o
}

// metricOutput has the loads of the cells that are points.
func (r *Report) metricOutput(m *Metric) OutputMetric {
	out := OutputMetric{Name: m.Name, Loads: []*float64{}}
	for i := range r.Timeline.Cells {
		if r.Timeline.Cells[i].IsRecorded {
			out.Loads = append(out.Loads, known(m.Loads[i]))
		}
	}
	return out
}

// known returns a load rounded to the precision of histories; nil if it is unknown.
func known(load float64) *float64 {
	if math.IsNaN(load) {
		return nil
	}
	load = math.Round(load*1000) / 1000
	return &load
}

// WriteJSON prints the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error { return output.JSON(w, r.Output()) }

// WriteYAML prints the same as YAML.
func (r *Report) WriteYAML(w io.Writer) error { return output.YAML(w, r.Output()) }
