package explainer

import (
	"strings"
	"testing"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// An object that cannot be read has no workload: the explanation has the reason, as the controller logs it.
func TestUnreadableObjectSaysWhy(t *testing.T) {
	const why = "spec.resourcePolicy: 1e999999999 is out of bounds"
	for unreadable, want := range map[string]string{why: why, "": "names no workload"} {
		k := &snapshotvertical.Step{
			Object: &vpav1.VerticalPodAutoscaler{Unreadable: unreadable}, Snapshot: &snapshotvertical.Snapshot{},
		}
		if err := (&inputReader{}).workload(t.Context(), k); err != nil || !strings.Contains(k.Snapshot.Target.Problem, want) {
			t.Errorf("%v, %q", err, k.Snapshot.Target.Problem)
		}
	}
}
