package monitor

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/load"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
)

// Loads records the load of an object and the decisions on it. Its zero value is empty.
type Loads struct {
	// mu guards the following.
	mu      sync.Mutex
	history loadhistory.History
	// hasNew is set once a decision was recorded, as opposed to merged.
	hasNew bool
	// metrics has the load of each metric if there are several; named points to the specs that they are named after.
	metrics []metricLoad
	named   *source.Spec
	// ready is the number of ready pods when they were last read.
	ready int32
}

// Add records a decision, unless its scale could not be read.
func (r *Loads) Add(policy *horizontal.Policy, o *horizontal.Observation, d *horizontal.Decision) {
	if d.Branch == horizontal.BranchNoScale {
		return
	}
	p := loadhistory.Point{Load: math.NaN(), Wanted: d.Desired, Limit: limitOf(d)}
	if d.Load.IsKnown {
		p.Load, p.PerPodMilli = d.Load.Pods, float32(d.Load.PerPodMilli)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(o.Pods) > 0 || o.Target.StatusReplicas == 0 {
		r.ready = ready(o.Pods)
	}
	// A decision that needs no metrics reads no pods.
	p.Ready = r.ready
	r.history.Add(d.At, p)
	r.hasNew = true
	r.addMetricsLocked(policy, o, d)
}

// metricLoad is the load of one metric.
type metricLoad struct {
	name    string
	history loadhistory.History
}

// addMetricsLocked records the load of each metric. For a single one it is the object's load.
func (r *Loads) addMetricsLocked(policy *horizontal.Policy, o *horizontal.Observation, d *horizontal.Decision) {
	if len(policy.Metrics) < 2 {
		r.metrics, r.named = nil, nil
		return
	}
	r.nameLocked(policy)
	in := load.Input{
		Specs: policy.Metrics, Readings: o.Readings, Results: d.Metrics, Pods: o.Pods, Current: d.Current,
	}
	for i := range r.metrics {
		p := loadhistory.Point{Load: math.NaN()}
		if pods, isKnown := load.ByMetric(&in, i); isKnown {
			p.Load = pods
		}
		r.metrics[i].history.Add(d.At, p)
	}
}

// nameLocked creates a history for each metric of a policy. A metric with the same name as before keeps its history.
func (r *Loads) nameLocked(policy *horizontal.Policy) {
	if r.named == &policy.Metrics[0] {
		return
	}
	r.named = &policy.Metrics[0]
	before := r.metrics
	r.metrics = make([]metricLoad, min(loadhistory.MostMetrics, len(policy.Metrics)))
	for i := range r.metrics {
		own := &r.metrics[i]
		own.name, own.history = policy.Metrics[i].Describe(policy.Divergences), loadhistory.OfMetric()
		if k := slices.IndexFunc(before, func(m metricLoad) bool { return m.name == own.name }); k >= 0 {
			own.history = before[k].history
			before = slices.Delete(before, k, k+1)
		}
	}
}

// EncodedMetric is the load of one metric.
type EncodedMetric = loadhistory.EncodedMetric

// EncodeMetrics returns the load of each metric, in the order of the object's spec; none if there is only one metric.
func (r *Loads) EncodeMetrics() (all []EncodedMetric, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.metrics {
		m := EncodedMetric{Name: r.metrics[i].name}
		if m.History, err = r.metrics[i].history.AppendBinary(nil); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// HasNew reports whether a decision was recorded since the start.
func (r *Loads) HasNew() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hasNew
}

// Since returns the start of the oldest point.
func (r *Loads) Since() (at time.Time, isAny bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.history.First()
}

// Reset drops the history, which belongs to another object.
func (r *Loads) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history, r.hasNew, r.metrics, r.named = loadhistory.History{}, false, nil, nil
}

// Encode returns the history as package loadhistory encodes it; nil if there is none.
func (r *Loads) Encode() ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, isAny := r.history.First(); !isAny {
		return nil, nil
	}
	return r.history.AppendBinary(nil)
}

// Merge inserts an encoded history before the recorded one.
func (r *Loads) Merge(encoded []byte) error {
	var earlier loadhistory.History
	if err := earlier.UnmarshalBinary(encoded); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history.Merge(&earlier)
	return nil
}

func ready(pods []metric.Pod) (n int32) {
	for i := range pods {
		if p := &pods[i]; p.Ready == metric.ReadyTrue && p.Phase == metric.PhaseRunning && !p.Deleting {
			n++
		}
	}
	return n
}

// limitOf returns the last limit on the count.
func limitOf(d *horizontal.Decision) loadhistory.Limit {
	switch d.Branch {
	case horizontal.BranchFailed:
		return loadhistory.MetricsFailed
	case horizontal.BranchPaused:
		return loadhistory.Paused
	case horizontal.BranchAboveMax:
		return loadhistory.TooManyReplicas
	case horizontal.BranchBelowMin:
		return loadhistory.TooFewReplicas
	case horizontal.BranchMetrics:
		return limitOfMetrics(d)
	}
	return loadhistory.None
}

func limitOfMetrics(d *horizontal.Decision) loadhistory.Limit {
	switch d.Limited.Reason {
	case behavior.TooFewReplicas:
		return loadhistory.TooFewReplicas
	case behavior.TooManyReplicas:
		return loadhistory.TooManyReplicas
	case behavior.ScaleUpLimit:
		return loadhistory.ScaleUpLimit
	case behavior.ScaleDownLimit:
		return loadhistory.ScaleDownLimit
	}
	// If selectPolicy is Disabled, the end of the window would change nothing.
	up, isDisabled := d.Stabilized.Reason == behavior.ScaleUpStabilized, d.Stabilized.IsDisabled
	switch down := d.Stabilized.Reason == behavior.ScaleDownStabilized; {
	case up && isDisabled:
		return loadhistory.ScaleUpLimit
	case down && isDisabled:
		return loadhistory.ScaleDownLimit
	case up:
		return loadhistory.ScaleUpStabilized
	case down:
		return loadhistory.ScaleDownStabilized
	}
	return loadhistory.None
}
