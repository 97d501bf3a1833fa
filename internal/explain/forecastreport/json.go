package forecastreport

import (
	"io"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// Output is the report in JSON. docs/reference/json.md has its fields.
type Output struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Mode is the present one, absent if the object has none of its own; the rest is about mode Active.
	Mode         string    `json:"mode,omitempty"`
	Source       string    `json:"source"`
	From         time.Time `json:"from"`
	To           time.Time `json:"to"`
	KnownMinutes int       `json:"knownMinutes"`
	// CoarseMinutes counts the minutes that are recorded in points of five minutes.
	CoarseMinutes      int                  `json:"coarseMinutes"`
	OtherMetrics       int                  `json:"otherMetrics"`
	StartUpSeconds     float64              `json:"startUpSeconds"`
	IsStartUpAssumed   bool                 `json:"isStartUpAssumed"`
	MinReplicas        int32                `json:"minReplicas"`
	MaxReplicas        int32                `json:"maxReplicas"`
	ShortageCostFactor float64              `json:"shortageCostFactor"`
	WasteLimitPercent  float64              `json:"wasteLimitPercent"`
	Days               []output.ForecastDay `json:"days"`
	AtEnd              OutputState          `json:"atEnd"`
	// ToTurnOn is a command; absent if the mode is Active.
	ToTurnOn string `json:"toTurnOn,omitempty"`
}

// OutputState is the forecast after the last minute, with the fields of status.forecast of a WorkloadAutoscaler.
type OutputState struct {
	Reason                  string  `json:"reason"`
	Message                 string  `json:"message"`
	Replicas                int32   `json:"replicas,omitempty"`
	ExpectedPods            float64 `json:"expectedPods,omitempty"`
	AvoidedPodMinutesPerDay float64 `json:"avoidedPodMinutesPerDay"`
	WastedPodMinutesPerDay  float64 `json:"wastedPodMinutesPerDay"`
}

// Output returns the report for JSON.
func (r *Report) Output() *Output {
	last, c := &r.Result.Last, &r.Config
	o := &Output{
		Kind: r.Object.Kind.String(), Namespace: r.Object.Namespace, Name: r.Object.Name, Mode: r.mode(),
		Source: r.Source, From: r.Load.Start.UTC(), To: r.end().UTC(), KnownMinutes: r.Known, CoarseMinutes: r.Coarse,
		OtherMetrics: r.OtherMetrics, StartUpSeconds: last.StartUp.Seconds(), IsStartUpAssumed: c.StartUp <= 0,
		MinReplicas: c.MinReplicas, MaxReplicas: c.MaxReplicas, ShortageCostFactor: c.Settings.Price,
		WasteLimitPercent: c.Settings.WasteLimitPercent, Days: output.ForecastDays(r.Result.Days),
		AtEnd: OutputState{
			Reason: last.Reason.String(), Message: last.Text(), Replicas: last.Replicas, ExpectedPods: last.Expected,
			AvoidedPodMinutesPerDay: last.Day.AvoidedPodMinutes, WastedPodMinutesPerDay: last.Day.WastedPodMinutes,
		},
	}
	if r.Mode != forecast.Active {
		o.ToTurnOn = r.toTurnOn()
	}
	return o
}

// mode returns that of the object, empty if it has none.
func (r *Report) mode() string {
	if r.IsModeDefault {
		return ""
	}
	return r.Mode.String()
}

// WriteJSON prints the report as JSON.
func (r *Report) WriteJSON(w io.Writer) error { return output.JSON(w, r.Output()) }

// WriteYAML prints the same as YAML.
func (r *Report) WriteYAML(w io.Writer) error { return output.YAML(w, r.Output()) }
