package horizontal

import (
	"slices"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// TestPodsOfOthers: pods of a controller that the target cannot own are other workloads', also if they are most of the
// pods, or all, and in any order.
func TestPodsOfOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		target string
		// pods has the controller of each pod, as Kind/name.
		pods, want []string
	}{
		"one of a Job":           {"Deployment", []string{"ReplicaSet/web-5d4f", "ReplicaSet/web-5d4f", "Job/job"}, []string{"Job job"}},
		"most of a Job":          {"Deployment", []string{"Job/job", "Job/job", "ReplicaSet/web-5d4f"}, []string{"Job job", "Job job"}},
		"all of a Job":           {"Deployment", []string{"Job/job", "Job/job"}, []string{"Job job", "Job job"}},
		"two revisions":          {"Deployment", []string{"ReplicaSet/web-5d4f", "ReplicaSet/web-7c9b"}, nil},
		"of another Deployment":  {"Deployment", []string{"ReplicaSet/web-5d4f", "ReplicaSet/api-7c9b"}, []string{"ReplicaSet api-7c9b"}},
		"without a controller":   {"Deployment", []string{"ReplicaSet/web-5d4f", ""}, []string{"no controller"}},
		"controllers not known":  {"Deployment", []string{"", ""}, nil},
		"adopted":                {"Deployment", []string{"ReplicaSet/old-5d4f", "ReplicaSet/old-5d4f", "Job/job"}, []string{"Job job"}},
		"kind in lower case":     {"statefulset", []string{"StatefulSet/web", "Job/job"}, []string{"Job job"}},
		"a custom resource":      {"Rollout", []string{"ReplicaSet/web-5d4f", "Job/job"}, []string{"Job job"}},
		"a custom resource's":    {"Fleet", []string{"Fleet/web", "Fleet/web", "Job/job"}, []string{"Job job"}},
		"a custom one, unknown":  {"Fleet", []string{"GameServer/a", "GameServer/b"}, nil},
		"a StatefulSet's, alone": {"Deployment", []string{"StatefulSet/web"}, []string{"StatefulSet web"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := Result{Step: &snapshothorizontal.Step{HPA: &autoscalingv2.HorizontalPodAutoscaler{
				Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
					ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: tt.target, Name: "web"},
				},
			}}}
			var counted metric.Result
			for i, by := range tt.pods {
				pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: string(rune('a' + i))}}
				if kind, controller, has := strings.Cut(by, "/"); has {
					pod.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: controller, Controller: ptr.To(true)}}
				}
				r.Step.Pods = append(r.Step.Pods, pod)
				r.Observation.Pods = append(r.Observation.Pods, metric.Pod{Name: pod.Name})
				counted.Groups = append(counted.Groups, metric.Counted)
			}
			var got []string
			for _, other := range r.podsOfOthers(&counted) {
				got = append(got, other.Controller)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestReplicasThatDoNotCount: the explanation has the reason why replicas do not count.
func TestReplicasThatDoNotCount(t *testing.T) {
	for want, n := range map[string]metric.Counts{
		"2 of 3 replicas do not exist (yet); the 1 pod that counts asks for 2": {Counted: 1},
		"2 of 3 replicas do not count: pods that failed, finished or are being deleted; the 1 pod that counts asks for 2": {
			Counted: 1, Ignored: 2},
		"2 of 3 replicas do not count: pods that failed, finished or are being deleted, and some that do not exist (yet); " +
			"the 1 pod that counts asks for 2": {Counted: 1, Ignored: 1},
	} {
		r := Result{}
		r.Decision.Current = 3
		if got := r.fewerPodsText(&metric.Result{Groups: []metric.Group{metric.Counted}, Counts: n, Ratio: 2}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
