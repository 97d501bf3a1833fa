// Package load computes the load of a target, in pods that would serve it at the metrics' targets. Unlike the replica
// count that a metric proposes, it applies no tolerance, no rounding and no assumptions for pods without samples.
package load

import (
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// Input has the results of a decision. Readings and Results belong to Specs, index for index.
type Input struct {
	Now                      time.Time
	MinReplicas, MaxReplicas int32
	StartUp                  time.Duration
	// Tolerance is the metrics' tolerance of an increase.
	Tolerance float64

	Specs    []source.Spec
	Readings []metric.Reading
	Results  []metric.Result
	Pods     []metric.Pod
	// Current is the target's replica count.
	Current int32
}

// Forecast observes the load and returns the forecast. Mode Off drops what was learnt.
func Forecast(
	settings *forecast.Settings, learnt **forecast.State, in *Input, load forecast.Load,
) forecast.Result {
	if settings.Mode == forecast.Off {
		*learnt = nil
		return forecast.Result{}
	}
	if *learnt == nil {
		*learnt = forecast.New()
	}
	return (*learnt).Observe(settings, &forecast.Input{
		Now: in.Now, Load: load, MinReplicas: in.MinReplicas, MaxReplicas: in.MaxReplicas, StartUp: in.StartUp,
		Tolerance: in.Tolerance,
	})
}

// most bounds a load, as replica counts are.
const most = math.MaxInt32

// Of returns the largest load of the metrics. It is unknown while one of them is unknown, because that one may be the
// largest, and without replicas.
func Of(in *Input) forecast.Load {
	if in.Current <= 0 || len(in.Results) == 0 {
		return forecast.Load{}
	}
	leading := forecast.Load{IsKnown: true, Pods: -1}
	isCapped := false
	for i := range in.Results {
		pods, ok := in.pods(i)
		if !ok {
			return forecast.Load{}
		}
		perPod, full := in.target(i)
		isCapped = isCapped || full > 0 && in.isFull(i)
		if pods > leading.Pods {
			leading.Pods, leading.PerPodMilli, leading.Full = pods, perPod, full
		}
	}
	if len(in.Results) > 1 {
		// Another metric may be the largest at the next moment. The difference between their targets is no change of the
		// target.
		leading.PerPodMilli = 0
	}
	leading.IsCapped = isCapped
	return leading
}

// ByMetric returns the load of one metric; false if it is unknown.
func ByMetric(in *Input, i int) (pods float64, ok bool) {
	if in.Current <= 0 || i >= len(in.Results) {
		return 0, false
	}
	return in.pods(i)
}

func (in *Input) pods(i int) (pods float64, ok bool) {
	r := &in.Results[i]
	if r.Failure != nil || r.Pending {
		return 0, false
	}
	if in.Specs[i].IsPerPod() {
		var carrying int
		if carrying, ok = in.carrying(r); !ok {
			return 0, false
		}
		pods = r.Ratio * float64(carrying)
	} else {
		pods = in.total(i)
	}
	if !(pods >= 0) || math.IsInf(pods, 0) {
		return 0, false
	}
	return min(pods, most), true
}

// carrying returns the number of pods that carry the load: those whose samples count, and ready ones without samples,
// which are assumed to be like the others. It returns false if these are the majority, because then the others are not
// representative. Pods that start do not count, and neither does their use.
func (in *Input) carrying(r *metric.Result) (pods int, ok bool) {
	missing, groups := 0, r.Groups
	if r.Counts.Missing == 0 {
		groups = nil
	}
	for i, group := range groups {
		if group == metric.Missing && in.Pods[i].Ready == metric.ReadyTrue {
			missing++
		}
	}
	sampled := r.Counts.Counted + r.Counts.Unsampled
	return sampled + missing, r.Counts.Counted > 0 && missing <= sampled
}

// total returns the load of a metric that is one value for the whole target. A Value target has no value per pod: as in
// autoscaling/v2, the ratio multiplies the ready pods.
func (in *Input) total(i int) float64 {
	spec, r := &in.Specs[i], &in.Results[i]
	if spec.Target.Type == source.AverageValue {
		return float64(r.Total) / float64(in.milli(i))
	}
	ready := 0
	for p := range in.Pods {
		if pod := &in.Pods[p]; pod.Phase == metric.PhaseRunning && pod.Ready == metric.ReadyTrue && !pod.Deleting {
			ready++
		}
	}
	if ready == 0 {
		return math.NaN()
	}
	return r.Ratio * float64(ready)
}

func (in *Input) milli(i int) int64 {
	if in.Specs[i].IsOwnTarget {
		return in.Results[i].TargetMilli
	}
	return in.Specs[i].Target.Milli
}

// target returns a pod's target, and the load that a pod can carry as a multiple of it; each is 0 if unknown. A pod
// that uses its whole request counts as full: more depends on its neighbours.
func (in *Input) target(i int) (perPodMilli, full float64) {
	target := &in.Specs[i].Target
	if target.Type != source.Utilization {
		return float64(in.milli(i)), 0
	}
	return in.request(i) * float64(target.Percent) / 100, FullOf(&in.Specs[i])
}

// FullOf returns the load that a pod can carry as a multiple of a metric's target; 0 if unknown.
func FullOf(spec *source.Spec) float64 {
	part := float64(spec.Target.Percent) / 100
	if spec.IsCPU() && spec.Target.Type == source.Utilization && part > 0 && part < 1 {
		return 1 / part
	}
	return 0
}

// request returns the mean request of the pods that count.
func (in *Input) request(i int) float64 {
	sum, n := 0.0, 0
	if i >= len(in.Readings) {
		return 0
	}
	for p := range in.Readings[i].Requests {
		request, group := &in.Readings[i].Requests[p], in.Results[i].Groups[p]
		if request.Missing == metric.RequestSet && group != metric.Ignored && group != metric.Lacking {
			sum += float64(request.Milli)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

// isFull reports whether the pods use their whole requests.
func (in *Input) isFull(i int) bool { return in.Results[i].Percent >= 100 }
