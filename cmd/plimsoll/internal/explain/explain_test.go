package explain

import (
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// TestSubject: objects are named as for kubectl.
func TestSubject(t *testing.T) {
	for args, want := range map[string]observe.Kind{
		"hpa/web": observe.HorizontalPodAutoscaler, "HorizontalPodAutoscalers web": observe.HorizontalPodAutoscaler,
		"wla/web": observe.WorkloadAutoscaler, "workloadautoscaler/web": observe.WorkloadAutoscaler,
		"wla.plimsoll.dev/web": observe.WorkloadAutoscaler, "workloadautoscalers.plimsoll.dev web": observe.WorkloadAutoscaler,
		"vpa/web": observe.VerticalPodAutoscaler, "verticalpodautoscalers.autoscaling.k8s.io/web": observe.VerticalPodAutoscaler,
	} {
		got, err := subjectOf(strings.Fields(args))
		if err != nil || got.kind != want || got.name != "web" {
			t.Errorf("%s: %+v, %v", args, got, err)
		}
	}
	for _, args := range []string{"", "web", "deployment/web", "wla/", "wla"} {
		if _, err := subjectOf(strings.Fields(args)); err == nil {
			t.Errorf("%q names an object", args)
		}
	}
}
