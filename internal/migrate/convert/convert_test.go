package convert

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
)

func drawTarget(t *rapid.T) autoscalingv2.MetricTarget {
	switch rapid.IntRange(0, 2).Draw(t, "target") {
	case 0:
		percent := rapid.Int32Range(1, 1000).Draw(t, "percent")
		return autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent}
	case 1:
		value := *resource.NewMilliQuantity(rapid.Int64Range(1, 1e9).Draw(t, "value"), resource.DecimalSI)
		return autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &value}
	}
	value := *resource.NewQuantity(rapid.Int64Range(1, 1<<40).Draw(t, "value"), resource.BinarySI)
	return autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: &value}
}

func drawMetric(t *rapid.T) autoscalingv2.MetricSpec {
	target := drawTarget(t)
	identifier := autoscalingv2.MetricIdentifier{Name: rapid.StringMatching(`[a-z_]{1,9}`).Draw(t, "metric")}
	if rapid.Bool().Draw(t, "selector") {
		identifier.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"queue": "orders"},
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "In", Values: []string{"b"}}}}
	}
	switch rapid.IntRange(0, 4).Draw(t, "type") {
	case 0:
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType,
			Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU, Target: target}}
	case 1:
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ContainerResourceMetricSourceType,
			ContainerResource: &autoscalingv2.ContainerResourceMetricSource{
				Name: corev1.ResourceMemory, Container: "app", Target: target}}
	case 2:
		return autoscalingv2.MetricSpec{Type: autoscalingv2.PodsMetricSourceType,
			Pods: &autoscalingv2.PodsMetricSource{Metric: identifier, Target: target}}
	case 3:
		return autoscalingv2.MetricSpec{Type: autoscalingv2.ObjectMetricSourceType,
			Object: &autoscalingv2.ObjectMetricSource{Metric: identifier, Target: target,
				DescribedObject: autoscalingv2.CrossVersionObjectReference{Kind: "Service", Name: "main", APIVersion: "v1"}}}
	}
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ExternalMetricSourceType,
		External: &autoscalingv2.ExternalMetricSource{Metric: identifier, Target: target}}
}

func drawRules(t *rapid.T) *autoscalingv2.HPAScalingRules {
	if rapid.Bool().Draw(t, "no rules") {
		return nil
	}
	r := &autoscalingv2.HPAScalingRules{}
	if rapid.Bool().Draw(t, "window") {
		window := rapid.Int32Range(0, 3600).Draw(t, "seconds")
		r.StabilizationWindowSeconds = &window
	}
	if rapid.Bool().Draw(t, "select") {
		policy := rapid.SampledFrom([]autoscalingv2.ScalingPolicySelect{"Max", "Min", "Disabled"}).Draw(t, "policy")
		r.SelectPolicy = &policy
	}
	if rapid.Bool().Draw(t, "tolerance") {
		tolerance := *resource.NewMilliQuantity(rapid.Int64Range(0, 1000).Draw(t, "tolerance"), resource.DecimalSI)
		r.Tolerance = &tolerance
	}
	for range rapid.IntRange(0, 2).Draw(t, "policies") {
		r.Policies = append(r.Policies, autoscalingv2.HPAScalingPolicy{
			Type:  rapid.SampledFrom([]autoscalingv2.HPAScalingPolicyType{"Pods", "Percent"}).Draw(t, "unit"),
			Value: rapid.Int32Range(1, 100).Draw(t, "value"), PeriodSeconds: rapid.Int32Range(1, 1800).Draw(t, "period"),
		})
	}
	return r
}

func drawHPA(t *rapid.T) *autoscalingv2.HorizontalPodAutoscaler {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Labels: map[string]string{"team": "checkout"},
			Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "{}", "note": "kept"}},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MaxReplicas: rapid.Int32Range(1, 100).Draw(t, "max"),
		},
	}
	if rapid.Bool().Draw(t, "has min") {
		least := rapid.Int32Range(0, 100).Draw(t, "min")
		hpa.Spec.MinReplicas = &least
	}
	for range rapid.IntRange(0, 4).Draw(t, "metrics") {
		hpa.Spec.Metrics = append(hpa.Spec.Metrics, drawMetric(t))
	}
	if rapid.Bool().Draw(t, "behavior") {
		hpa.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: drawRules(t), ScaleDown: drawRules(t)}
	}
	return hpa
}

func toUnstructured(t rapid.TB, hpa *autoscalingv2.HorizontalPodAutoscaler) *unstructured.Unstructured {
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(hpa)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: raw}
}

// The spec of any HPA means the same in a WorkloadAutoscaler, and migrating back restores the same HPA.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		hpa := drawHPA(rt)
		object := toUnstructured(rt, hpa)
		r, err := FromHPA(object)
		if err != nil || r.Losses() > 0 {
			rt.Fatalf("%v, %v", err, r)
		}
		if len(hpa.Spec.Metrics) == 0 {
			percent := int32(80)
			hpa.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{
					Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent}}}}
		}
		if err := r.Preview(object); err != nil {
			rt.Fatal(err)
		}
		w := r.WorkloadAutoscaler
		if w.Annotations["note"] != "kept" || w.Annotations[corev1.LastAppliedConfigAnnotation] != "" ||
			w.Labels["team"] != "checkout" || w.Name != "web" || w.Namespace != "shop" {
			rt.Errorf("%+v", w.ObjectMeta)
		}
		text, err := json.Marshal(w.Spec)
		if err != nil {
			rt.Fatal(err)
		}
		var pasted autoscalingv2.HorizontalPodAutoscalerSpec
		if err := json.Unmarshal(text, &pasted); err != nil {
			rt.Fatal(err)
		}
		if !equality.Semantic.DeepEqual(pasted, hpa.Spec) {
			rt.Errorf("spec: %s", cmp.Diff(hpa.Spec, pasted))
		}
		back, err := ToManifest(w)
		if err != nil || !equality.Semantic.DeepEqual(back.Object, Manifest(object).Object) {
			rt.Errorf("%v: %s", err, cmp.Diff(Manifest(object).Object, back.Object))
		}
	})
}

// A quantity that takes hours to parse is refused.
func TestRefusesQuantities(t *testing.T) {
	for _, text := range []string{"1e999999999", "1e-999999999"} {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
			"spec": map[string]any{"maxReplicas": int64(3), "metrics": []any{map[string]any{"type": "External",
				"external": map[string]any{"metric": map[string]any{"name": "jobs"},
					"target": map[string]any{"type": "Value", "value": text}}}}},
		}}
		if r, err := FromHPA(object); err == nil {
			t.Errorf("%s: %+v", text, r)
		}
	}
}

// The printed object has no field by which another object would be restored, or a tool would delete the
// WorkloadAutoscaler.
func TestNotCopied(t *testing.T) {
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Finalizers: []string{"example.com/mine"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "mine", UID: "1"}},
			Labels:          map[string]string{"app.kubernetes.io/instance": "web", "app.kubernetes.io/name": "web"},
			Annotations:     map[string]string{MigratedFrom: "{}", Migrating: Back, "note": "kept"}},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 3, ScaleTargetRef: autoscalingv2.
			CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}},
	}
	object := toUnstructured(t, hpa)
	r, err := FromHPA(object)
	if err != nil || len(r.Findings) != 3 || r.Losses() > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	want := metav1.ObjectMeta{Namespace: "shop", Name: "web",
		Labels: map[string]string{"app.kubernetes.io/name": "web"}, Annotations: map[string]string{"note": "kept"}}
	if d := cmp.Diff(want, r.WorkloadAutoscaler.ObjectMeta); d != "" {
		t.Error(d)
	}
	if m := Manifest(object); m.GetFinalizers() != nil || m.GetOwnerReferences() != nil {
		t.Errorf("%+v", m)
	}
}

// Migrating a target without a scale is reported. An HPA may name a kind in lower case.
func TestTargetsWithoutAScale(t *testing.T) {
	for target, isLost := range map[string]bool{
		"apps/v1 Deployment": false, "apps/v1 StatefulSet": false, "v1 ReplicationController": false,
		"argoproj.io/v1alpha1 Rollout":  false,
		"extensions/v1beta1 Deployment": true, "apps/v1 ReplicationController": true, "batch/v1 Job": true,
		"apps/v1 deployment": false, "apps/v1 dEployment": true, "apps/v1 DaemonSet": true, "apps/v1 daemonset": true,
	} {
		version, kind, _ := strings.Cut(target, " ")
		r, err := FromHPA(toUnstructured(t, &autoscalingv2.HorizontalPodAutoscaler{
			TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 3, ScaleTargetRef: autoscalingv2.
				CrossVersionObjectReference{APIVersion: version, Kind: kind, Name: "web"}},
		}))
		if err != nil || (r.Losses() > 0) != isLost {
			t.Errorf("%s: %+v, %v", target, r, err)
		}
	}
}

// Version v1 has no metrics and no behavior: the API server ignores them, so they are not migrated.
func TestFieldsOfV2InV1(t *testing.T) {
	hpa := toUnstructured(t, &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "HorizontalPodAutoscaler"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 3, Behavior: &autoscalingv2.
			HorizontalPodAutoscalerBehavior{}, Metrics: []autoscalingv2.MetricSpec{{
			Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: "memory"},
		}}, ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
			APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}},
	})
	r, err := FromHPA(hpa)
	if err != nil || r.Losses() != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if spec := r.WorkloadAutoscaler.Spec; spec.Behavior != nil || spec.Metrics[0].Resource.Name != "cpu" {
		t.Errorf("%+v", spec)
	}
}

// The error about a value of another type names its field.
func TestTypeErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{"maxReplicas":"5"}`: "spec.maxReplicas must be a whole number, and is the string \"5\"; write it without " +
			"quotes",
		`{"maxReplicas":5,"metrics":[{"type":"Resource"},{"type":"Resource","resource":{"name":true}}]}`: "spec.metrics[1]." +
			"resource.name must be a string, and is the boolean true; YAML reads on, off, yes, no, true and false without " +
			"quotes as booleans: put the text in quotes",
		`{"scaleTargetRef":["web"]}`: "spec.scaleTargetRef must be an object, and is a list",
		`["web"]`:                    "spec must be an object, and is a list",
		// The converter would truncate it.
		`{"maxReplicas":4294967298}`: "spec.maxReplicas is 4294967298, which is too large",
	} {
		var raw any
		if err := utiljson.Unmarshal([]byte(text), &raw); err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "spec": raw}}
		if _, err := FromHPA(object); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// Only an annotation with the manifest of the HPA of the same name restores one.
func TestForeignManifest(t *testing.T) {
	object := toUnstructured(t, &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 3,
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment"}},
	})
	r, err := FromHPA(object)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Preview(object); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{",
		`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"web","namespace":"shop"}}`,
		`{"apiVersion":"example.org/v1","kind":"ScaledObject","metadata":{"name":"web","namespace":"shop"}}`,
		fmt.Sprintf(`{"apiVersion":"autoscaling/v2","kind":%q,"metadata":{"name":"web"}}`, object.GetKind())} {
		r.WorkloadAutoscaler.Annotations[MigratedFrom] = text
		if hpa, err := ToManifest(r.WorkloadAutoscaler); err == nil {
			t.Errorf("%s: %v", text, hpa)
		}
	}
	delete(r.WorkloadAutoscaler.Annotations, MigratedFrom)
	if hpa, err := ToManifest(r.WorkloadAutoscaler); hpa != nil || err != nil {
		t.Errorf("%v, %v", hpa, err)
	}
}
