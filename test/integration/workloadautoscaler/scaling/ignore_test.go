package scaling

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/test/integration/harness"
)

// With --horizontal-pod-autoscalers=ignore HPAs are left alone also where no other loop is on. WorkloadAutoscalers are
// not.
func TestIgnoresHPAs(t *testing.T) {
	o := objectsOf(t)
	loop := func(flags ...string) {
		t.Helper()
		if err := o.Cluster.RestartControllerManager(t.Context(), append(flags, often)...); err != nil {
			t.Fatal(err)
		}
	}
	program.Stop(t.Context())
	loop("--controllers=*,-horizontal-pod-autoscaler-controller")
	if err := program.Start(t.Context(), "--horizontal-pod-autoscalers=ignore"); err != nil {
		t.Fatal(err)
	}
	other := queue("10")
	other.Name, other.Spec.ScaleTargetRef.Name = "other", "other"
	o.Create(harness.Workload{}.Deployment(), harness.Workload{Name: "other"}.Deployment(), harness.Queue("jobs", 35),
		other)
	o.create("web", queue("10"), "")
	o.AwaitReplicas(harness.Deployment, "web", 4)
	o.HoldsReplicas(2*time.Second, harness.Deployment, "other", 1)
	if status := o.HPA("other").Status; len(status.Conditions) > 0 {
		t.Errorf("the HPA was decided: %v", status.Conditions)
	}
	program.Stop(t.Context())
	loop("--controllers=*")
	o.AwaitReplicas(harness.Deployment, "other", 4)
	if err := program.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}
