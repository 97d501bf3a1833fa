package horizontal

import (
	"fmt"
	"slices"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/kube/targets"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// scales returns an autoscaler of a Deployment, created so many seconds after the others.
func scales(kind observe.Kind, name, deployment string, created int64) observehorizontal.Autoscaler {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, CreationTimestamp: metav1.NewTime(time.Unix(created, 0)),
		},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
			APIVersion: "apps/v1", Kind: "Deployment", Name: deployment,
		}},
	}
	if kind == observe.HorizontalPodAutoscaler {
		return observehorizontal.HPA(hpa)
	}
	wla := &plimsollv1alpha1.WorkloadAutoscaler{ObjectMeta: hpa.ObjectMeta}
	wla.Spec.ScaleTargetRef = plimsollv1alpha1.CrossVersionObjectReference(hpa.Spec.ScaleTargetRef)
	return observehorizontal.WorkloadAutoscaler(wla)
}

// A WorkloadAutoscaler must not act while its target has an HPA or an older WorkloadAutoscaler. A change triggers
// decisions at once on the one that may act now, and on the one that may no longer.
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
	wantAffected(s.set(young), "young")
	wantRival(young, "")
	// The older one may be added later, as at a start.
	wantAffected(s.set(old), "old", "young")
	wantRival(young, "old")
	wantRival(old, "")
	wantAffected(s.set(same), "old")
	wantRival(same, "old")
	wantAffected(s.set(hpa), "old")
	for _, all := range []observehorizontal.Autoscaler{old, young, same} {
		wantRival(all, "hpa")
	}
	wantRival(scales(observe.WorkloadAutoscaler, "none", "web", 0), "")

	wantAffected(s.forget(hpa.Key()), "old")
	wantRival(old, "")
	// An HPA that changes to the target of another one affects both.
	wantAffected(s.set(scales(observe.HorizontalPodAutoscaler, "hpa", "api", 3)))
	wantRival(old, "")
	wantAffected(s.set(hpa), "old")
	wantAffected(s.set(scales(observe.HorizontalPodAutoscaler, "hpa", "api", 3)), "old")
	// A recreated one is the youngest.
	wantAffected(s.set(scales(observe.WorkloadAutoscaler, "old", "web", 9)), "same")
	wantRival(old, "same")
	wantRival(same, "")
	wantRival(young, "same")
	wantAffected(s.forget(same.Key()), "young")
	wantRival(young, "")
	wantAffected(s.forget(young.Key()), "old")
	wantAffected(s.forget(old.Key()))
	wantAffected(s.forget(old.Key()))
}

// TestThousandsOfOneTarget: adding or removing one triggers decisions on two others at most. With decisions on all, one
// namespace could occupy all workers.
func TestThousandsOfOneTarget(t *testing.T) {
	s := newScaledTargets()
	for i := range 10000 {
		one := scales(observe.WorkloadAutoscaler, fmt.Sprint(i*7919%10000), "web", int64(i*7919%10000))
		if affected := s.set(one); len(affected) > 2 {
			t.Fatalf("decided again because of one more: %d", len(affected))
		}
	}
	for i := range 10000 {
		one := scales(observe.WorkloadAutoscaler, fmt.Sprint(i), "web", 0)
		key := one.Key()
		if _, isThere := s.rivalOf(key); isThere {
			t.Fatalf("the first one, %d, has a rival", i)
		}
		if affected := s.forget(key); len(affected) > 2 {
			t.Fatalf("decided again because one has gone: %d", len(affected))
		}
	}
	if len(s.byKey) != 0 || len(s.byTarget) != 0 {
		t.Errorf("left: %d, %d", len(s.byKey), len(s.byTarget))
	}
}

// The API's clients accept a kind in lower case too, so both spellings name one target, in either autoscaler. The
// informer finds the target by both, and a change of its replica count triggers both.
func TestRivalsByAKindInLowerCase(t *testing.T) {
	for _, kind := range []observe.Kind{observe.HorizontalPodAutoscaler, observe.WorkloadAutoscaler} {
		for name, kinds := range map[string][2]string{
			"the other one": {"deployment", "Deployment"}, "this one": {"Deployment", "deployment"},
		} {
			s := newScaledTargets()
			other := scales(kind, "other", "web", 1)
			own := scales(observe.WorkloadAutoscaler, "own", "web", 2)
			own.Workload.Spec.ScaleTargetRef.Kind = kinds[1]
			if other.IsWorkload() {
				other.Workload.Spec.ScaleTargetRef.Kind = kinds[0]
			} else {
				other.HPA.Spec.ScaleTargetRef.Kind = kinds[0]
			}
			s.set(own)
			s.set(other)
			if rival, isThere := s.rivalOf(own.Key()); !isThere || rival != other.Key() {
				t.Errorf("%s in lower case, %s: the rival is %v", name, kind, rival)
			}
			id := targets.IDOf(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "shop", "web")
			if got := s.of(id); len(got) != 2 {
				t.Errorf("%s in lower case, %s: the target has the autoscalers %v", name, kind, got)
			}
		}
	}
}
