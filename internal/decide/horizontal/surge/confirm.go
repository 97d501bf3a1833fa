package surge

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

// Confirm notes for each metric of CPU whether pods that have just become ready, and do not count yet, show that the
// load is still there: samples of the pods that count may be 20 s old. A pod shows it if it was ready during its newest
// interval, and used more than it is to use.
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
	r := &in.Results[i]
	for pod, group := range r.Groups {
		if group != metric.Unready || in.lacks(i, pod) {
			continue
		}
		newest := &in.Readings[i].Recent[pod][0]
		if !newest.At.After(r.Confirmed) || !shares(&in.Context.Pods[pod], newest) {
			continue
		}
		if float64(newest.Milli) > in.wanted(i, pod) {
			r.Confirmed = newest.At
		}
	}
}
