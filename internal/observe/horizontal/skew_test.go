package horizontal

import (
	"strings"
	"testing"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// A newer version's definition accepts values that are unknown to this version. They are named, and the object is not
// acted on: no default replaces them.
func TestValuesOfANewerVersion(t *testing.T) {
	cases := map[string]refused{
		"a mode": {func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) { s.Mode = "Dreaming" }, `spec.mode: Unsupported value: "Dreaming"`},
		"a strategy of selection": {func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) {
			s.SelectionStrategy = "Everything"
		}, `spec.selectionStrategy: Unsupported value: "Everything"`},
		"a policy of a fallback": {func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) {
			s.Metrics = []plimsollv1alpha1.MetricSpec{{Fallback: &plimsollv1alpha1.Fallback{Policy: "Guess"}}}
		}, `spec.metrics[0].fallback.policy: Unsupported value: "Guess"`},
		"null values": {func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) {
			s.Metrics = []plimsollv1alpha1.MetricSpec{{Type: "Prometheus", Prometheus: &plimsollv1alpha1.PrometheusMetricSource{
				ServerAddress: "http://prometheus:9090", Query: "up", NullValues: "Last",
			}}}
		}, `nullValues: "Last" is neither Fail nor Zero`},
		"a delivery": {func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) {
			s.Metrics = []plimsollv1alpha1.MetricSpec{{Type: "ExternalScaler",
				ExternalScaler: &plimsollv1alpha1.ExternalScalerMetricSource{ScalerAddress: "scaler:9090", Delivery: "Post"}}}
		}, `delivery: "Post" is neither Poll nor Push`},
		"neither metrics nor schedules": {func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) {
			s.Metrics = []plimsollv1alpha1.MetricSpec{}
		}, `spec.metrics: Required value: there are no schedules either`},
		"a mode of the forecast": {func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) {
			s.Forecast = &plimsollv1alpha1.Forecast{Mode: "Sometimes"}
		}, `spec.forecast.mode: Unsupported value: "Sometimes"`},
	}
	refuses(t, cases)
	wla := &plimsollv1alpha1.WorkloadAutoscaler{}
	wla.Spec.Metrics = []plimsollv1alpha1.MetricSpec{{Name: "cpu", Type: plimsollv1alpha1.ResourceMetricSourceType}}
	if _, _, refusal := PolicyOf(WorkloadAutoscaler(wla), DefaultOptions()); refusal.Reason != "" {
		t.Errorf("without any of them: %+v", refusal)
	}
}

// A schedule that contradicts the object, or never starts, is refused by its field's name.
func TestSchedulesThatCannotBe(t *testing.T) {
	least, most, minute := int32(5), int32(4), int32(60)
	night := plimsollv1alpha1.Schedule{Name: "night", Start: "@daily", DurationSeconds: &minute, MaxReplicas: &most}
	cases := map[string]refused{
		"a maxReplicas below minReplicas": {func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) {
			s.MinReplicas, s.Schedules = &least, []plimsollv1alpha1.Schedule{night}
		}, `spec.schedules[0].maxReplicas: Invalid value: 4: must not be below the minReplicas of the object, 5`},
		"the 30th of February": {func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) {
			s.Schedules = []plimsollv1alpha1.Schedule{night}
			s.Schedules[0].Start = "0 0 30 2 *"
		}, `spec.schedules[0].start: Invalid value: "0 0 30 2 *": never comes`},
	}
	refuses(t, cases)
	wla := &plimsollv1alpha1.WorkloadAutoscaler{}
	wla.Spec.MinReplicas, wla.Spec.Schedules = &most, []plimsollv1alpha1.Schedule{night}
	if _, _, refusal := PolicyOf(WorkloadAutoscaler(wla), DefaultOptions()); refusal.Reason != "" {
		t.Errorf("a maxReplicas that equals minReplicas: %+v", refusal)
	}
}

// refused is a change of a spec, with the text of the refusal.
type refused struct {
	change func(*plimsollv1alpha1.WorkloadAutoscalerSpec)
	want   string
}

func refuses(t *testing.T, cases map[string]refused) {
	t.Helper()
	for name, tc := range cases {
		wla := &plimsollv1alpha1.WorkloadAutoscaler{}
		tc.change(&wla.Spec)
		_, _, refusal := PolicyOf(WorkloadAutoscaler(wla), DefaultOptions())
		if refusal.Reason != "InvalidSpec" || !strings.Contains(refusal.Message, tc.want) {
			t.Errorf("%s: %+v, want %s", name, refusal, tc.want)
		}
	}
}
