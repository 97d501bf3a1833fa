package oracle

import (
	"fmt"
	"slices"
)

// expected are the hard places: a long run that misses one has not shown much.
// The conditions' reasons are all that upstream 1.37.1 knows.
func expected() []string {
	var all []string
	add := func(format string, values ...string) {
		for _, value := range values {
			all = append(all, fmt.Sprintf(format, value))
		}
	}
	add("branch %s", "AboveMax", "BelowMin", "Disabled", "Failed", "Metrics")
	add("condition AbleToScale False %s", "FailedGetScale", "FailedUpdateScale")
	add("condition AbleToScale True %s", "ReadyForNewScale", "ScaleDownStabilized", "ScaleUpStabilized",
		"SucceededGetScale", "SucceededRescale")
	add("condition ScalingActive False %s", "AmbiguousSelector", "FailedGetContainerResourceMetric",
		"FailedGetExternalMetric", "FailedGetObjectMetric",
		"FailedGetPodsMetric", "FailedGetResourceMetric", "InvalidMetricSourceType", "InvalidSelector", "ScalingDisabled")
	add("condition %s", "ScalingActive True ValidMetricFound", "ScalingLimited False DesiredWithinRange",
		"ScaledToZero False NotScaledToZero", "ScaledToZero True ScaledToZero")
	add("condition ScalingLimited True %s", "ScaleDownLimit", "ScaleUpLimit", "TooFewReplicas", "TooManyReplicas")
	add("event %s", "AmbiguousSelector", "FailedComputeMetricsReplicas", "FailedGetScale", "FailedRescale",
		"FailedUpdateStatus", "InvalidSelector",
		"SelectorRequired", "SuccessfulRescale")
	for _, kind := range []string{"ContainerResource", "External", "Object", "Pods", "Resource"} {
		add("metric "+kind+" %s", "failed", "scaled by ratio", "within tolerance")
	}
	for _, kind := range []string{"ContainerResource", "Pods", "Resource"} {
		add("metric "+kind+" %s", "kept: the change would be against the ratio's direction",
			"recomputed with missing and unready pods")
	}
	add("window %s with behavior", "ReadyForNewScale", "ScaleDownStabilized", "ScaleUpStabilized")
	add("window %s without behavior", "ReadyForNewScale", "ScaleDownStabilized")
	add("limit %s with behavior", "DesiredWithinRange", "ScaleDownLimit", "ScaleUpLimit", "TooFewReplicas",
		"TooManyReplicas")
	add("limit %s without behavior", "DesiredWithinRange", "ScaleUpLimit", "TooFewReplicas", "TooManyReplicas")
	for name := range (&Situation{}).happenings(&Result{}) {
		add("situation %s", name)
	}
	slices.Sort(all)
	return all
}

// Unreached are the hard places that a run has not touched.
func (t *Tally) Unreached() []string {
	return slices.DeleteFunc(expected(), func(place string) bool { return t.Reached[place] > 0 })
}
