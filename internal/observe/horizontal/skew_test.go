package horizontal

import (
	"strings"
	"testing"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// A newer version's definition lets values pass that this version does not know. They are named, and the object is not
// acted on: none is taken for the default.
func TestValuesOfANewerVersion(t *testing.T) {
	cases := map[string]struct {
		change func(*plimsollv1alpha1.WorkloadAutoscalerSpec)
		want   string
	}{
		"a mode": {func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) { s.Mode = "Dreaming" }, `spec.mode: Unsupported value: "Dreaming"`},
		"a strategy of selection": {func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) {
			s.SelectionStrategy = "Everything"
		}, `spec.selectionStrategy: Unsupported value: "Everything"`},
		"a behavior of a fallback": {func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) {
			s.Metrics = []plimsollv1alpha1.MetricSpec{{Fallback: &plimsollv1alpha1.Fallback{Behavior: "Guess"}}}
		}, `spec.metrics[0].fallback.behavior: Unsupported value: "Guess"`},
		"a mode of the forecast": {func(s *plimsollv1alpha1.WorkloadAutoscalerSpec) {
			s.Forecast = &plimsollv1alpha1.Forecast{Mode: "Sometimes"}
		}, `spec.forecast.mode: Unsupported value: "Sometimes"`},
	}
	for name, tc := range cases {
		wla := &plimsollv1alpha1.WorkloadAutoscaler{}
		tc.change(&wla.Spec)
		_, refusal := PolicyOf(WorkloadAutoscaler(wla), DefaultOptions())
		if refusal.Reason != "InvalidSpec" || !strings.Contains(refusal.Message, tc.want) {
			t.Errorf("%s: %+v, want %s", name, refusal, tc.want)
		}
	}
	if _, refusal := PolicyOf(WorkloadAutoscaler(&plimsollv1alpha1.WorkloadAutoscaler{}), DefaultOptions()); refusal.Reason != "" {
		t.Errorf("without any of them: %+v", refusal)
	}
}
