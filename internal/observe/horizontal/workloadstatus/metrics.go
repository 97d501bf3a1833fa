package workloadstatus

import (
	"cmp"
	"math"
	"time"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/proposal"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// staleAfter is the age of a metric's newest sample at which status shows its time. As it does not change until the
// next sample comes, that is one write. The time of fresh samples would be a write each time.
const staleAfter = 5 * time.Minute

func (w *Decided) metricName(i int) string { return w.Policy.Metrics[i].ShortName() }

// metrics returns those of the spec. One without a result, because it is awaited or the scale cannot be read, keeps the
// entry of its name in the old status, whatever its index was.
func (w *Decided) metrics(a observehorizontal.Autoscaler) []plimsollv1alpha1.MetricStatus {
	current, specs, results := w.Status.Metrics, a.Workload.Spec.Metrics, w.Decision.Metrics
	switch {
	case len(current) == 0:
		return nil
	case len(results) > 0:
		specs = specs[:min(len(specs), len(current))]
	}
	list := make([]plimsollv1alpha1.MetricStatus, len(specs))
	for i := range list {
		shown := &list[i]
		shown.Name, shown.Type = w.metricName(i), specs[i].Type
		if i >= len(results) || results[i].Pending {
			restore(shown, a.Workload.Status.Metrics)
			continue
		}
		value := &current[i]
		shown.Value, shown.AverageValue, shown.AverageUtilization =
			value.Value, value.AverageValue, value.AverageUtilization
		w.addResult(shown, &results[i])
	}
	for _, p := range w.Decision.Proposals(nil) {
		if p.Source == proposal.Metric && p.Index < len(list) {
			replicas := p.Replicas
			list[p.Index].Replicas = &replicas
		}
	}
	return list
}

func restore(m *plimsollv1alpha1.MetricStatus, before []plimsollv1alpha1.MetricStatus) {
	for i := range before {
		if before[i].Name == m.Name && before[i].Type == m.Type {
			*m = *before[i].DeepCopy()
		}
	}
}

func (w *Decided) addResult(shown *plimsollv1alpha1.MetricStatus, r *metric.Result) {
	shown.Samples = samplesOf(&r.Counts)
	if w.isStale(r) {
		shown.SampleTime = timeOf(r.At)
	}
	if f := r.Failure; f != nil {
		shown.Failure = &plimsollv1alpha1.MetricFailure{Reason: f.Reason, Message: shorten(f.Message, mostOfFailure)}
	}
}

func (w *Decided) isStale(r *metric.Result) bool {
	return !r.At.IsZero() && w.Decision.At.Sub(r.At) > staleAfter
}

// samplesOf is nil for a metric that is not of pods.
func samplesOf(n *metric.Counts) *plimsollv1alpha1.MetricSamples {
	if n.Pods() == 0 {
		return nil
	}
	return &plimsollv1alpha1.MetricSamples{
		Counted: pods(n.Counted), Missing: pods(n.Missing + n.Lacking), NotReady: pods(n.Unready),
		NotAsked: pods(n.Unsampled),
	}
}

func pods(n int) int32 { return arithmetic.Saturate.ToInt32(int64(n)) }

// samplesMoved reports whether the number of pods that count for a metric differs from the status, or whether its
// samples have ceased or begun to arrive.
func (w *Decided) samplesMoved(before []plimsollv1alpha1.MetricStatus) bool {
	results := w.Decision.Metrics
	for i := range min(len(before), len(results)) {
		r := &results[i]
		if !r.Pending && (differs(before[i].Samples, samplesOf(&r.Counts)) ||
			(before[i].SampleTime != nil) != w.isStale(r)) {
			return true
		}
	}
	return false
}

// clearly is the change of a value, as a fraction of its target, that counts as moved. It is the tolerance of an HPA: a
// smaller one has no consequences, and at rest values seldom differ by more.
const clearly = 0.1

// valuesMoved reports whether a value in the status has moved clearly.
func (w *Decided) valuesMoved(before []plimsollv1alpha1.MetricStatus) bool {
	results := w.Decision.Metrics
	for i := range min(len(before), len(results), len(w.Policy.Metrics)) {
		r, shown, target := &results[i], &before[i], &w.Policy.Metrics[i].Target
		value := cmp.Or(shown.Value, shown.AverageValue)
		switch {
		case r.Pending || r.Failure != nil:
		case shown.AverageUtilization != nil && target.Percent > 0:
			if isFar(float64(*shown.AverageUtilization), float64(r.Percent), float64(target.Percent)) {
				return true
			}
		case value != nil:
			milli := float64(cmp.Or(r.TargetMilli, target.Milli))
			if isFar(1000*value.AsApproximateFloat64(), float64(r.Milli), milli) {
				return true
			}
		}
	}
	return false
}

func isFar(before, after, target float64) bool { return math.Abs(after-before) > clearly*target }
