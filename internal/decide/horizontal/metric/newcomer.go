package metric

import (
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// IsReady reports whether the pod runs and is ready.
func (p *Pod) IsReady() bool { return p.Phase == PhaseRunning && !p.Deleting && p.Ready == ReadyTrue }

// WasReadyIn reports whether the pod was ready during the whole interval, so that it had a part of the load. The API
// truncates the time to seconds: a short interval may lie within the second before as a whole, and show nothing but the
// pod's start.
func (p *Pod) WasReadyIn(interval *Sample) bool {
	since := p.ReadyTransition
	if interval.Window < averaging.Dense {
		since = since.Add(time.Second)
	}
	return p.IsReady() && interval.Present && interval.Milli >= 0 && !interval.At.Add(-interval.Window).Before(since)
}

// confirm takes the newest interval of a pod that has just become ready, and does not count yet, as a sign that the
// load is still there, if the pod uses more than its target in it. Samples of the pods that count may be 20 s old.
func (p *perPod) confirm(pod int) {
	if !p.spec.IsCPU() || len(p.reading.Recent) != len(p.c.Pods) {
		return
	}
	newest := &p.reading.Recent[pod][0]
	if newest.At.After(p.result.Confirmed) && p.c.Pods[pod].WasReadyIn(newest) && p.isAboveTarget(pod, newest.Milli) {
		p.result.Confirmed = newest.At
	}
}

// isAboveTarget reports whether a pod's use is above what the target says of a pod.
func (p *perPod) isAboveTarget(pod int, milli int64) bool {
	target := &p.spec.Target
	switch target.Type {
	case source.Utilization:
		if pod >= len(p.reading.Requests) {
			return false
		}
		request := &p.reading.Requests[pod]
		return request.Missing == RequestSet && float64(milli)*100 > float64(request.Milli)*float64(target.Percent)
	case source.AverageValue:
		return milli > target.Milli
	default:
		return false
	}
}
