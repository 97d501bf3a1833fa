package scaling

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// patience is how long a count must stay: several decisions of both controllers.
const patience = 5 * time.Second

// A WorkloadAutoscaler on CPU scales up under rising load, and its status has the reason.
func TestScalesUpUnderRisingLoad(t *testing.T) {
	t.Parallel()
	o := objectsOf(t)
	o.Create(harness.Workload{}.Deployment(), harness.Workload{}.Service(4))
	changes := o.WatchChanges("web")
	o.create("web", harness.Autoscaler("web", harness.Resource(corev1.ResourceCPU, harness.Utilization(50))), "")
	o.awaitCondition("web", "ScalingActive", metav1.ConditionTrue, "ValidMetricFound")
	o.SetLoad("web", 17.5) // 175m over 50 % of 100m
	o.AwaitReplicas(harness.Deployment, "web", 4)
	o.awaitOwnEvent("web", `metric "cpu" above target`)
	o.await("web", "4 replicas and why", func(s *plimsollv1alpha1.WorkloadAutoscalerStatus) error {
		if s.CurrentReplicas != 4 || s.DesiredReplicas != 4 || s.LastScaleTime == nil || s.ObservedGeneration == nil {
			return fmt.Errorf("%d of %d", s.CurrentReplicas, s.DesiredReplicas)
		}
		if s.Summary == nil || s.Summary.Reason == "" || s.Summary.Metrics == "" || len(s.Metrics) != 1 ||
			s.Metrics[0].Replicas == nil || s.LastScaleDecision == nil {
			return fmt.Errorf("no summary, no metrics or no decision")
		}
		return hasCondition(s, "Ready", metav1.ConditionTrue, "Active")
	})
	byPlimsollAlone(t, changes)
}

// Preview shows the decision and writes no scale. One patch activates it. Paused holds, and paused.replicas sets.
func TestModes(t *testing.T) {
	t.Parallel()
	o := objectsOf(t)
	o.Create(harness.Workload{}.Deployment(), harness.Queue("jobs", 35))
	changes := o.WatchChanges("web")
	o.create("web", queue("10"), `{"mode":"Preview"}`)
	o.awaitDesired("web", 1, 4)
	o.awaitCondition("web", "Ready", metav1.ConditionTrue, "Preview")
	o.HoldsReplicas(patience, harness.Deployment, "web", 1)
	if all := changes.All(); len(all) > 0 {
		t.Fatalf("in Preview: %v", all)
	}
	o.patch("web", `{"mode":"Active"}`)
	o.AwaitReplicas(harness.Deployment, "web", 4)
	o.awaitCondition("web", "Ready", metav1.ConditionTrue, "Active")

	o.patch("web", `{"mode":"Paused"}`)
	o.awaitCondition("web", "Ready", metav1.ConditionTrue, "Paused")
	o.SetQueue("jobs", 65)
	o.awaitDesired("web", 4, 7) // the count that it would have set
	o.HoldsReplicas(patience, harness.Deployment, "web", 4)
	o.patch("web", `{"paused":{"replicas":2}}`)
	o.AwaitReplicas(harness.Deployment, "web", 2)
	o.HoldsReplicas(patience, harness.Deployment, "web", 2)
	o.patch("web", `{"mode":"Active","paused":null}`)
	o.AwaitReplicas(harness.Deployment, "web", 7)
	byPlimsollAlone(t, changes)
}

// A schedule raises the fewest replicas while it is in force, and no longer.
func TestSchedule(t *testing.T) {
	t.Parallel()
	o := objectsOf(t)
	o.Create(harness.Workload{}.Deployment(), harness.Queue("jobs", 5))
	changes := o.WatchChanges("web")
	o.create("web", queue("10"),
		`{"schedules":[{"name":"always","start":"* * * * *","durationSeconds":60,"minReplicas":3}]}`)
	o.AwaitReplicas(harness.Deployment, "web", 3)
	o.await("web", "the schedule", func(s *plimsollv1alpha1.WorkloadAutoscalerStatus) error {
		if len(s.ActiveSchedules) != 1 || s.ActiveSchedules[0].Name != "always" {
			return fmt.Errorf("schedules %v", s.ActiveSchedules)
		}
		if least := ptr.Deref(s.EffectiveMinReplicas, 0); least != 3 {
			return fmt.Errorf("at least %d replicas", least)
		}
		return hasCondition(s, "ScheduleActive", metav1.ConditionTrue, "always")
	})
	o.patch("web", `{"schedules":null}`)
	o.AwaitReplicas(harness.Deployment, "web", 1)
	o.awaitCondition("web", "ScheduleActive", metav1.ConditionFalse, "")
	want := []harness.Change{{From: 1, To: 3, By: plimsoll}, {From: 3, To: 1, By: plimsoll}}
	if all := changes.All(); !slices.Equal(all, want) {
		t.Errorf("%v, want %v", all, want)
	}
}

// Each sample of config/samples is stored as kubectl applies it, and the controller decides on it, though what it names is
// not there.
func TestSamples(t *testing.T) {
	t.Parallel()
	o := objectsOf(t)
	const folder = "../../../../../../config/samples"
	samples, err := filepath.Glob(folder + "/*.yaml")
	if err != nil || len(samples) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	o.Kubectl("apply", "--validate=strict", "-f", folder)
	o.Kubectl("wait", "wla", "--all", "--for=jsonpath={.status.observedGeneration}=1", "--timeout=60s")
	names := strings.Fields(o.Kubectl("get", "wla", "-o", `jsonpath={.items[?(@.status.summary.reason!="")].metadata.name}`))
	if len(names) != len(samples) {
		t.Errorf("%d of %d samples have a reason in status: %v", len(names), len(samples), names)
	}
}
