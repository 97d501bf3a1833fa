package horizontal

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/snapshot"
)

// SourceReading is the reading of a metric that Plimsoll reads itself. A missing one is among the errors or the
// awaited, as for other metrics.
type SourceReading struct {
	MetricIndex int `json:"metricIndex"`
	// Values are a server's, or the one of pods that are not the target's. Time is when they were measured.
	Values []resource.Quantity `json:"values,omitempty"`
	Time   time.Time           `json:"time,omitzero"`
	// IsLeast is true if the value is the least that it can be, as some of the pods have none. Incomplete says why; it is
	// empty if they will have one within seconds.
	IsLeast    bool   `json:"isLeast,omitempty"`
	Incomplete string `json:"incomplete,omitempty"`
	// Target is the external scaler's own, and Activity its report.
	Target   *resource.Quantity `json:"target,omitempty"`
	Activity string             `json:"activity,omitempty"`
	// Pods are the scraped pods. IsSample means that the other pods were not scraped; without it they are missing.
	Pods     []PodReading `json:"pods,omitempty"`
	IsSample bool         `json:"isSample,omitempty"`
}

// PodReading is the reading of one pod. Without a value it is missing.
type PodReading struct {
	Name string `json:"name"`
	// Value is the average over the window.
	Value  *resource.Quantity `json:"value,omitempty"`
	At     time.Time          `json:"at,omitzero"`
	Window metav1.Duration    `json:"window,omitzero"`
	// IsSilent is true if the pod does not respond, so that the value is its last.
	IsSilent bool `json:"isSilent,omitempty"`
	// Intervals are the last ones between two scrapes each, the newest first.
	Intervals []Sample `json:"intervals,omitempty"`
}

// Sample is a value and when it was measured: over the window that ends then.
type Sample struct {
	Value *resource.Quantity `json:"value,omitempty"`
	// At is that of the snapshot if it is absent.
	At     time.Time       `json:"at,omitzero"`
	Window metav1.Duration `json:"window,omitzero"`
}

// addSources adds the observation's readings of the metrics that Plimsoll reads itself.
func addSources(s *Step, a observehorizontal.Autoscaler, o *horizontal.Observation) {
	for i := range o.Readings {
		if !a.IsOwn(i) {
			continue
		}
		r := &o.Readings[i]
		if r.Error != "" {
			s.AddError(i, r.Error)
		}
		s.AddAsked(i, r.Asked)
		if saved := sourceReadingOf(i, r, o.Pods); saved != nil {
			s.Snapshot.Sources = append(s.Snapshot.Sources, *saved)
		}
	}
}

// sourceReadingOf converts a reading; nil if it is empty.
func sourceReadingOf(i int, r *metric.Reading, pods []metric.Pod) *SourceReading {
	if len(r.Series)+len(r.Samples) == 0 && r.TargetMilli == 0 && r.Activity == metric.ActivityUnknown {
		return nil
	}
	saved := &SourceReading{
		MetricIndex: i, Time: r.At.Round(0), IsLeast: r.IsLeast, Incomplete: r.Incomplete,
	}
	for _, milli := range r.Series {
		saved.Values = append(saved.Values, *resource.NewMilliQuantity(milli, resource.DecimalSI))
	}
	if r.TargetMilli != 0 {
		saved.Target = resource.NewMilliQuantity(r.TargetMilli, resource.DecimalSI)
	}
	if r.Activity != metric.ActivityUnknown {
		saved.Activity = r.Activity.String()
	}
	for n := range r.Samples {
		if sample := &r.Samples[n]; !sample.Present && sample.Unsampled {
			saved.IsSample = true
		} else if n < len(pods) {
			saved.Pods = append(saved.Pods, podReadingOf(pods[n].Name, sample, r.Recent, n))
		}
	}
	return saved
}

func podReadingOf(name string, s *metric.Sample, recent []metric.Recent, pod int) PodReading {
	average := sampleOf(s)
	saved := PodReading{Name: name, Value: average.Value, At: average.At, Window: average.Window, IsSilent: s.Silent}
	if pod >= len(recent) {
		return saved
	}
	for k := range recent[pod] {
		if interval := &recent[pod][k]; interval.Present {
			saved.Intervals = append(saved.Intervals, sampleOf(interval))
		}
	}
	return saved
}

func sampleOf(s *metric.Sample) Sample {
	if !s.Present && !s.Silent {
		return Sample{}
	}
	return Sample{
		Value: resource.NewMilliQuantity(s.Milli, resource.DecimalSI), At: s.At.Round(0),
		Window: metav1.Duration{Duration: s.Window},
	}
}

// sourceReading returns the step's reading of metric i; nil if there is none.
func sourceReading(s *Step, i int) *SourceReading {
	at := slices.IndexFunc(s.Snapshot.Sources, func(r SourceReading) bool { return r.MetricIndex == i })
	if at < 0 {
		return nil
	}
	return &s.Snapshot.Sources[at]
}

// ownReading returns that of metric i, which Plimsoll reads itself.
func (a *answers) ownReading(i int) metric.Reading {
	r, mode := sourceReading(a.step, i), arithmetic.Mode(a.policy.Divergences.Has(divergence.Saturate))
	if r == nil {
		return metric.Reading{Empty: true}
	}
	read := metric.Reading{At: r.Time, Activity: r.activity(), IsLeast: r.IsLeast, Incomplete: r.Incomplete}
	if r.Target != nil {
		read.TargetMilli = observe.Milli(r.Target, mode)
	}
	for i := range r.Values {
		read.Series = append(read.Series, observe.Milli(&r.Values[i], mode))
	}
	if a.policy.Metrics[i].IsPerPod() {
		a.addPods(r, &read, mode)
		return read
	}
	read.Empty = len(read.Series) == 0
	return read
}

func (a *answers) addPods(r *SourceReading, read *metric.Reading, mode arithmetic.Mode) {
	byName := map[string]*PodReading{}
	for i := range r.Pods {
		byName[r.Pods[i].Name] = &r.Pods[i]
	}
	read.Samples, read.Recent = make([]metric.Sample, len(a.pods)), make([]metric.Recent, len(a.pods))
	for n := range a.pods {
		saved, ok := byName[a.pods[n].Name]
		if !ok {
			read.Samples[n].Unsampled = r.IsSample
			continue
		}
		average := Sample{Value: saved.Value, At: saved.At, Window: saved.Window}
		read.Samples[n] = average.sample(a.step.Snapshot.Time, mode)
		if saved.IsSilent {
			read.Samples[n].Present, read.Samples[n].Silent = false, true
		}
		for k := range saved.Intervals {
			read.Recent[n][k] = saved.Intervals[k].sample(a.step.Snapshot.Time, mode)
		}
	}
}

func (s *Sample) sample(now time.Time, mode arithmetic.Mode) metric.Sample {
	if s.Value == nil {
		return metric.Sample{}
	}
	at := s.At
	if at.IsZero() {
		at = now
	}
	return metric.Sample{Present: true, Milli: observe.Milli(s.Value, mode), At: at, Window: s.Window.Duration}
}

// activity converts the activity; Complete has checked it.
func (r *SourceReading) activity() metric.Activity {
	if r == nil {
		return metric.ActivityUnknown
	}
	for _, known := range [...]metric.Activity{metric.Active, metric.Inactive} {
		if r.Activity == known.String() {
			return known
		}
	}
	return metric.ActivityUnknown
}

// checkSources refuses readings that would be misread.
func checkSources(s *Step) error {
	seen := map[int]bool{}
	a := s.Autoscaler()
	for i := range s.Snapshot.Sources {
		r := &s.Snapshot.Sources[i]
		switch {
		case r.MetricIndex < 0 || !a.IsOwn(r.MetricIndex):
			return snapshot.Invalid("Snapshot", "sources[%d].metricIndex: %d, is no metric of type PodEndpoint, Prometheus, "+
				"ExternalScaler or Scaler", i, r.MetricIndex)
		case seen[r.MetricIndex]:
			return snapshot.Invalid("Snapshot", "sources[%d].metricIndex: Duplicate value: %d", i, r.MetricIndex)
		case r.Activity != "" && r.activity() == metric.ActivityUnknown:
			return snapshot.Invalid("Snapshot", "sources[%d].activity: %q is neither active nor inactive", i, r.Activity)
		}
		for n := range r.Pods {
			if len(r.Pods[n].Intervals) > averaging.RecentIntervals {
				return snapshot.Invalid("Snapshot", "sources[%d].pods[%d].intervals: %d, must be at most %d", i, n,
					len(r.Pods[n].Intervals), averaging.RecentIntervals)
			}
			if r.Pods[n].Window.Duration < 0 {
				return snapshot.Invalid("Snapshot", "sources[%d].pods[%d].window: %s, must not be negative", i, n,
					r.Pods[n].Window.Duration)
			}
		}
		seen[r.MetricIndex] = true
	}
	return nil
}

// copySources shares no memory with the readings.
func copySources(all []SourceReading) []SourceReading {
	copied := slices.Clone(all)
	for i := range copied {
		copied[i].Values, copied[i].Pods = slices.Clone(copied[i].Values), slices.Clone(copied[i].Pods)
		for n := range copied[i].Pods {
			copied[i].Pods[n].Intervals = slices.Clone(copied[i].Pods[n].Intervals)
		}
	}
	return copied
}
