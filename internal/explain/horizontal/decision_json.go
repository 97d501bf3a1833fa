package horizontal

import (
	"encoding/json"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/surge"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/output"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// DecisionOutput is a decision as JSON prints it.
type DecisionOutput struct {
	// Summary is the decision in one sentence.
	Summary string `json:"summary"`
	// DesiredReplicas is absent where the scale cannot be read.
	DesiredReplicas *int32                    `json:"desiredReplicas,omitempty"`
	Rescale         bool                      `json:"rescale"`
	Status          StatusOutput              `json:"status"`
	Events          []observehorizontal.Event `json:"events"`
	Trace           Trace                     `json:"trace"`
}

// Trace is the way that a decision took.
type Trace struct {
	Time        time.Time `json:"time"`
	Divergences string    `json:"divergences"`
	Branch      string    `json:"branch"`
	// Current is absent where the scale cannot be read.
	Current     *int32        `json:"currentReplicas,omitempty"`
	MinReplicas int32         `json:"minReplicas"`
	MaxReplicas int32         `json:"maxReplicas"`
	Metrics     []MetricTrace `json:"metrics,omitempty"`
	// Samples says where CPU and memory were from.
	Samples     *snapshothorizontal.Samples `json:"samples,omitempty"`
	Surge       *SurgeTrace                 `json:"surge,omitempty"`
	Proposed    *ProposedTrace              `json:"proposed,omitempty"`
	Stabilized  *StabilizedTrace            `json:"stabilized,omitempty"`
	Limited     *LimitedTrace               `json:"limited,omitempty"`
	RaisedToMin bool                        `json:"raisedToMin,omitempty"`
	// Forecast is absent where its mode is Off.
	Forecast *ForecastTrace `json:"forecast,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Error    string         `json:"error,omitempty"`
	// WorkloadAutoscaler is what an HPA has not.
	WorkloadAutoscaler *WorkloadTrace `json:"workloadAutoscaler,omitempty"`
}

// MetricTrace is how one metric came to its proposal. Values are milli-units.
type MetricTrace struct {
	// Name is the name that a WorkloadAutoscaler gives the metric.
	Name   string `json:"name,omitempty"`
	Metric string `json:"metric"`
	// ReadFrom is where the values are from of a metric that Plimsoll reads itself.
	ReadFrom string        `json:"readFrom,omitempty"`
	Failure  *FailureTrace `json:"failure,omitempty"`
	Verdict  string        `json:"verdict"`
	Replicas *int32        `json:"replicas,omitempty"`
	// Percent is the utilization, Value the average or the whole value.
	Percent       *int32 `json:"percent,omitempty"`
	ValueMilli    *int64 `json:"valueMilli,omitempty"`
	TargetPercent int32  `json:"targetPercent,omitempty"`
	TargetMilli   int64  `json:"targetMilli,omitempty"`
	Ratio         *ratio `json:"ratio,omitempty"`
	Adjusted      *ratio `json:"adjustedRatio,omitempty"`
	Base          int64  `json:"base,omitempty"`
	// Counted is how many pods count; absent for a metric that does not count them.
	Counted  *int      `json:"podsCounted,omitempty"`
	SetAside []PodPart `json:"podsNotCounted,omitempty"`
	// OfOthers are those that count and have another controller than the target's pods.
	OfOthers []PodOfOther `json:"podsOfOtherControllers,omitempty"`
	// Sampled is how many pods were asked and Unsampled how many were not, where a part of the pods stands for all.
	Sampled   int `json:"podsSampled,omitempty"`
	Unsampled int `json:"podsNotSampled,omitempty"`
	// Activity is what an external scaler says of itself.
	Activity string `json:"activity,omitempty"`
	// StartMilli is what is left out of the use of pods that have just become ready.
	StartMilli int64 `json:"startupMilli,omitempty"`
	// SharedMilli is what is left out of their use from before other pods were ready. MovedMilli is what may be in the
	// samples of two pods and is left out, or below 0 what may be in none and is added.
	SharedMilli int64 `json:"sharedMilli,omitempty"`
	MovedMilli  int64 `json:"movedMilli,omitempty"`
}

// FailureTrace is why a metric has no proposal.
type FailureTrace struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// PodPart is a pod that does not count, and why.
type PodPart struct {
	Name  string `json:"name"`
	Group string `json:"group"`
}

// SurgeTrace is what the surge window made of the last few seconds: of the metric
// and the rule that came nearest to asking.
type SurgeTrace struct {
	MetricIndex int    `json:"metricIndex"`
	Verdict     string `json:"verdict"`
	// Replicas is what it asks for.
	Replicas int32 `json:"replicas,omitempty"`
	// Intervals had to be above Factor times the target, within Span.
	Intervals int     `json:"intervals"`
	Factor    float64 `json:"factor"`
	Span      string  `json:"span"`
	// ValueMilli is the lowest of them, on average, and Ratio what it is of the target;
	// Adjusted with the pods that have just become ready and share the load.
	ValueMilli int64     `json:"valueMilli"`
	Ratio      ratio     `json:"ratio"`
	Adjusted   ratio     `json:"adjustedRatio,omitempty"`
	Base       int64     `json:"base,omitempty"`
	Counted    int       `json:"podsCounted"`
	Showing    int       `json:"podsAbove"`
	Sharing    int       `json:"podsNew,omitempty"`
	Newest     time.Time `json:"newest"`
}

// ProposedTrace is the largest proposal: a metric's, or with Window surge that of the
// surge window. Source is Schedule or Fallback where it is no metric's; MetricIndex means
// nothing if it is Schedule.
type ProposedTrace struct {
	MetricIndex int    `json:"metricIndex"`
	Replicas    int32  `json:"replicas"`
	Window      string `json:"window,omitempty"`
	Source      string `json:"source,omitempty"`
}

// StabilizedTrace is what the stabilization windows made of the proposal, by
// which recommendation.
type StabilizedTrace struct {
	Replicas       int32                              `json:"replicas"`
	Reason         string                             `json:"reason"`
	Recommendation *snapshothorizontal.Recommendation `json:"recommendation,omitempty"`
	Window         string                             `json:"window,omitempty"`
}

// LimitedTrace is what rate, min and max made of it. RateLimit is the farthest
// count that the rate permits.
type LimitedTrace struct {
	Replicas  int32  `json:"replicas"`
	Reason    string `json:"reason"`
	RateLimit *int32 `json:"rateLimit,omitempty"`
	LeftZero  bool   `json:"leftZero,omitempty"`
}

// ratio is a float that JSON may not be able to say.
type ratio float64

// MarshalJSON says what is not a number as text.
func (r ratio) MarshalJSON() ([]byte, error) {
	f := float64(r)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return json.Marshal(strconv.FormatFloat(f, 'g', -1, 64))
	}
	return json.Marshal(f)
}

// WriteJSON writes the result as one line of JSON.
func (r *Result) WriteJSON(w io.Writer) error { return output.JSONLine(w, r.Output()) }

// Output is the decision as JSON prints it.
func (r *Result) Output() DecisionOutput {
	return DecisionOutput{
		Summary: r.Sentence.Text, DesiredReplicas: r.known(r.Decision.Desired), Rescale: r.Decision.Rescale,
		Status: r.statusOutput(), Events: r.Events, Trace: r.trace(),
	}
}

// known is a replica count of the target, nil where its scale cannot be read.
func (r *Result) known(replicas int32) *int32 {
	if r.isScaleUnread() {
		return nil
	}
	return &replicas
}

func (r *Result) trace() Trace {
	d := &r.Decision
	t := Trace{
		Time: d.At, Divergences: r.Policy.Divergences.String(), Branch: d.Branch.String(), Current: r.known(d.Current),
		MinReplicas: d.Bounds.MinReplicas, MaxReplicas: d.Bounds.MaxReplicas,
		RaisedToMin: d.RaisedToMin, Reason: r.Report.Reason, Error: r.Report.Error,
		WorkloadAutoscaler: workload{r}.workloadTrace(), Forecast: r.forecastTrace(), Samples: r.Step.Snapshot.Samples,
	}
	for i := range d.Metrics {
		t.Metrics = append(t.Metrics, r.metricTrace(i))
	}
	if d.Surge.Verdict != surge.NoData {
		t.Surge = surgeTrace(&d.Surge)
	}
	switch d.Proposed.Source {
	case proposal.None:
	case proposal.Surge:
		t.Proposed = &ProposedTrace{
			MetricIndex: d.Proposed.Index, Replicas: d.Proposed.Replicas, Window: observehorizontal.SurgeWindow,
		}
	case proposal.Schedule, proposal.Fallback:
		t.Proposed = &ProposedTrace{
			MetricIndex: d.Proposed.Index, Replicas: d.Proposed.Replicas, Source: d.Proposed.Source.String(),
		}
	default:
		t.Proposed = &ProposedTrace{MetricIndex: d.Proposed.Index, Replicas: d.Proposed.Replicas}
	}
	if d.Branch != horizontal.BranchMetrics {
		return t
	}
	t.Stabilized = &StabilizedTrace{Replicas: d.Stabilized.Replicas, Reason: d.Stabilized.Reason.String()}
	if d.Stabilized.Reason != behavior.ReadyForNewScale {
		t.Stabilized.Recommendation = &snapshothorizontal.Recommendation{
			Time: d.Stabilized.By.Time, Replicas: d.Stabilized.By.Replicas,
		}
		t.Stabilized.Window = d.Stabilized.Window.String()
	}
	t.Limited = &LimitedTrace{
		Replicas: d.Limited.Replicas, Reason: d.Limited.Reason.String(), LeftZero: d.Limited.LeftZero,
	}
	if d.Limited.Rated {
		t.Limited.RateLimit = &d.Limited.RateLimit
	}
	return t
}

func surgeTrace(s *surge.Result) *SurgeTrace {
	return &SurgeTrace{
		MetricIndex: s.Metric, Verdict: surgeVerdict(s.Verdict), Replicas: s.Replicas,
		Intervals: s.Intervals, Factor: s.Factor, Span: s.Span.String(),
		ValueMilli: s.Milli, Ratio: ratio(s.Ratio), Adjusted: ratio(s.Adjusted), Base: s.Base,
		Counted: s.Counted, Showing: s.Showing, Sharing: s.Sharing, Newest: s.At,
	}
}

func (r *Result) metricTrace(i int) MetricTrace {
	spec, result := &r.Policy.Metrics[i], &r.Decision.Metrics[i]
	t := MetricTrace{
		Name: spec.GivenName, Metric: spec.Measured(r.Policy.Divergences), Verdict: metricVerdict(result.Verdict),
		TargetPercent: spec.Target.Percent, TargetMilli: spec.Target.Milli,
		SetAside: r.setAside(i), OfOthers: r.podsOfOthers(result), StartMilli: result.StartMilli,
		SharedMilli: result.SharedMilli, MovedMilli: result.MovedMilli,
		ReadFrom: ownMetric{r, i}.readFrom(), Unsampled: result.Counts.Unsampled,
	}
	if result.Groups != nil {
		t.Counted = &result.Counts.Counted
	}
	if result.Counts.Unsampled > 0 {
		t.Sampled = result.Counts.Asked()
	}
	if result.Activity != metric.ActivityUnknown {
		t.Activity = result.Activity.String()
	}
	if spec.IsOwnTarget {
		t.TargetMilli = result.TargetMilli
	}
	if f := result.Failure; f != nil {
		t.Failure = &FailureTrace{Reason: f.Reason, Message: f.Message}
		return t
	}
	first, adjusted := ratio(result.Ratio), ratio(result.Adjusted)
	t.Replicas, t.ValueMilli, t.Ratio, t.Base = &result.Replicas, &result.Milli, &first, result.Base
	if spec.Target.Type == source.Utilization {
		t.Percent = &result.Percent
	}
	if refilled(result) {
		t.Adjusted = &adjusted
	}
	return t
}

// setAside are the pods that do not count for metric i, without those that were not asked.
func (r *Result) setAside(i int) []PodPart {
	var parts []PodPart
	for pod, group := range r.Decision.Metrics[i].Groups {
		if group == metric.Counted || group == metric.Unsampled {
			continue
		}
		if group == metric.Missing && r.hasNoContainer(i, pod) {
			group = metric.Lacking
		}
		parts = append(parts, PodPart{Name: r.Observation.Pods[pod].Name, Group: group.String()})
	}
	return parts
}

// hasNoContainer reports whether a pod does not have the container that metric i names.
func (r *Result) hasNoContainer(i, pod int) bool {
	if i >= len(r.Observation.Readings) {
		return false
	}
	samples := r.Observation.Readings[i].Samples
	return pod < len(samples) && samples[pod].NoContainer
}
