package scaling

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/world"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// Two Deployments have one selector. By labels the pods of both would count for both, and neither is scaled. By owner
// each has its own: the one whose pods are idle is scaled down, the other up.
func TestOwnPodsAlone(t *testing.T) {
	t.Parallel()
	o := objectsOf(t)
	idle := harness.Workload{Replicas: ptr.To[int32](2), Annotations: map[string]string{world.AnnotationIdleCPU: "20m"}}
	busy := idle
	busy.Name, busy.Annotations = "batch", map[string]string{world.AnnotationIdleCPU: "200m"}
	batch := busy.Deployment()
	batch.Spec.Selector.MatchLabels, batch.Spec.Template.Labels = idle.Labels(), idle.Labels()
	o.Create(idle.Deployment(), batch)
	changes := o.WatchChanges("web")
	for _, name := range []string{"web", "batch"} {
		hpa := harness.Autoscaler(name, harness.Resource(corev1.ResourceCPU, harness.Utilization(50)))
		hpa.Spec.Behavior, hpa.Spec.MaxReplicas = harness.DownAtOnce(), 3
		o.create(name, hpa, "")
	}
	for _, name := range []string{"web", "batch"} {
		o.awaitCondition(name, "ScalingActive", metav1.ConditionFalse, "AmbiguousSelector")
	}
	o.HoldsReplicas(patience, harness.Deployment, "web", 2)
	for _, name := range []string{"web", "batch"} {
		o.patch(name, `{"selectionStrategy":"OwnerReference"}`)
	}
	o.AwaitReplicas(harness.Deployment, "web", 1)
	o.AwaitReplicas(harness.Deployment, "batch", 3)
	for _, name := range []string{"web", "batch"} {
		o.awaitCondition(name, "ScalingActive", metav1.ConditionTrue, "ValidMetricFound")
	}
	o.HoldsReplicas(patience, harness.Deployment, "web", 1)
	byPlimsollAlone(t, changes)
}
