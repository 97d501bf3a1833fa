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

// TestParseTarget: workloads and pods are named as for kubectl.
func TestParseTarget(t *testing.T) {
	for args, want := range map[string]string{
		"deploy/web": "deployment", "deployment/web": "deployment", "deployments.apps/web": "deployment", "deploy web": "deployment",
		"sts/web": "statefulset", "Pod/web": "pod", "po web": "pod", "rollouts.argoproj.io/web": "rollout",
	} {
		kind, name, ok := ParseTarget(strings.Fields(args))
		if !ok || kind != want || name != "web" {
			t.Errorf("%s: %s %s, %v", args, kind, name, ok)
		}
	}
	for _, args := range []string{"", "web", "deploy/", "/web"} {
		if _, _, ok := ParseTarget(strings.Fields(args)); ok {
			t.Errorf("%q names an object", args)
		}
	}
}
