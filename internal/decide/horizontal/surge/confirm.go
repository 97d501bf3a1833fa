package surge

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/arithmetic"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// Confirm notes for each metric of CPU whether pods that have just become ready, and do not count yet, show that the
// load is still there: samples of the pods that count may be 20 s old. A pod shows it if it was ready during its newest
// interval, and used more than it is to use. Its start uses CPU, too, and is no sign that the load is still what old
// samples say: it shows what that load takes if each pod that is ready has as much of it.
func (in *Input) Confirm() {
	if !in.Context.Divergences.Has(divergence.RecentlyReady) {
		return
	}
	for i := range in.Results {
		if in.Results[i].Counts.Unready > 0 && in.Specs[i].IsCPU() && in.isSeen(i) {
			in.confirm(i)
		}
	}
}

func (in *Input) confirm(i int) {
	r, most, ready := &in.Results[i], 0.0, 0
	for pod, group := range r.Groups {
		if isReady(&in.Context.Pods[pod]) {
			ready++
		}
		newest := &in.Readings[i].Recent[pod][0]
		if group != metric.Unready || in.lacks(i, pod) || !shares(&in.Context.Pods[pod], newest) {
			continue
		}
		wanted := in.wanted(i, pod)
		if !(wanted > 0) || float64(newest.Milli) <= wanted {
			continue
		}
		if most = max(most, float64(newest.Milli)/wanted); newest.At.After(r.Confirmed) {
			r.Confirmed = newest.At
		}
	}
	r.ConfirmedReplicas = arithmetic.Saturate.Ceil32(most * float64(ready))
}
