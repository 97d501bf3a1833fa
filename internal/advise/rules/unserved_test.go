package rules

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/read/manifests"
)

// TestUnservedDuplicate: of two versions of an object the one that an API server takes counts, in whichever order they
// stand, and the other one is no second autoscaler.
func TestUnservedDuplicate(t *testing.T) {
	hpa := func(version, name string, most int) string {
		return fmt.Sprintf("{apiVersion: %s, kind: HorizontalPodAutoscaler, metadata: {name: %s}, spec: {maxReplicas: %d, "+
			"scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}\n---\n", version, name, most)
	}
	vpa := func(version, mode string) string {
		return fmt.Sprintf("{apiVersion: %s, kind: VerticalPodAutoscaler, metadata: {name: web}, spec: {targetRef: "+
			"{apiVersion: apps/v1, kind: Deployment, name: web}, updatePolicy: {updateMode: %s}}}\n---\n", version, mode)
	}
	for name, tt := range map[string]struct {
		text string
		most int32
		want []string
	}{
		"served first":  {hpa("autoscaling/v2", "web", 9) + hpa("autoscaling/v2beta2", "web", 4), 9, []string{"version-not-served"}},
		"served last":   {hpa("autoscaling/v2beta2", "web", 4) + hpa("autoscaling/v2", "web", 9), 9, []string{"version-not-served"}},
		"other fields":  {hpa("autoscaling/v2", "web", 9) + hpa("autoscaling/v2beta1", "web", 4), 9, []string{"version-not-served"}},
		"another name":  {hpa("autoscaling/v2", "web", 9) + hpa("autoscaling/v2beta2", "old", 4), 9, []string{"version-not-served"}},
		"its name last": {hpa("autoscaling/v2beta2", "old", 4) + hpa("autoscaling/v2", "web", 9), 4, []string{"version-not-served"}},
		"both unserved": {hpa("autoscaling/v2beta2", "old", 4) + hpa("autoscaling/v2beta2", "web", 9), 4,
			[]string{"version-not-served", "version-not-served", "two-autoscalers"}},
		"both served": {hpa("autoscaling/v1", "web", 4) + hpa("autoscaling/v2", "web", 9), 9, []string{"defined-twice"}},
		"a VPA":       {vpa("autoscaling.k8s.io/v1", "Initial") + vpa("autoscaling.k8s.io/v1beta2", "Auto"), 0, []string{"version-not-served"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := &objects.Collection{}
			manifests.Add(c, "two.yaml", strings.NewReader(tt.text))
			var got []string
			for _, f := range Run(c, All()).Findings {
				if slices.Contains([]string{"version-not-served", "two-autoscalers", "defined-twice", "update-mode-auto"}, f.Rule.Name) {
					got = append(got, f.Rule.Name)
				}
			}
			if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(tt.want))) {
				t.Errorf("found %q, want %q", got, tt.want)
			}
			if tt.most > 0 && c.Horizontals[0].Spec.MaxReplicas != tt.most {
				t.Errorf("maxReplicas %d, want %d", c.Horizontals[0].Spec.MaxReplicas, tt.most)
			}
		})
	}
}
