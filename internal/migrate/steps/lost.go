package steps

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/keda"
)

// Lost returns the metrics of a WorkloadAutoscaler that the replaced object does not have, of the types that only
// Plimsoll reads.
func Lost(w *plimsollv1alpha1.WorkloadAutoscaler, original *unstructured.Unstructured) []convert.Finding {
	replaced := triggersOf(original)
	var r convert.Result
	for i := range w.Spec.Metrics {
		m := &w.Spec.Metrics[i]
		at := fmt.Sprintf("spec.metrics[%d]", i)
		switch from := server(m); {
		case from == "" || replaced[key(m)]:
		case original.GetKind() == keda.Kind:
			r.Lose(at, "the %s that is restored has no trigger for %s", keda.Kind, from)
		default:
			r.Lose(at, "%s: an HPA has no metric of type %s", from, m.Type)
		}
	}
	return r.Findings
}

// triggersOf returns the keys of the metrics that the triggers of a ScaledObject may have become. A prometheus trigger
// becomes one of two types, which depends on credentials that are not read here.
func triggersOf(original *unstructured.Unstructured) map[string]bool {
	keys := map[string]bool{}
	if original.GetKind() != keda.Kind {
		return keys
	}
	for _, isWithoutCredentials := range []bool{false, true} {
		result, err := keda.FromScaledObject(original, keda.Options{
			IsNative: true, IsFromFiles: true, IsWithoutCredentials: isWithoutCredentials,
		})
		if err != nil {
			continue
		}
		for i := range result.WorkloadAutoscaler.Spec.Metrics {
			keys[key(&result.WorkloadAutoscaler.Spec.Metrics[i])] = true
		}
	}
	return keys
}

// key identifies what a metric reads.
func key(m *plimsollv1alpha1.MetricSpec) string {
	if m.Scaler == nil {
		return server(m)
	}
	var words strings.Builder
	words.WriteString(server(m))
	for _, key := range slices.Sorted(maps.Keys(m.Scaler.Metadata)) {
		fmt.Fprintf(&words, " %q=%q", key, m.Scaler.Metadata[key])
	}
	return words.String()
}

// server returns the server that Plimsoll calls for a metric; empty if the metric comes from elsewhere.
func server(m *plimsollv1alpha1.MetricSpec) string {
	switch {
	case m.PodEndpoint != nil:
		return fmt.Sprintf("%s of the pods' port %s", m.PodEndpoint.Metric.Name, m.PodEndpoint.Port.String())
	case m.Prometheus != nil:
		return fmt.Sprintf("the query %s to %s", m.Prometheus.Query, m.Prometheus.ServerAddress)
	case m.ExternalScaler != nil:
		return "the scaler " + m.ExternalScaler.ScalerAddress
	case m.Scaler != nil:
		return scaler(m.Scaler)
	}
	return ""
}

// scaler describes what plimsoll-scalers reads, without the metadata, which may have credentials.
func scaler(s *plimsollv1alpha1.ScalerMetricSource) string {
	text := "KEDA's scaler " + s.Type
	if to := s.AuthenticationRef; to != nil {
		text += " with " + keda.Reference{Kind: string(to.Kind), Name: to.Name}.String()
	}
	return text
}
