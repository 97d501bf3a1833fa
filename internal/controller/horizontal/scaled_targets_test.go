package horizontal

import (
	"slices"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// scales is an autoscaler of a Deployment, created so many seconds after the others.
func scales(kind observe.Kind, name, deployment string, created int64) observehorizontal.Autoscaler {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, CreationTimestamp: metav1.NewTime(time.Unix(created, 0)),
		},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
			APIVersion: "apps/v1", Kind: "Deployment", Name: deployment,
		}},
	}
	a := observehorizontal.HPA(hpa)
	if kind == observe.WorkloadAutoscaler {
		a.Workload = &plimsollv1alpha1.WorkloadAutoscaler{ObjectMeta: hpa.ObjectMeta}
	}
	return a
}

// A WorkloadAutoscaler must not act while its target has an HPA or an older WorkloadAutoscaler. Whoever may act because
// of a change is decided at once.
func TestRivals(t *testing.T) {
	s := newScaledTargets()
	old := scales(observe.WorkloadAutoscaler, "old", "web", 1)
	young := scales(observe.WorkloadAutoscaler, "young", "web", 2)
	same := scales(observe.WorkloadAutoscaler, "same", "web", 2)
	hpa := scales(observe.HorizontalPodAutoscaler, "hpa", "web", 3)
	wantRival := func(of observehorizontal.Autoscaler, want string) {
		t.Helper()
		rival, isThere := s.rivalOf(of.Key())
		if isThere != (want != "") || rival.Name != want {
			t.Errorf("the rival of %s is %q, want %q", of.Name, rival.Name, want)
		}
	}
	wantAffected := func(got []observe.Key, want ...string) {
		t.Helper()
		var names []string
		for _, key := range got {
			names = append(names, key.Name)
		}
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("decided again: %q, want %q", names, want)
		}
	}
	wantAffected(s.set(young))
	wantRival(young, "")
	// The older one may come later, as at a start.
	wantAffected(s.set(old), "young")
	wantRival(young, "old")
	wantRival(old, "")
	wantAffected(s.set(same), "old", "young")
	wantRival(same, "old")
	wantAffected(s.set(hpa), "old", "same", "young")
	for _, all := range []observehorizontal.Autoscaler{old, young, same} {
		wantRival(all, "hpa")
	}
	wantRival(scales(observe.WorkloadAutoscaler, "none", "web", 0), "")

	wantAffected(s.forget(hpa.Key()), "old", "same", "young")
	wantRival(old, "")
	// An HPA that turns to the target of another one concerns both.
	wantAffected(s.set(scales(observe.HorizontalPodAutoscaler, "hpa", "api", 3)))
	wantRival(old, "")
	wantAffected(s.set(hpa), "old", "same", "young")
	wantAffected(s.set(scales(observe.HorizontalPodAutoscaler, "hpa", "api", 3)), "old", "same", "young")
	// One that is created again is the youngest.
	wantAffected(s.set(scales(observe.WorkloadAutoscaler, "old", "web", 9)), "same", "same", "young", "young")
	wantRival(old, "same")
	wantRival(same, "")
	wantRival(young, "same")
	wantAffected(s.forget(same.Key()), "old", "young")
	wantRival(young, "")
}
