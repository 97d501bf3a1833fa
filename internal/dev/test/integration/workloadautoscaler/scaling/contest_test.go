package scaling

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// An HPA has the target. The WorkloadAutoscaler does not act and names it, and begins by itself when it is gone.
func TestHPAHasTheTarget(t *testing.T) {
	t.Parallel()
	o := objectsOf(t)
	hpa := queue("10")
	hpa.Name = "first"
	o.Create(harness.Workload{}.Deployment(), harness.Queue("jobs", 35), hpa)
	changes := o.WatchChanges("web")
	o.AwaitReplicas(harness.Deployment, "web", 4)
	o.create("second", queue("5"), "")
	o.awaitCondition("second", "AbleToScale", metav1.ConditionFalse, "HorizontalPodAutoscaler")
	o.awaitCondition("second", "AbleToScale", metav1.ConditionFalse, "first")
	o.awaitOwnEvent("second", "first")
	o.HoldsReplicas(patience, harness.Deployment, "web", 4)
	err := o.Client.AutoscalingV2().HorizontalPodAutoscalers(o.Name).Delete(t.Context(), "first", metav1.DeleteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	o.AwaitReplicas(harness.Deployment, "web", 7)
	o.awaitCondition("second", "AbleToScale", metav1.ConditionTrue, "")
	want := []harness.Change{{From: 1, To: 4, By: upstream}, {From: 4, To: 7, By: plimsoll}}
	if all := changes.All(); !slices.Equal(all, want) {
		t.Errorf("%v, want %v", all, want)
	}
}

// If two WorkloadAutoscalers have one target, the older acts. The other names it, and begins when it is gone.
func TestTwoOnOneTarget(t *testing.T) {
	t.Parallel()
	o := objectsOf(t)
	o.Create(harness.Workload{}.Deployment(), harness.Queue("jobs", 35))
	changes := o.WatchChanges("web")
	// Objects of the same second count by their names.
	o.create("a", queue("10"), "")
	o.AwaitReplicas(harness.Deployment, "web", 4)
	o.create("b", queue("5"), "")
	o.awaitCondition("b", "AbleToScale", metav1.ConditionFalse, "WorkloadAutoscaler")
	o.HoldsReplicas(patience, harness.Deployment, "web", 4)
	o.awaitCondition("a", "AbleToScale", metav1.ConditionTrue, "")
	o.remove("a")
	o.AwaitReplicas(harness.Deployment, "web", 7)
	o.awaitCondition("b", "AbleToScale", metav1.ConditionTrue, "")
	want := []harness.Change{{From: 1, To: 4, By: plimsoll}, {From: 4, To: 7, By: plimsoll}}
	if all := changes.All(); !slices.Equal(all, want) {
		t.Errorf("%v, want %v", all, want)
	}
}

// In mode auto Plimsoll writes neither an HPA nor its target while the other loop is on: under changing load, and then
// while the other loop has nothing to write for much longer than the delay. Meanwhile it acts on a WorkloadAutoscaler
// with the same load.
func TestHPAsAreLeftToTheOtherLoop(t *testing.T) {
	t.Parallel()
	o := objectsOf(t)
	o.Create(harness.Workload{}.Deployment(), harness.Queue("jobs", 35), queue("10"))
	other := queue("10")
	other.Spec.ScaleTargetRef.Name = "own"
	o.Create(harness.Workload{Name: "own"}.Deployment())
	o.create("own", other, "")
	changes, own := o.WatchChanges("web"), o.WatchChanges("own")
	for _, load := range []struct {
		length int
		want   int64
	}{{35, 4}, {65, 7}, {15, 2}, {95, 10}, {55, 6}} {
		o.SetQueue("jobs", load.length)
		o.AwaitReplicas(harness.Deployment, "web", load.want)
		o.AwaitReplicas(harness.Deployment, "own", load.want)
	}
	o.HoldsReplicas(3*delay, harness.Deployment, "web", 6)
	byPlimsollAlone(t, own)
	for _, change := range changes.All() {
		if change.By != upstream {
			t.Errorf("%s scaled from %d to %d", change.By, change.From, change.To)
		}
	}
	hpa := o.HPA("web")
	for i := range hpa.ManagedFields {
		if hpa.ManagedFields[i].Manager == plimsoll {
			t.Errorf("Plimsoll has written the HPA: %v", hpa.ManagedFields[i].FieldsV1)
		}
	}
	if decisions := o.Decisions("web"); len(decisions) > 0 {
		t.Errorf("Plimsoll decided the HPA: %v", decisions)
	}
	for _, event := range o.Events("web", "") {
		if event.Source.Component == plimsoll || event.ReportingController == plimsoll {
			t.Errorf("event of Plimsoll: %s %s", event.Reason, event.Message)
		}
	}
}
