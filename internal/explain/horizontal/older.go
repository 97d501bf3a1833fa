package horizontal

import (
	"encoding/json"
	"fmt"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
)

// The minor versions of Kubernetes 1 from which HPAs behave as explained.
const (
	// containerSkipped is the first whose controller counts the other pods if one has no sample of a container.
	containerSkipped = 33
	// toleranceKept is the first whose API server keeps the tolerance of an HPA by default.
	toleranceKept = 35
	// zeroNoted is the first whose controller records in a condition that it has scaled to zero, and keeps a zero that
	// others set.
	zeroNoted = 36
	// zeroOn is the first in which both have the gate for that, HPAScaleToZero, on by default. In 1.36 the controller may
	// lack it while the API server has it: then it records nothing, and never scales up again.
	zeroOn = 37
)

// AddOlder describes where a cluster of an older version of Kubernetes treats the HPA differently from the explanation,
// which follows 1.37. It calls version only if something depends on it; an empty one is unknown, and adds nothing.
func (e *Explanation) AddOlder(hpa *autoscalingv2.HorizontalPodAutoscaler, server func() string) {
	if len(e.olderThan(hpa, 0, "")) == 0 {
		return
	}
	text := server()
	if parsed, err := version.ParseGeneric(text); err == nil && parsed.Major() == 1 {
		e.Older = e.olderThan(hpa, parsed.Minor(), text)
	}
}

func (e *Explanation) olderThan(hpa *autoscalingv2.HorizontalPodAutoscaler, minor uint, server string) []string {
	var notes []string
	if minor < toleranceKept && hasLostTolerance(hpa) {
		notes = append(notes, fmt.Sprintf("the tolerance that was applied is not stored: %s drops it, as an HPA can have "+
			"one from 1.%d on, or with the feature gate HPAConfigurableTolerance; a WorkloadAutoscaler can have one", server,
			toleranceKept))
	}
	isZero := e.Decision.Branch == horizontal.BranchDisabled && hpa.Spec.MinReplicas != nil && *hpa.Spec.MinReplicas == 0
	switch {
	case !isZero || notesZero(hpa):
	case e.Controller == Upstream && minor < zeroNoted:
		notes = append(notes, fmt.Sprintf("%s of %s may scale up from zero replicas whoever has set them; from 1.%d on it "+
			"does so only if it has scaled to zero itself, which is what is explained here", Upstream, server, zeroNoted))
	case e.Controller != Upstream && minor < zeroOn:
		notes = append(notes, fmt.Sprintf("if %s of %s has scaled to zero replicas, it has not noted that, as it does from "+
			"1.%d on: scale the target to 1, and Plimsoll decides again", Upstream, server, zeroOn))
	}
	if minor < containerSkipped && e.Controller == Upstream && usesContainers(hpa) {
		notes = append(notes, fmt.Sprintf("%s of %s fails a ContainerResource metric as a whole if one pod has no sample of "+
			"the container; from 1.%d on that pod counts as one without a sample, which is what is explained here", Upstream,
			server, containerSkipped))
	}
	return notes
}

// hasLostTolerance reports whether kubectl applied a tolerance that the HPA does not have.
func hasLostTolerance(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	type rules struct{ Tolerance json.RawMessage }
	var applied struct {
		Spec struct {
			Behavior struct{ ScaleUp, ScaleDown rules }
		}
	}
	if json.Unmarshal([]byte(hpa.Annotations[corev1.LastAppliedConfigAnnotation]), &applied) != nil {
		return false
	}
	stored := hpa.Spec.Behavior
	if stored == nil {
		stored = &autoscalingv2.HorizontalPodAutoscalerBehavior{}
	}
	isLost := func(applied rules, stored *autoscalingv2.HPAScalingRules) bool {
		return len(applied.Tolerance) > 0 && string(applied.Tolerance) != "null" && (stored == nil || stored.Tolerance == nil)
	}
	return isLost(applied.Spec.Behavior.ScaleUp, stored.ScaleUp) ||
		isLost(applied.Spec.Behavior.ScaleDown, stored.ScaleDown)
}

// notesZero reports whether the status records who has set zero replicas.
func notesZero(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	return slices.ContainsFunc(hpa.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
		return c.Type == autoscalingv2.ScaledToZero
	})
}

func usesContainers(hpa *autoscalingv2.HorizontalPodAutoscaler) bool {
	return slices.ContainsFunc(hpa.Spec.Metrics, func(m autoscalingv2.MetricSpec) bool {
		return m.Type == autoscalingv2.ContainerResourceMetricSourceType
	})
}
