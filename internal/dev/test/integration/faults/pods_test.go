package faults

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/parts"
)

// One container of each pod has no request, which a target in percent of the request needs.
func TestMissingRequest(t *testing.T) {
	t.Parallel()
	s := shared.Namespace(t)
	sidecar := harness.Container("sidecar", "100m", "64Mi")
	sidecar.Resources = corev1.ResourceRequirements{}
	w := harness.Workload{
		Replicas: ptr.To[int32](2), Containers: []corev1.Container{harness.Container("app", "100m", "64Mi"), sidecar},
	}
	// 350m over two pods, which request 100m for one container.
	s.Create(w.Deployment(), w.Service(35))
	awaitMeasured(s, 2)
	s.Create(harness.Autoscaler("web", harness.Resource(corev1.ResourceCPU, harness.Utilization(50))))
	o := ordeal{
		condition: inactive("FailedGetResourceMetric"),
		words:     []string{"missing request for cpu in container sidecar of Pod web-", "failed to get cpu utilization"},
	}
	s.AwaitHPA("web", "the symptom", o.shown)
	record := s.WatchCounts("web")
	if event := s.AwaitEvent("web", "FailedGetResourceMetric", o.words[0]); event.Type != corev1.EventTypeWarning {
		t.Errorf("event of type %s", event.Type)
	}
	s.AwaitDecisions("web", 3)
	wantCounts(t, record, 2)

	patch := `{"spec":{"template":{"spec":{"containers":[{"name":"sidecar","resources":{"requests":{"cpu":"100m"}}}]}}}}`
	_, err := s.Client.AppsV1().Deployments(s.Name).Patch(t.Context(), "web", types.StrategicMergePatchType, []byte(patch),
		metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// 350m are 175 % of what the two request; 50 % are wanted: that takes 3.5 pods of 200m.
	s.AwaitReplicas(harness.Deployment, "web", 4)
	awaitFine(s, "web")
}

// metrics-server turns a NaN in a kubelet's text into a number: 2^63 nanoseconds or bytes on amd64, 0 on arm64, where
// it leaves the pod out. Nothing may be scaled on either.
func TestKubeletSaysNaN(t *testing.T) {
	t.Parallel()
	for name, lie := range map[string]float64{"NaN": math.NaN(), "infinity": math.Inf(1), "negative": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kubeletLies(t, lie)
		})
	}
}

func kubeletLies(t *testing.T, lie float64) {
	s := shared.Namespace(t)
	// Each pod is at 75 % of its request and of its target, and the memory is as the model has it.
	w := harness.Workload{Replicas: ptr.To[int32](2)}
	hpa := harness.Autoscaler("web", harness.Resource(corev1.ResourceCPU, harness.Utilization(75)))
	s.Create(w.Deployment(), w.Service(15))
	awaitMeasured(s, 2)
	s.Create(hpa)
	awaitFine(s, "web")
	record := s.WatchCounts("web")

	pods, err := s.Client.CoreV1().Pods(s.Name).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	liar := pods.Items[0].Name
	s.FaultPod(liar, kubelet.PodFault{Value: &lie})
	if runtime.GOARCH == "amd64" {
		o := ordeal{
			condition: inactive("FailedGetResourceMetric"), words: []string{"implausible value of container app", liar, "cpu"},
		}
		s.AwaitHPA("web", "the symptom", o.shown)
		if event := s.AwaitEvent("web", "FailedGetResourceMetric", "implausible"); event.Type != corev1.EventTypeWarning {
			t.Errorf("event of type %s", event.Type)
		}
	}
	// Two scrapes in a row with the same lie are no use at all.
	awaitPodMetrics(s, liar, "a second scrape of the lie", func(cpu resource.Quantity) bool { return cpu.IsZero() })
	s.AwaitDecisions("web", 3)
	wantCounts(t, record, 2)

	s.FaultPod(liar, kubelet.PodFault{})
	awaitFine(s, "web")
	s.SetLoad("web", 27)
	s.AwaitReplicas(harness.Deployment, "web", 4) // 270m at 75m each
	awaitFine(s, "web")
}

// awaitMeasured waits until metrics-server has metrics of that many pods. Objects that are created before fail until
// then, and their events count against the API clients' own limit.
func awaitMeasured(s *harness.Namespace, pods int) {
	s.Eventually("metrics of the pods", func(ctx context.Context) error {
		list, err := parts.PodMetrics(ctx, s.Cluster, s.Name)
		if err == nil && len(list.Items) < pods {
			err = fmt.Errorf("metrics of %d pods", len(list.Items))
		}
		return err
	})
}

// awaitPodMetrics waits until metrics-server's CPU of a pod is as expected; a missing value is 0.
func awaitPodMetrics(s *harness.Namespace, name, what string, is func(cpu resource.Quantity) bool) {
	s.Eventually(what, func(ctx context.Context) error {
		list, err := parts.PodMetrics(ctx, s.Cluster, s.Name)
		if err != nil {
			return err
		}
		var cpu resource.Quantity
		for _, pod := range list.Items {
			if pod.Name == name && len(pod.Containers) > 0 {
				cpu = pod.Containers[0].Usage[corev1.ResourceCPU]
			}
		}
		if !is(cpu) {
			return fmt.Errorf("metrics-server says %v", list.Items)
		}
		return nil
	})
}
