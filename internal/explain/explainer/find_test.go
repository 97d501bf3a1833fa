package explainer

import (
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// autoscaled returns a Deployment's pod, and lists of autoscalers with one of each kind for the Deployment.
func autoscaled() map[string]any {
	ref := func(kind string) map[string]any {
		return map[string]any{"apiVersion": "apps/v1", "kind": kind, "name": "web"}
	}
	list := func(version, kind, field string) map[string]any {
		item := func(name, of string) map[string]any {
			return map[string]any{"metadata": map[string]any{"namespace": "shop", "name": name}, "spec": map[string]any{field: ref(of)}}
		}
		return map[string]any{"apiVersion": version, "kind": kind + "List",
			"items": []any{item("web", "Deployment"), item("database", "StatefulSet")}}
	}
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-5d9-x", Labels: map[string]string{
		"pod-template-hash": "5d9"}, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-5d9", Controller: ptr.To(true)}}}}
	return map[string]any{
		"/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers": list("autoscaling/v2", "HorizontalPodAutoscaler",
			"scaleTargetRef"),
		"/apis/plimsoll.dev/v1alpha1/namespaces/shop/workloadautoscalers": list("plimsoll.dev/v1alpha1", "WorkloadAutoscaler",
			"scaleTargetRef"),
		"/apis/autoscaling.k8s.io/v1/namespaces/shop/verticalpodautoscalers": list("autoscaling.k8s.io/v1",
			"VerticalPodAutoscaler", "targetRef"),
		"/apis/apps/v1/namespaces/shop/deployments/api": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
			"metadata": map[string]any{"namespace": "shop", "name": "api"}},
		"/api/v1/namespaces/shop/pods": corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"},
			Items: []corev1.Pod{pod}},
	}
}

// TestFind: a workload or one of its pods leads to its autoscalers of both directions.
func TestFind(t *testing.T) {
	all := []string{"HorizontalPodAutoscaler web", "WorkloadAutoscaler web", "VerticalPodAutoscaler web"}
	for why, c := range map[string]struct {
		target  Target
		without string
		want    []string
		fails   string
	}{
		"a Deployment":         {Target{"deployment", "web"}, "", all, ""},
		"a pod of it":          {Target{Pod, "web-5d9-x"}, "", all, ""},
		"no VPA definition":    {Target{"deployment", "web"}, "verticalpodautoscalers", all[:2], ""},
		"no WLA definition":    {Target{Pod, "web-5d9-x"}, "workloadautoscalers", []string{all[0], all[2]}, ""},
		"no such Deployment":   {Target{"deployment", "nope"}, "", nil, `deployments.apps "nope" not found in namespace shop`},
		"nothing scales it":    {Target{"deployment", "api"}, "", nil, "no autoscaler in namespace shop has deployment/api as its target"},
		"there is no such pod": {Target{Pod, "web-5d9-y"}, "", nil, `pods "web-5d9-y" not found in namespace shop`},
	} {
		api := autoscaled()
		for path := range api {
			if c.without != "" && strings.HasSuffix(path, c.without) {
				delete(api, path)
			}
		}
		found, err := readerOf(t, api, nil).Find(t.Context(), "shop", c.target)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v, want %q", why, err, c.fails)
			}
			continue
		}
		var got []string
		for _, key := range found.Autoscalers {
			got = append(got, key.Kind.String()+" "+key.Name)
		}
		if err != nil || strings.Join(got, ", ") != strings.Join(c.want, ", ") {
			t.Errorf("%s: %v, %v, want %v", why, got, err, c.want)
		}
	}
}

// TestSuccessor: a deleted HPA has a successor if a WorkloadAutoscaler has its name, and the reverse.
func TestSuccessor(t *testing.T) {
	api := map[string]any{"/apis/plimsoll.dev/v1alpha1/namespaces/shop/workloadautoscalers/web": map[string]any{
		"apiVersion": "plimsoll.dev/v1alpha1", "kind": "WorkloadAutoscaler", "metadata": map[string]any{"namespace": "shop",
			"name": "web"}, "spec": map[string]any{"scaleTargetRef": autoscalingv2.CrossVersionObjectReference{Kind: "Deployment",
			Name: "web"}}}}
	if key, found := readerOf(t, api, nil).Successor(t.Context(), observe.HPA("shop", "web")); !found ||
		key.Kind != observe.WorkloadAutoscaler || key.Name != "web" {
		t.Errorf("%v %v", key, found)
	}
	back := map[string]any{"/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers/web": map[string]any{
		"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": map[string]any{"namespace": "shop",
			"name": "web"}}}
	if key, found := readerOf(t, back, nil).Successor(t.Context(), observe.WLA("shop", "web")); !found ||
		key != observe.HPA("shop", "web") {
		t.Errorf("%v %v, migrated back", key, found)
	}
	if key, found := readerOf(t, nil, nil).Successor(t.Context(), observe.HPA("shop", "web")); found {
		t.Errorf("%v, without one", key)
	}
}
