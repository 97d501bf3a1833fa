package updater

import (
	"context"
	"testing"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// An older object in mode Initial is the one that admission uses: the younger one evicts nothing.
func TestUpdaterTakesWhatAdmissionTakes(t *testing.T) {
	for want, set := range map[int]divergence.Set{0: allAtOnce, 2: allAtOnce &^ divergence.OneObject} {
		r := newRig(t, func(c *Config) { c.Defaults.Divergences = set }, "web")
		older := autoscaler("web")
		older.Name, older.UID, older.CreationTimestamp = "older", "older", metav1.NewTime(time.Unix(1000, 0))
		older.Spec.UpdatePolicy.UpdateMode = ptr.To(vpav1.UpdateModeInitial)
		younger := autoscaler("web")
		younger.CreationTimestamp = metav1.NewTime(time.Unix(2000, 0))
		for _, vpa := range []*vpav1.VerticalPodAutoscaler{&older, &younger} {
			if err := r.cfg.Autoscalers.GetStore().Add(vpa); err != nil {
				t.Fatal(err)
			}
		}
		r.passOnce()
		if len(r.evicted) != want {
			t.Errorf("%s: evicted %v, want %d", set, r.evicted, want)
		}
	}
}

// An older object for a workload of another group with the same kind and name does not apply to this workload.
func TestObjectOfAnotherGroup(t *testing.T) {
	r := newRig(t, nil, "web")
	other := autoscaler("web")
	other.Name, other.UID, other.CreationTimestamp = "other", "other", metav1.NewTime(time.Unix(1000, 0))
	other.Spec.UpdatePolicy.UpdateMode = ptr.To(vpav1.UpdateModeInitial)
	other.Spec.TargetRef = &autoscalingv1.CrossVersionObjectReference{
		APIVersion: "example.com/v1", Kind: other.Spec.TargetRef.Kind, Name: other.Spec.TargetRef.Name,
	}
	younger := autoscaler("web")
	younger.CreationTimestamp = metav1.NewTime(time.Unix(2000, 0))
	for _, vpa := range []*vpav1.VerticalPodAutoscaler{&other, &younger} {
		if err := r.cfg.Autoscalers.GetStore().Add(vpa); err != nil {
			t.Fatal(err)
		}
	}
	if r.passOnce(); len(r.evicted) != 2 {
		t.Errorf("evicted %v, want 2", r.evicted)
	}
}

// The Lease lists the namespaces that admission ignores: nothing in them is evicted.
func TestNamespacesThatAdmissionIgnores(t *testing.T) {
	for why, c := range map[string]struct {
		annotation, value string
		set               divergence.Set
		want              int
	}{
		"its own, and others": {observevertical.AnnotationIgnoredNamespaces, "plimsoll-system," + namespace, allAtOnce,
			0},
		"others":                  {observevertical.AnnotationIgnoredNamespaces, "plimsoll-system", allAtOnce, 2},
		"all but another":         {observevertical.AnnotationOnlyNamespace, "another", allAtOnce, 0},
		"all but this":            {observevertical.AnnotationOnlyNamespace, namespace, allAtOnce, 2},
		"upstream's says nothing": {"", "", allAtOnce, 2},
		"upstream does not ask": {observevertical.AnnotationIgnoredNamespaces, namespace, allAtOnce &^ divergence.OneObject,
			2},
	} {
		r := newRig(t, func(cfg *Config) { cfg.Defaults.Divergences = c.set }, "web")
		r.changeLease(func(l *coordinationv1.Lease) { l.Annotations = map[string]string{c.annotation: c.value} })
		if r.passOnce(); len(r.evicted) != c.want {
			t.Errorf("%s: evicted %v, want %d", why, r.evicted, c.want)
		}
	}
}

func (r *rig) changeLease(change func(*coordinationv1.Lease)) {
	r.t.Helper()
	leases := r.client.CoordinationV1().Leases("kube-system")
	lease, err := leases.Get(context.Background(), "lease", metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	change(lease)
	if _, err := leases.Update(context.Background(), lease, metav1.UpdateOptions{}); err != nil {
		r.t.Fatal(err)
	}
}
