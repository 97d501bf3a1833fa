package convert

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// legacyPrefix is the prefix of the annotations with the fields of v2 that version v1 of an HPA lacks.
const legacyPrefix = "autoscaling.alpha.kubernetes.io/"

// fromV1 converts the spec of version v1 to v2.
func (r *Result) fromV1(hpa *unstructured.Unstructured, spec map[string]any) (map[string]any, error) {
	for key := range hpa.GetAnnotations() {
		switch name, isLegacy := strings.CutPrefix(key, legacyPrefix); {
		case !isLegacy:
		case name == "metrics" || name == "behavior":
			return nil, fmt.Errorf("annotation %s: not read; migrate the object as autoscaling/v2", key)
		default:
			delete(r.WorkloadAutoscaler.Annotations, key)
		}
	}
	for _, name := range []string{"metrics", "behavior"} {
		if _, has := spec[name]; has {
			r.Lose("spec."+name, "autoscaling/v1 has no such field, so the API server ignores it; write autoscaling/v2")
			delete(spec, name)
		}
	}
	percent, has := spec["targetCPUUtilizationPercentage"]
	delete(spec, "targetCPUUtilizationPercentage")
	if has && percent != nil {
		spec["metrics"] = []any{map[string]any{
			"type": "Resource",
			"resource": map[string]any{
				"name": "cpu", "target": map[string]any{"type": "Utilization", "averageUtilization": percent},
			},
		}}
	}
	return spec, nil
}
