package recommender

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/world"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// Kubelets report impossible values of some pods, or none: each object has a condition for that, no recommendation
// follows from them, and sound values still count.
func TestBadSamples(t *testing.T) {
	t.Parallel()
	s := namespace(t)
	s.Create(harness.Workload{}.Deployment(), harness.Workload{}.Service(10))
	s.Create(harness.Workload{
		Name: "huge", Annotations: map[string]string{world.AnnotationMemoryBase: "2Pi"},
	}.Deployment(),
		harness.Workload{Name: "huge"}.Service(10))
	autoscaler(s, "web", "web", "")
	autoscaler(s, "huge", "huge", "")
	faults := map[string]kubelet.PodFault{
		"less-than-none": {Value: ptr.To(-5.0)}, "no-number": {Value: ptr.To(math.NaN())},
		"endless": {Value: ptr.To(math.Inf(1))}, "silent": {Missing: true},
	}
	for name := range faults {
		s.Create(harness.Workload{Name: name}.Deployment(), harness.Workload{Name: name}.Service(10))
		autoscaler(s, name, name, "")
	}
	for name := range faults {
		awaitCPU(s, name, 90, 160)
	}
	for name, fault := range faults {
		s.FaultPod(onlyPod(s, name), fault)
	}
	began := time.Now()

	// The memory of the huge one does not count, its CPU does.
	awaitCondition(s, "huge", "ImplausibleSamples", "no node could have produced")
	awaitEvent(s, "huge", "ImplausibleSamples")
	awaitCPU(s, "huge", 90, 160)
	if _, memory, err := target(t.Context(), s, "huge"); err != nil || memory > 1<<30 {
		t.Errorf("%d bytes are recommended of samples of 2Pi, %v", memory, err)
	}
	for name, fault := range faults {
		if !fault.Missing {
			awaitCondition(s, name, "ImplausibleSamples", "no node could have produced")
			awaitEvent(s, name, "ImplausibleSamples")
		}
	}
	s.SetLoad("web", 50)
	awaitCPU(s, "web", 450, 800)
	awaitCondition(s, "silent", "MetricsMissing", "pods run")
	awaitEvent(s, "silent", "MetricsMissing")
	t.Logf("the condition about missing metrics came %.0f s after the last samples", time.Since(began).Seconds())
	for name := range faults {
		cpu, memory, err := target(t.Context(), s, name)
		if err != nil || cpu < 90 || cpu > 160 || memory > 1<<30 {
			t.Errorf("%s is recommended %dm and %d bytes, %v", name, cpu, memory, err)
		}
	}
	lacks(s, "web", "ImplausibleSamples", "MetricsMissing")

	s.FaultPod(onlyPod(s, "silent"), kubelet.PodFault{})
	lacks(s, "silent", "MetricsMissing")
}

// onlyPod is the name of a workload's one pod.
func onlyPod(s *harness.Namespace, name string) (pod string) {
	s.Eventually(name+" has one pod", func(ctx context.Context) error {
		pods, err := s.Client.CoreV1().Pods(s.Name).List(ctx, metav1.ListOptions{LabelSelector: "app=" + name})
		if err == nil && len(pods.Items) != 1 {
			err = fmt.Errorf("there are %d", len(pods.Items))
		}
		if err == nil {
			pod = pods.Items[0].Name
		}
		return err
	})
	return pod
}

// lacks waits until none of these conditions is true.
func lacks(s *harness.Namespace, name string, conditions ...string) {
	s.Eventually(fmt.Sprintf("%s without %v", name, conditions), func(ctx context.Context) error {
		object, err := get(ctx, s, name)
		if err != nil {
			return err
		}
		for _, c := range object.Status.Conditions {
			for _, condition := range conditions {
				if string(c.Type) == condition && c.Status == corev1.ConditionTrue {
					return fmt.Errorf("it has %v", c)
				}
			}
		}
		return nil
	})
}
