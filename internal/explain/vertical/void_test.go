package vertical

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// TestVoidPolicies: policies for containers that no pod has are named, unless they leave the container out.
func TestVoidPolicies(t *testing.T) {
	k := known()
	k.Pods[0].Spec.InitContainers = []corev1.Container{{
		Name: "mesh", RestartPolicy: ptr.To(corev1.ContainerRestartPolicyAlways),
	}}
	k.Object.Spec.ResourcePolicy.ContainerPolicies = []vpav1.ContainerResourcePolicy{
		{ContainerName: "app"}, {ContainerName: "server"}, {ContainerName: "mesh"}, {ContainerName: "*"},
		{ContainerName: "proxy", Mode: ptr.To(vpav1.ContainerScalingModeOff)},
	}
	text := textOf(t, explainedBy(t, k, divergence.Default))
	for _, want := range []string{
		"the policy for server has no effect: no pod has such a container",
		"the policy for mesh has no effect: init containers are not sized",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "has no effect"); n != 2 {
		t.Errorf("%d policies have no effect, want 2:\n%s", n, text)
	}
	if k.Pods = nil; strings.Contains(textOf(t, explainedBy(t, k, divergence.Default)), "has no effect") {
		t.Error("without pods, no container is known to be absent")
	}
}

// TestContainerThatAdmissionDidNotSee: a pod whose container was injected after the admission does not request what is
// recommended, and the explanation says why nothing is changed.
func TestContainerThatAdmissionDidNotSee(t *testing.T) {
	k := known()
	recommended := &k.Object.Status.Recommendation.ContainerRecommendations
	side := (*recommended)[0]
	side.ContainerName = "side"
	*recommended = append(*recommended, side)
	for _, pod := range k.Pods {
		pod.Spec.Containers[0].Resources.Requests = resources("200m", "400Mi")
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "side"})
		pod.Status.ContainerStatuses = nil
		pod.Annotations = map[string]string{observevertical.AnnotationObserved: "app"}
	}
	text := textOf(t, explainedBy(t, k, divergence.Default))
	if want := "side memory: 400Mi published; no change by admission, which did not see the container"; !strings.Contains(
		text, want) || strings.Contains(text, "the pods request what is recommended") {
		t.Errorf("want %q:\n%s", want, text)
	}
}
