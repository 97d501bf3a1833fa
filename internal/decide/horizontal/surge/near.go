package surge

import (
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// IsNear reports whether a metric of the pods that Plimsoll scrapes has come halfway through the tolerance above its
// target, or further. The results belong to the specs, index for index.
func IsNear(specs []source.Spec, results []metric.Result, tolerance metric.Tolerance) bool {
	for i := range results {
		r, kind := &results[i], specs[i].Type
		if r.Failure == nil && kind.IsPerPod() && kind != source.Pods && r.Ratio > 1+tolerance.Up/2 {
			return true
		}
	}
	return false
}
