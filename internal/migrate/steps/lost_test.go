package steps

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/keda"
)

// Migrating back reports the metrics that no other kind supports.
func TestLost(t *testing.T) {
	w := &plimsollv1alpha1.WorkloadAutoscaler{}
	w.Spec.Metrics = []plimsollv1alpha1.MetricSpec{
		{Type: plimsollv1alpha1.ResourceMetricSourceType, Resource: &plimsollv1alpha1.ResourceMetricSource{Name: "cpu"}},
		{Type: plimsollv1alpha1.PodEndpointMetricSourceType, PodEndpoint: &plimsollv1alpha1.PodEndpointMetricSource{
			Port: intstr.FromString("web"), Metric: plimsollv1alpha1.SeriesIdentifier{Name: "requests_total"}}},
		{Type: plimsollv1alpha1.PrometheusMetricSourceType, Prometheus: &plimsollv1alpha1.PrometheusMetricSource{
			ServerAddress: "http://prometheus:9090", Query: "jobs"}},
		{Type: plimsollv1alpha1.ExternalScalerMetricSourceType, ExternalScaler: &plimsollv1alpha1.ExternalScalerMetricSource{
			ScalerAddress: "scaler:6000"}},
	}
	scaled := func(triggers ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": keda.APIVersion, "kind": keda.Kind,
			"spec": map[string]any{"scaleTargetRef": map[string]any{"name": "web"}, "triggers": triggers}}}
	}
	trigger := func(kind string, metadata map[string]any) any {
		return map[string]any{"type": kind, "metadata": metadata}
	}
	hpa := &unstructured.Unstructured{Object: map[string]any{"kind": "HorizontalPodAutoscaler"}}
	for name, c := range map[string]struct {
		original *unstructured.Unstructured
		want     []string
	}{
		"an HPA":           {hpa, []string{"spec.metrics[1]", "spec.metrics[2]", "spec.metrics[3]"}},
		"no such triggers": {scaled(), []string{"spec.metrics[1]", "spec.metrics[2]", "spec.metrics[3]"}},
		"some of the three": {scaled(trigger("external", map[string]any{"scalerAddress": "scaler:6000"})),
			[]string{"spec.metrics[1]", "spec.metrics[2]"}},
		"another query": {scaled(trigger("prometheus",
			map[string]any{"serverAddress": "http://prometheus:9090", "query": "mails", "threshold": "1"}),
			trigger("external-push", map[string]any{"scalerAddress": "scaler:6000"})),
			[]string{"spec.metrics[1]", "spec.metrics[2]"}},
		"with credentials": {scaled(map[string]any{"type": "prometheus", "authenticationRef": map[string]any{"name": "a"},
			"metadata": map[string]any{"serverAddress": "http://prometheus:9090", "query": "jobs", "threshold": "1",
				"authModes": "bearer"}}), []string{"spec.metrics[1]", "spec.metrics[3]"}},
		"both": {scaled(trigger("prometheus",
			map[string]any{"serverAddress": "http://prometheus:9090", "query": "jobs", "threshold": "1"}),
			trigger("external", map[string]any{"scalerAddress": "scaler:6000"})), []string{"spec.metrics[1]"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range Lost(w, c.original) {
				if !f.IsLost || f.Message == "" {
					t.Errorf("%+v", f)
				}
				got = append(got, f.Field)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Two triggers of one type differ in their metadata and credentials.
func TestLostScalers(t *testing.T) {
	redis := func(list, credentials string) plimsollv1alpha1.MetricSpec {
		return plimsollv1alpha1.MetricSpec{Type: plimsollv1alpha1.ScalerMetricSourceType,
			Scaler: &plimsollv1alpha1.ScalerMetricSource{
				Type: "redis", Metadata: map[string]string{"listName": list, "address": "redis:6379"},
				AuthenticationRef: &plimsollv1alpha1.TriggerAuthenticationReference{
					Name: credentials, Kind: plimsollv1alpha1.NamespacedTriggerAuthentication}}}
	}
	w := &plimsollv1alpha1.WorkloadAutoscaler{}
	w.Spec.Metrics = []plimsollv1alpha1.MetricSpec{redis("orders", "a"), redis("returns", "a"), redis("orders", "b")}
	original := &unstructured.Unstructured{Object: map[string]any{"apiVersion": keda.APIVersion, "kind": keda.Kind,
		"spec": map[string]any{"scaleTargetRef": map[string]any{"name": "web"}, "triggers": []any{map[string]any{
			"type": "redis", "authenticationRef": map[string]any{"name": "a"},
			"metadata": map[string]any{"listName": "orders", "address": "redis:6379"}}}}}}
	var got []string
	for _, f := range Lost(w, original) {
		got = append(got, f.Message)
	}
	const head = "the ScaledObject that is restored has no trigger for KEDA's scaler redis with TriggerAuthentication "
	if want := []string{head + "a", head + "b"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// An HPA that cannot read its metric may be replaced by a WorkloadAutoscaler that cannot either. At zero replicas no
// metric is read, so that its state is unknown.
func TestUnreadMetrics(t *testing.T) {
	w := &plimsollv1alpha1.WorkloadAutoscaler{}
	w.Status.ObservedGeneration = ptr.To[int64](0)
	w.Status.Conditions = []metav1.Condition{
		{Type: "AbleToScale", Status: metav1.ConditionTrue, Reason: anotherAutoscaler}}
	w.Status.Metrics = []plimsollv1alpha1.MetricStatus{
		{Name: "jobs", Failure: &plimsollv1alpha1.MetricFailure{Message: "no such server"}}}
	for reason, isProblem := range map[string]bool{
		"": true, scalingDisabled: true, "FailedGetExternalMetric": false,
	} {
		hpa := testHPA(10)
		if reason != "" {
			hpa.Object["status"] = map[string]any{"conditions": []any{
				map[string]any{"type": "AbleToScale", "status": "True"},
				map[string]any{"type": scalingActive, "status": "False", "reason": reason}}}
		}
		if why := problem(hpa, w); (why != "") != isProblem {
			t.Errorf("HPA with %q: %q", reason, why)
		}
	}
}
