package flags

import (
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// TestParseAutoscaler: objects are named as for kubectl.
func TestParseAutoscaler(t *testing.T) {
	for args, want := range map[string]observe.Kind{
		"hpa/web": observe.HorizontalPodAutoscaler, "HorizontalPodAutoscalers web": observe.HorizontalPodAutoscaler,
		"wla/web": observe.WorkloadAutoscaler, "workloadautoscaler/web": observe.WorkloadAutoscaler,
		"wla.plimsoll.dev/web": observe.WorkloadAutoscaler, "workloadautoscalers.plimsoll.dev web": observe.WorkloadAutoscaler,
		"vpa/web": observe.VerticalPodAutoscaler, "verticalpodautoscalers.autoscaling.k8s.io/web": observe.VerticalPodAutoscaler,
	} {
		kind, name, err := ParseAutoscaler(strings.Fields(args))
		if err != nil || kind != want || name != "web" {
			t.Errorf("%s: %s %s, %v", args, kind, name, err)
		}
	}
	for _, args := range []string{"", "web", "deployment/web", "wla/", "wla"} {
		if _, _, err := ParseAutoscaler(strings.Fields(args)); err == nil {
			t.Errorf("%q names an object", args)
		}
	}
}
