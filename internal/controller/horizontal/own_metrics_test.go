package horizontal

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// TestOwnMetricsAreNotAvailable: a metric that nothing reads says so, and neither raises nor lowers the replica count.
func TestOwnMetricsAreNotAvailable(t *testing.T) {
	target := plimsollv1alpha1.MetricTarget{Type: "AverageValue", AverageValue: ptr.To(resource.MustParse("10"))}
	for name, m := range map[string]plimsollv1alpha1.MetricSpec{
		"PodEndpoint": {PodEndpoint: &plimsollv1alpha1.PodEndpointMetricSource{
			Port: intstr.FromString("http"), As: "Rate", Metric: plimsollv1alpha1.MetricIdentifier{Name: "hits"}, Target: target,
		}},
		"Prometheus": {Prometheus: &plimsollv1alpha1.PrometheusMetricSource{
			ServerAddress: "http://prometheus:9090", Query: "sum(up)", Target: target,
		}},
		"ExternalScaler": {ExternalScaler: &plimsollv1alpha1.ExternalScalerMetricSource{ScalerAddress: "scaler:9090"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				api := w.workloads()
				object := workloadOf(externally(w.web("web", 2)))
				m.Type = plimsollv1alpha1.MetricSourceType(name)
				object.Spec.Metrics = []plimsollv1alpha1.MetricSpec{m}
				plimsollv1alpha1.SetDefaults(&object.Spec)
				api.put(object)
				w.start(api.serve, rarely)
				w.pass(30 * period)
				w.wantReplicas("web", 2, "nothing is known of the load")
				got := workloadCondition(api.get("web"), "ScalingActive")
				if got.Status != metav1.ConditionFalse || got.Reason != "FailedGet"+name+"Metric" ||
					!strings.Contains(got.Message, "metrics of type "+name+" are not available in this version of Plimsoll") {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}
