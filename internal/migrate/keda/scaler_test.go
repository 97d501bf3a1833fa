package keda

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
)

const headOfWorker = "metadata: {name: worker, namespace: shop}\nspec:\n"

func native(t *testing.T, manifest string, options Options) *convert.Result {
	t.Helper()
	options.IsNative = true
	r, err := FromScaledObject(scaledObject(t, headOfWorker+manifest), options)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func hasFinding(r *convert.Result, field, message string, isLost bool) bool {
	return slices.ContainsFunc(r.Findings, func(f convert.Finding) bool {
		return f.Field == field && f.IsLost == isLost && strings.Contains(f.Message, message)
	})
}

// What a metric of type Prometheus lacks is read by KEDA's scaler; what neither has is lost.
func TestTypesOfNativeMetrics(t *testing.T) {
	const prometheus, scaler = plimsollv1alpha1.PrometheusMetricSourceType, plimsollv1alpha1.ScalerMetricSourceType
	keys := make([]string, 65)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%d: v", i)
	}
	for name, c := range map[string]struct {
		trigger string
		want    plimsollv1alpha1.MetricSourceType
		isLost  bool
	}{
		"a user in the address": {`prometheus, metadata: {serverAddress: "http://a:b@p", query: up, threshold: "1"}`,
			scaler, false},
		"a query in the address": {`prometheus, metadata: {serverAddress: "http://p/?x=y", query: up, threshold: "1"}`,
			scaler, false},
		"no address": {`prometheus, metadata: {serverAddress: "p:9090", query: up, threshold: "1"}`, "", true},
		"the longest query, of two bytes each": {fmt.Sprintf(
			`prometheus, metadata: {serverAddress: "http://p", query: %q, threshold: "1"}`, strings.Repeat("é", 4096)),
			prometheus, false},
		"a longer query": {fmt.Sprintf(
			`prometheus, metadata: {serverAddress: "http://p", query: %q, threshold: "1"}`, strings.Repeat("é", 4097)),
			"", true},
		"unknown credentials": {`prometheus, authenticationRef: {name: a}, metadata: {serverAddress: "http://p", query: up, ` +
			`threshold: "1"}`, scaler, false},
		"a type that KEDA lacks": {"ruby, metadata: {a: b}", "", true},
		"a long value":           {fmt.Sprintf("redis, metadata: {a: %q}", strings.Repeat("x", 4097)), scaler, true},
		"a long key":             {fmt.Sprintf("redis, metadata: {%s: a}", strings.Repeat("x", 254)), scaler, true},
		"too many keys":          {fmt.Sprintf("redis, metadata: {%s}", strings.Join(keys, ", ")), scaler, true},
	} {
		r := native(t, "  scaleTargetRef: {name: worker}\n  triggers: [{type: "+c.trigger+"}]", Options{IsFromFiles: true})
		var got plimsollv1alpha1.MetricSourceType
		if metrics := r.WorkloadAutoscaler.Spec.Metrics; len(metrics) > 0 {
			got = metrics[0].Type
		}
		if got != c.want || r.Losses() > 0 != c.isLost {
			t.Errorf("%s: %q, %+v", name, got, r.Findings)
		}
	}
}

// plimsoll-scalers has another namespace, another pod identity and another container than KEDA's operator.
func TestNotesOfScalers(t *testing.T) {
	const (
		at        = "spec.triggers[0].authenticationRef"
		container = "spec.scaleTargetRef.envSourceContainerName"
		secrets   = "in the namespace of plimsoll-scalers"
		identity  = "give the pod identity to plimsoll-scalers"
	)
	manifest := func(trigger string) string {
		return "  scaleTargetRef: {name: worker, envSourceContainerName: app}\n  triggers: [{type: redis, " + trigger + "}]"
	}
	object := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	}
	cluster := Reference{Kind: ClusterAuthenticationKind, Name: "a"}
	ofCluster := manifest("authenticationRef: {kind: ClusterTriggerAuthentication, name: a}, metadata: {listName: b}")
	for name, c := range map[string]struct {
		manifest                   string
		spec                       map[string]any
		isSecret, isPod, isEnvLost bool
	}{
		"unknown":          {ofCluster, nil, true, false, false},
		"a Secret":         {ofCluster, map[string]any{"secretTargetRef": []any{}}, true, false, false},
		"pod identity":     {ofCluster, map[string]any{"podIdentity": map[string]any{"provider": "aws"}}, false, true, false},
		"no identity":      {ofCluster, map[string]any{"podIdentity": map[string]any{"provider": "none"}}, false, false, false},
		"of the namespace": {manifest("authenticationRef: {name: a}, metadata: {listName: b}"), nil, false, false, false},
		"environment":      {manifest("metadata: {passwordFromEnv: A}"), nil, false, false, true},
	} {
		options := Options{Authentications: map[Reference]*unstructured.Unstructured{}}
		if c.spec != nil {
			options.Authentications[cluster] = object(c.spec)
		}
		r := native(t, c.manifest, options)
		if hasFinding(r, at, secrets, false) != c.isSecret || hasFinding(r, at, identity, false) != c.isPod ||
			hasFinding(r, container, "the first container", true) != c.isEnvLost || hasFinding(r, container, "", false) {
			t.Errorf("%s: %+v", name, r.Findings)
		}
		if m := r.WorkloadAutoscaler.Spec.Metrics[0].Scaler; m.TimeoutSeconds == nil || *m.TimeoutSeconds != 30 {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

// Some scalers choose the type of their target themselves.
func TestTargetsOfScalers(t *testing.T) {
	value := resource.MustParse("5")
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	hpa.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ExternalMetricSourceType,
		External: &autoscalingv2.ExternalMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: "s0-a"},
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.ValueMetricType, Value: &value}}}}
	for name, c := range map[string]struct {
		trigger string
		hpa     *autoscalingv2.HorizontalPodAutoscaler
		isValue bool
	}{
		"splunk-observability":      {"splunk-observability, metadata: {a: b}", nil, true},
		"redis":                     {"redis, metadata: {a: b}", nil, false},
		"redis with a type":         {"redis, metricType: Value, metadata: {a: b}", nil, true},
		"what KEDA's HPA has":       {"datadog, metadata: {a: b}", hpa, true},
		"what KEDA does not follow": {"datadog, metadata: {type: global}", nil, false},
	} {
		r := native(t, "  scaleTargetRef: {name: worker}\n  triggers: [{type: "+c.trigger+
			"}]\nstatus: {externalMetricNames: [s0-a]}", Options{HPA: c.hpa})
		target := r.WorkloadAutoscaler.Spec.Metrics[0].Scaler.Target
		isValue := target != nil && target.Type == plimsollv1alpha1.ValueMetricType
		isNoted := hasFinding(r, "spec.triggers[0].metadata.type", "ignores it", false)
		if isValue != c.isValue || isNoted != strings.Contains(c.trigger, "global") {
			t.Errorf("%s: %+v, %+v", name, target, r.Findings)
		}
	}
}
