package targets

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

var (
	meta = metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: "u", ResourceVersion: "7", Annotations: map[string]string{"a": "b"},
	}
	app = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	yes = true
)

// transformed expects the informer to find the result under the same key, and a second transform to change nothing.
func transformed(t *testing.T, object any) any {
	t.Helper()
	got, err := toScale(object)
	if err != nil {
		t.Fatal(err)
	}
	if key, err := cache.MetaNamespaceKeyFunc(got); err != nil || key != "shop/web" {
		t.Errorf("key %q, %v", key, err)
	}
	if again, err := toScale(got); err != nil || !cmp.Equal(got, again, cmp.AllowUnexported(owned{})) {
		t.Errorf("twice: %+v, %v", again, err)
	}
	return got
}

func TestTargetsBecomeTheirScales(t *testing.T) {
	three := int32(3)
	want := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", ResourceVersion: "7"},
		Spec:       autoscalingv1.ScaleSpec{Replicas: 3}, Status: autoscalingv1.ScaleStatus{Replicas: 2, Selector: "app=web"},
	}
	for name, object := range map[string]any{
		"deployment": &appsv1.Deployment{
			ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: &three, Selector: app},
			Status: appsv1.DeploymentStatus{Replicas: 2},
		},
		"stateful set": &appsv1.StatefulSet{
			ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: &three, Selector: app},
			Status: appsv1.StatefulSetStatus{Replicas: 2},
		},
		"replica set": &appsv1.ReplicaSet{
			ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Replicas: &three, Selector: app},
			Status: appsv1.ReplicaSetStatus{Replicas: 2},
		},
	} {
		if diff := cmp.Diff(want, transformed(t, object)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestObjectsWithoutScale(t *testing.T) {
	wrong := &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Like"}}},
	}}
	if got, ok := transformed(t, wrong).(*appsv1.Deployment); !ok || got.Annotations != nil {
		t.Errorf("a selector that is none: %+v", got)
	}
	set := &appsv1.ReplicaSet{ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: app}}
	set.OwnerReferences = []metav1.OwnerReference{{Kind: "Deployment", Name: "web", Controller: &yes}}
	got, ok := transformed(t, set).(*owned)
	if !ok || got.GetObjectMeta().GetResourceVersion() != "7" {
		t.Errorf("owned by a deployment: %+v", got)
	}
}
