package slim

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var meta = metav1.ObjectMeta{
	Namespace: "shop", Name: "web", UID: "u", ResourceVersion: "7", Annotations: map[string]string{"a": "b"},
}

// A lister asserts that its cache holds its type.
func TestTransformKeepsTypes(t *testing.T) {
	for _, object := range []metav1.Object{
		&corev1.Pod{}, &corev1.Node{}, &corev1.LimitRange{}, &corev1.ResourceQuota{}, &corev1.ReplicationController{},
		&appsv1.Deployment{}, &appsv1.StatefulSet{}, &appsv1.ReplicaSet{}, &appsv1.DaemonSet{}, &batchv1.Job{},
		&batchv1.CronJob{}, &autoscalingv2.HorizontalPodAutoscaler{},
	} {
		object.SetNamespace("shop")
		object.SetName("web")
		object.SetResourceVersion("7")
		got, err := Transform(object)
		if err != nil || reflect.TypeOf(got) != reflect.TypeOf(object) {
			t.Errorf("%T: %T, %v", object, got, err)
			continue
		}
		if o := got.(metav1.Object); o.GetNamespace() != "shop" || o.GetName() != "web" || o.GetResourceVersion() != "7" {
			t.Errorf("%T: %s/%s of version %s", object, o.GetNamespace(), o.GetName(), o.GetResourceVersion())
		}
	}
}

// No field may be missing where status is written: everything stays but the names of the fields in managedFields.
func TestAutoscalersKeepTheirMetadata(t *testing.T) {
	at := metav1.NewTime(time.Unix(1_790_000_000, 0))
	whole := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: *meta.DeepCopy(), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 9},
	}
	whole.ManagedFields = []metav1.ManagedFieldsEntry{
		{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationApply, Time: &at, FieldsV1: metav1.NewFieldsV1("{}")},
	}
	want := whole.DeepCopy()
	want.ManagedFields[0].FieldsV1 = nil
	got, err := Transform(whole)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s\n%v", diff, err)
	}
	if whole.ManagedFields[0].FieldsV1 == nil {
		t.Error("the object that came in was changed")
	}
}
