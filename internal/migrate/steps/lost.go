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
	replaced := map[string]bool{}
	if original.GetKind() == keda.Kind {
		if result, err := keda.FromScaledObject(original, keda.Options{IsNative: true}); err == nil {
			for i := range result.WorkloadAutoscaler.Spec.Metrics {
				replaced[server(&result.WorkloadAutoscaler.Spec.Metrics[i])] = true
			}
		}
	}
	var r convert.Result
	for i := range w.Spec.Metrics {
		m := &w.Spec.Metrics[i]
		at := fmt.Sprintf("spec.metrics[%d]", i)
		switch from := server(m); {
		case from == "" || replaced[from]:
		case original.GetKind() == keda.Kind:
			r.Lose(at, "the %s that is restored has no trigger for %s", keda.Kind, from)
		default:
			r.Lose(at, "%s: an HPA has no metric of type %s", from, m.Type)
		}
	}
	return r.Findings
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

// scaler returns what plimsoll-scalers reads. A ScaledObject may have several triggers of one type.
func scaler(s *plimsollv1alpha1.ScalerMetricSource) string {
	var words strings.Builder
	words.WriteString("KEDA's scaler " + s.Type)
	for _, key := range slices.Sorted(maps.Keys(s.Metadata)) {
		words.WriteString(" " + key + "=" + s.Metadata[key])
	}
	if to := s.AuthenticationRef; to != nil {
		words.WriteString(" with " + keda.Reference{Kind: string(to.Kind), Name: to.Name}.String())
	}
	return words.String()
}
