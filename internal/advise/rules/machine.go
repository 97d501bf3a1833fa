package rules

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

// From this many CPUs on, and this many times the request, a pod does not use so much.
const (
	manyCPUs     = 64
	manyRequests = 100
)

// beyondMachine compares the target of containers without limits with what they request; false if it can be exceeded,
// or that is not known. Nodes do not count: larger ones may come.
func beyondMachine(
	c *objects.Collection, h *objects.Horizontal, w *objects.Workload, t resourceTarget,
) (Finding, bool) {
	value := t.target.AverageValue
	if value == nil {
		return Finding{}, false
	}
	target := value.AsApproximateFloat64()
	f := Finding{Object: &h.Object, Field: t.field.In("target", "averageValue")}
	request, known := requested(c, w, t)
	if t.name != corev1.ResourceCPU || !known || target < manyCPUs ||
		target < manyRequests*request.AsApproximateFloat64() {
		return Finding{}, false
	}
	f.Why = fmt.Sprintf("Pods that request %s of cpu use no such amount; scaling up begins %.4g %% beyond %s%s.",
		request.String(), toleranceOf(h), value.String(), unitHint(t.name, value, request))
	f.Remedy = "Name how much one pod should use."
	return f, true
}
