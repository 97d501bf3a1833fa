// Package explained converts explanations of decisions to the numbers that the page of plimsoll ui shows.
package explained

import (
	"math"
	"time"

	explainhorizontal "github.com/plimsoll-dev/plimsoll/internal/explain/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// AddHorizontal adds the numbers in an explanation, for a time axis from a time to the object's Until.
func AddHorizontal(o *view.Object, e *explainhorizontal.Explanation, from time.Time) {
	until := time.UnixMilli(o.Until)
	o.Summary, o.Lines = e.Summary(), e.Lines(true)
	trace := e.Result.Output().Trace
	for i := range trace.Metrics {
		o.Metrics = append(o.Metrics, metricOf(&trace.Metrics[i]))
	}
	if f := trace.Forecast; f != nil {
		o.Forecast = &view.Forecast{
			Mode: f.Mode, Text: f.Message, Replicas: f.Replicas,
			Until: trace.Time.Add(time.Duration(f.HorizonSeconds * float64(time.Second))).UnixMilli(),
		}
		// With another metric or target nothing was learnt yet, whatever the state has.
		if f.LearntHours >= f.NeededHours {
			o.Forecast.Expected, o.Forecast.Curve = &f.ExpectedPods, curveOf(e, until)
		}
	}
	for _, b := range boundsOver(&e.Policy, from, until) {
		o.Bounds = append(o.Bounds, view.Bound{
			At: b.At.UnixMilli(), Min: b.MinReplicas, Max: b.MaxReplicas, Schedules: b.Schedules,
		})
	}
	if !e.IsCertain() {
		return
	}
	for i := range e.Projection.Steps {
		step := &e.Projection.Steps[i]
		o.Ahead = append(o.Ahead, view.Ahead{
			At: step.At.UnixMilli(), Replicas: step.Replicas, Limit: step.Limited.Reason.String(),
		})
	}
}

func metricOf(t *explainhorizontal.MetricTrace) view.Metric {
	m := view.Metric{Name: t.Metric, Replicas: t.Replicas, Counted: t.Counted}
	if t.Ratio != nil {
		if ratio := float64(*t.Ratio); !math.IsNaN(ratio) && !math.IsInf(ratio, 0) {
			m.Ratio = &ratio
		}
	}
	if t.Failure != nil {
		m.Failure = t.Failure.Message
	}
	for _, part := range t.SetAside {
		m.SetAside = append(m.SetAside, view.SetAside{Pod: part.Name, Why: part.Group})
	}
	return m
}

// curveOf returns the expected load up to a time; nothing if the controller's state is unknown.
func curveOf(e *explainhorizontal.Explanation, until time.Time) []view.Expected {
	state := e.Step.Snapshot.State
	if state == nil {
		return nil
	}
	var curve []view.Expected
	for _, x := range state.Forecast.Curve(until) {
		curve = append(curve, view.Expected{At: x.At.UnixMilli(), Mean: x.Mean, Upper: x.Upper})
	}
	return curve
}
