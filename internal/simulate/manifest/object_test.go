package manifest

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/simulate"
)

// TestFromValue: objects of a cluster, with their status and all, are read as those of a file are.
func TestFromValue(t *testing.T) {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: HPAKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u", Generation: 3},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web"}, MaxReplicas: 9,
		},
		Status: autoscalingv2.HorizontalPodAutoscalerStatus{DesiredReplicas: 3},
	}
	o, err := FromValue("the cluster", hpa)
	if err != nil {
		t.Fatal(err)
	}
	a, err := o.Autoscaler()
	if err != nil || !o.IsAutoscaler() || a.MaxReplicas() != 9 || a.Name != "web" {
		t.Errorf("%+v, %v", a, err)
	}
	deployment := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "app", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("350m"),
			}},
		}}}}},
		Status: appsv1.DeploymentStatus{Replicas: 3},
	}
	if o, err = FromValue("the cluster", deployment); err != nil {
		t.Fatal(err)
	}
	w := simulate.DefaultWorkload()
	if err := o.Fill(&w); err != nil || w.CPURequestMilli != 350 || w.Name != "Deployment web" {
		t.Errorf("%+v, %v", w, err)
	}
	for name, value := range map[string]any{
		"without a kind": &corev1.Pod{}, "none": nil, "no JSON": func() {}, "a text": "pod",
		"a list": &corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "List"}},
	} {
		if _, err := FromValue("the cluster", value); err == nil {
			t.Errorf("%s is an object", name)
		}
	}
}
