package scaling

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
)

// Another installation of Plimsoll, whose name comes second, leaves a WorkloadAutoscaler to the one that acts on it. It
// begins by itself when that one is gone, and leaves it again when it is back. The test is not parallel: it ends the
// program that the others need.
func TestTwoInstallations(t *testing.T) {
	o := objectsOf(t)
	o.Create(harness.Workload{}.Deployment(), harness.Queue("jobs", 35))
	changes := o.WatchChanges("web")
	o.create("web", queue("10"), "")
	o.AwaitReplicas(harness.Deployment, "web", 4)
	o.awaitCondition("web", "AbleToScale", metav1.ConditionTrue, "")
	// The first one counts as gone after five times this delay.
	program.StartInstance(t, "second", "--leader-elect=false", "--leader-elect-resource-name=second",
		"--horizontal-pod-autoscalers=ignore", "--horizontal-pod-autoscaler-takeover-delay=3s")
	for _, load := range []struct {
		length int
		want   int64
	}{{65, 7}, {15, 2}, {45, 5}} {
		o.SetQueue("jobs", load.length)
		o.AwaitReplicas(harness.Deployment, "web", load.want)
	}
	byPlimsollAlone(t, changes)

	program.Stop(t.Context())
	o.SetQueue("jobs", 85)
	o.AwaitReplicas(harness.Deployment, "web", 9)
	if all := changes.All(); all[len(all)-1].By != plimsoll+"/plimsoll-system/second" {
		t.Errorf("changes %v, want the last one by the other installation", all)
	}
	if err := start(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	// The first one needs its Lease before it writes, and the other one leaves the object only when it sees that write.
	long := false
	o.Eventually("a change of the count by the first one", func(context.Context) error {
		all := changes.All()
		if last := all[len(all)-1]; last.By != plimsoll {
			o.SetQueue("jobs", map[bool]int{false: 25, true: 65}[long])
			long = !long
			return fmt.Errorf("%s scaled last, to %d", last.By, last.To)
		}
		return nil
	})
	o.awaitOwnEvent("web", "plimsoll writes the status of this object too")
}
