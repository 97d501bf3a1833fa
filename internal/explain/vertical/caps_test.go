package vertical

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// requestsOnly sets the policy to leave the pods' limits unchanged.
func requestsOnly(s *snapshotvertical.Step) {
	s.Object.Spec.ResourcePolicy.ContainerPolicies[0].ControlledValues = ptr.To(vpav1.ContainerControlledValuesRequestsOnly)
}

// TestCapsAreNamed: if a pod's requests differ from the recommendation because of a bound, the explanation names the
// bound.
func TestCapsAreNamed(t *testing.T) {
	const cpu, memory = corev1.ResourceCPU, corev1.ResourceMemory
	for why, c := range map[string]struct {
		change func(s *snapshotvertical.Step)
		want   string
	}{
		"the limit of a container": {func(s *snapshotvertical.Step) {
			requestsOnly(s)
			for _, pod := range s.Pods {
				r := &pod.Spec.Containers[0].Resources
				r.Requests, r.Limits = resources("200m", "100Mi"), corev1.ResourceList{memory: resources("1", "100Mi")[memory]}
			}
		}, "app memory: 400Mi published; 100Mi by the container's limit, which stays (controlledValues RequestsOnly)"},
		"a LimitRange of containers": {func(s *snapshotvertical.Step) {
			for _, pod := range s.Pods {
				pod.Spec.Containers[0].Resources.Requests = resources("50m", "400Mi")
				pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{cpu: resources("500m", "1Gi")[cpu]}
			}
			s.Ranges = rangeOf(corev1.LimitTypeContainer, corev1.ResourceList{cpu: resources("500m", "1Gi")[cpu]})
		}, "app cpu: 200m published; 50m by the max of a LimitRange of containers"},
		"a LimitRange of pods": {func(s *snapshotvertical.Step) {
			for _, pod := range s.Pods {
				pod.Spec.Containers[0].Resources.Requests = resources("200m", "300Mi")
			}
			s.Ranges = rangeOf(corev1.LimitTypePod, corev1.ResourceList{memory: resources("1", "300Mi")[memory]})
		}, "app memory: 400Mi published; 300Mi by a LimitRange of pods"},
		"the resources of the pod": {func(s *snapshotvertical.Step) {
			for _, pod := range s.Pods {
				pod.Spec.Containers[0].Resources.Requests = resources("200m", "250Mi")
				pod.Spec.Resources = &corev1.ResourceRequirements{Requests: resources("200m", "250Mi")}
			}
		}, "app memory: 400Mi published; 250Mi by the pod's own resources"},
		"the policy since": {func(s *snapshotvertical.Step) {
			s.Object.Spec.ResourcePolicy.ContainerPolicies[0].MaxAllowed = resources("100m", "1Gi")
			for _, pod := range s.Pods {
				pod.Spec.Containers[0].Resources.Requests = resources("100m", "400Mi")
			}
		}, "app cpu: 200m published; 100m by maxAllowed"},
	} {
		step := known()
		c.change(step)
		e := explainedBy(t, step, divergence.Default)
		for i := range e.Update.Pods {
			said := strings.Join(e.PodSentences(&e.Update.Pods[i]), "\n")
			if !strings.Contains(said, c.want) || strings.Contains(said, "the pods request what is recommended") {
				t.Errorf("%s: %s\nlacks %s", why, said, c.want)
			}
		}
		if out := e.Output(); len(out.Pods) == 0 || len(out.Pods[0].Caps) == 0 || out.Pods[0].BlockedBy != "Capped" {
			t.Errorf("%s: as JSON %+v", why, out.Pods)
		}
	}
}

func rangeOf(kind corev1.LimitType, most corev1.ResourceList) []*corev1.LimitRange {
	return []*corev1.LimitRange{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "limits"},
		Spec:       corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: kind, Max: most}}},
	}}
}

// TestUnknownBounds: an unpublished bound is not 0, and neither is a value that was never measured.
func TestUnknownBounds(t *testing.T) {
	step := known()
	c := &step.Object.Status.Recommendation.ContainerRecommendations[0]
	c.LowerBound, c.UpperBound = nil, nil
	for _, checkpoint := range step.Checkpoints {
		checkpoint.Status.CPUHistogram = vpav1.HistogramCheckpoint{}
	}
	e := explainedBy(t, step, divergence.Default)
	if text := textOf(t, e); !strings.Contains(text, "lower bound none, upper bound none") {
		t.Errorf("bounds that are not there are printed:\n%s", text)
	}
	for _, c := range e.Output().Containers {
		if cpu := c.Resources[0]; !cpu.Unmeasured || cpu.Bounds != nil {
			t.Errorf("CPU of %s without a sample is %+v", c.Name, cpu)
		}
	}
}
