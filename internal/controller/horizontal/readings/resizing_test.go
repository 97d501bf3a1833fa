package readings_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	controllerhorizontal "github.com/plimsoll-dev/plimsoll/internal/controller/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/horizontaltest"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// resize raises the requests of all pods in place. The kubelet reports what the containers have.
func (w *world) resize(name, has string) {
	w.T.Helper()
	requests := func(cpu string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	pods := w.Pods("shop")
	for i := range pods {
		pod := pods[i].DeepCopy()
		if pod.Labels["app"] != name {
			continue
		}
		pod.Spec.Containers[0].Resources.Requests = requests("800m")
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "web", Resources: &corev1.ResourceRequirements{Requests: requests(has)},
		}}
		w.Store(horizontaltest.PodResource, pod)
	}
}

// TestPendingResizeIsNoLessLoad: a resize in place for which the nodes have no room yet removes no pods, whether an HPA
// or a WorkloadAutoscaler scales. Once it is done, fewer of the larger pods are needed. Upstream removes pods at once.
func TestPendingResizeIsNoLessLoad(t *testing.T) {
	for _, kind := range []string{"HPA", "WorkloadAutoscaler"} {
		for set, whilePending := range map[divergence.Set]int32{
			divergence.Default: 4, divergence.Default &^ divergence.ActuatedRequests: 1,
		} {
			t.Run(kind+" "+set.String(), func(t *testing.T) {
				inWorld(t, func(_ *testing.T, w *world) {
					api := w.Workloads()
					w.Set(func() { w.Usage = 100 })
					if hpa := w.Web("web", 4); kind == "HPA" {
						w.AddHPA(hpa)
					} else {
						api.Put(horizontaltest.WorkloadOf(hpa))
					}
					w.Start(api.Serve, func(c *controllerhorizontal.Config) { c.Options.Divergences = set })
					w.Pass(time.Minute)
					w.WantReplicas("web", 4, "half of the request is the target")
					w.resize("web", "200m")
					w.Pass(10 * time.Minute)
					w.WantReplicas("web", whilePending, "the containers have what they had")
					w.resize("web", "800m")
					w.Pass(10 * time.Minute)
					w.WantReplicas("web", 1, "an eighth of the request is a quarter of the target")
				})
			})
		}
	}
}
