package vertical

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/resize"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// TestRest: beside the pods that the next pass changes, the sentence has what the others are. Those whose nodes refuse
// the resize come first: they wait for nothing.
func TestRest(t *testing.T) {
	const because = "because app requests cpu 50m, less than the lower bound of 150m."
	refuse := func(s *snapshotvertical.Step, names ...string) {
		inPlace(s, vpav1.UpdateModeInPlace)
		s.Snapshot.Flags = map[string]string{"updater-feature-gates.InPlace": "true"}
		s.Snapshot.Updater = updater()
		s.Snapshot.Updater.Requested = map[string]vertical.Amounts{"node": vertical.Amounts{}.With(vertical.CPU, 150)}
		for _, name := range names {
			s.Snapshot.Updater.State.Resize.Infeasible[name] = resize.InfeasibleResize{
				Targets: map[string]vertical.Amounts{"app": vertical.Amounts{}.With(vertical.CPU, 200)},
				Room:    vertical.Amounts{}.With(vertical.CPU, 1000).With(vertical.Memory, 4<<30),
			}
		}
	}
	fine := resources("200m", "400Mi")
	for want, change := range map[string]func(*snapshotvertical.Step){
		"; the next pass changes 1 of 3 pods (the 2 others wait for their turn): web-1 would be evicted, " +
			because: func(*snapshotvertical.Step) {},
		"; the next pass changes 1 of 3 pods (1 waits for its turn, 1 needs no change): web-1 would be evicted, " +
			because: func(s *snapshotvertical.Step) { requesting(fine)(s.Pods[1]) },
		"; the next pass changes 1 of 3 pods (the 2 others need no change): web-1 would be evicted, " +
			because: func(s *snapshotvertical.Step) { requesting(fine)(s.Pods[1]); requesting(fine)(s.Pods[2]) },
		"; the next pass changes 1 of 2 pods (the other needs no change): web-1 would be resized in place, " +
			because: func(s *snapshotvertical.Step) {
			refuse(s)
			s.Pods, s.Snapshot.Target.Replicas = s.Pods[:2], 2
			requesting(fine)(s.Pods[1])
		},
		"; node node cannot do the resize of web-2 (infeasible), which keeps cpu 50m and memory 400Mi until the " +
			"recommendation falls or the node has more room; the next pass changes 1 of 2 pods: web-1 would be resized in " +
			"place, " + because: func(s *snapshotvertical.Step) {
			refuse(s, "web-2")
			s.Pods, s.Snapshot.Target.Replicas = s.Pods[:2], 2
		},
		"; nodes cannot do the resizes of 3 pods (infeasible), such as web-1 on node node, which keeps its requests until " +
			"the recommendation falls or the node has more room.": func(s *snapshotvertical.Step) {
			refuse(s, "web-1", "web-2", "web-3")
			for _, p := range s.Pods {
				p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "log"})
			}
		},
	} {
		step := poor()
		change(step)
		if got := explainedBy(t, step, divergence.Default).Summary(); !strings.HasSuffix(got, "for container app"+want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
