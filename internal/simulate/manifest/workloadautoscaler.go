package manifest

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// IsAutoscaler reports whether the object can be simulated.
func (o *Object) IsAutoscaler() bool {
	return o.Kind == HPAKind || o.Kind == plimsollv1alpha1.Kind
}

// Autoscaler is the object as the loop has it, with the API server's defaults as far as they
// matter here.
func (o *Object) Autoscaler() (observehorizontal.Autoscaler, error) {
	if o.Kind != plimsollv1alpha1.Kind {
		hpa, err := o.HPA()
		return observehorizontal.HPA(hpa), err
	}
	workload, err := o.decodeWorkload()
	if err != nil {
		return observehorizontal.Autoscaler{}, fmt.Errorf("%s: %s %s: %w", o.Where, o.Kind, o.Name, err)
	}
	a := observehorizontal.WorkloadAutoscaler(workload)
	if err := errors.Join(check(a.HorizontalPodAutoscaler, &workload.Spec), checkWorkload(&workload.Spec)); err != nil {
		return a, fmt.Errorf("%s: %s %s: %w", o.Where, o.Kind, o.Name, err)
	}
	return a, nil
}

func (o *Object) decodeWorkload() (*plimsollv1alpha1.WorkloadAutoscaler, error) {
	if version, _ := o.content["apiVersion"].(string); version != plimsollv1alpha1.SchemeGroupVersion.String() {
		return nil, fmt.Errorf("apiVersion %q, want %s", version, plimsollv1alpha1.SchemeGroupVersion)
	}
	workload := &plimsollv1alpha1.WorkloadAutoscaler{}
	if err := checkQuantities(o.content, workload); err != nil {
		return nil, err
	}
	text, err := yaml.Marshal(o.content)
	if err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict(text, workload); err != nil {
		return nil, err
	}
	if workload.Namespace == "" {
		workload.Namespace = corev1.NamespaceDefault
	}
	plimsollv1alpha1.SetDefaults(&workload.Spec)
	return workload, nil
}

// Bounds of the API.
const (
	leastDuration, longestDuration = 60, 366 * 24 * 60 * 60
	longestRamp                    = 24 * 60 * 60
)

// checkWorkload finds what an API server would refuse and what a simulation would stumble over.
func checkWorkload(spec *plimsollv1alpha1.WorkloadAutoscalerSpec) error {
	if len(spec.Metrics) == 0 && len(spec.Schedules) == 0 {
		return errors.New("spec.metrics is empty, and there is no schedule")
	}
	for i := range spec.Schedules {
		if err := checkSchedule(&spec.Schedules[i]); err != nil {
			return fmt.Errorf("spec.schedules[%d]%w", i, err)
		}
	}
	for i := range spec.Metrics {
		if err := checkOwn(&spec.Metrics[i]); err != nil {
			return fmt.Errorf("spec.metrics[%d]: %w", i, err)
		}
		f := spec.Metrics[i].Fallback
		if f != nil && f.FailureDurationSeconds != nil && *f.FailureDurationSeconds < 1 {
			return fmt.Errorf("spec.metrics[%d].fallback.failureDurationSeconds is %d, want at least 1", i,
				*f.FailureDurationSeconds)
		}
	}
	if n := spec.SyncPeriodSeconds; n != nil && (*n < 3 || *n > 3600) {
		return fmt.Errorf("spec.syncPeriodSeconds is %d, want 3 to 3600", *n)
	}
	return checkForecast(spec.Forecast)
}

func checkForecast(f *plimsollv1alpha1.Forecast) error {
	switch {
	case f == nil:
		return nil
	case f.WasteLimitPercent != nil && (*f.WasteLimitPercent < 0 || *f.WasteLimitPercent > 100):
		return fmt.Errorf("spec.forecast.wasteLimitPercent is %d, want 0 to 100", *f.WasteLimitPercent)
	case f.ShortageCostFactor != nil && (*f.ShortageCostFactor < 1 || *f.ShortageCostFactor > 1000):
		return fmt.Errorf("spec.forecast.shortageCostFactor is %d, want 1 to 1000", *f.ShortageCostFactor)
	}
	return nil
}

// isOwn reports whether the metric is of a type that Plimsoll reads itself.
func isOwn(m *plimsollv1alpha1.MetricSpec) bool {
	switch m.Type {
	case plimsollv1alpha1.PodEndpointMetricSourceType, plimsollv1alpha1.PrometheusMetricSourceType,
		plimsollv1alpha1.ExternalScalerMetricSourceType:
		return true
	}
	return false
}

// checkOwn checks that a metric that Plimsoll reads itself has a source, and its target. What it
// measures is checked when it is translated.
func checkOwn(m *plimsollv1alpha1.MetricSpec) error {
	t := sources.Target(m)
	isSource := map[plimsollv1alpha1.MetricSourceType]bool{
		plimsollv1alpha1.PodEndpointMetricSourceType:    m.PodEndpoint != nil,
		plimsollv1alpha1.PrometheusMetricSourceType:     m.Prometheus != nil,
		plimsollv1alpha1.ExternalScalerMetricSourceType: m.ExternalScaler != nil,
	}
	switch {
	case isOwn(m) && !isSource[m.Type]:
		return fmt.Errorf("type is %q, and there is no source of that type", m.Type)
	case t != nil && ((t.Value == nil) == (t.AverageValue == nil) || t.AverageUtilization != nil):
		return errors.New("its target must have either value or averageValue")
	}
	return nil
}

func checkSchedule(s *plimsollv1alpha1.Schedule) error {
	switch d := s.DurationSeconds; {
	case d != nil && (*d < leastDuration || *d > longestDuration):
		return fmt.Errorf(".durationSeconds is %d, want %d to %d", *d, leastDuration, longestDuration)
	case s.RampSeconds != nil && (*s.RampSeconds < 0 || *s.RampSeconds > longestRamp):
		return fmt.Errorf(".rampSeconds is %d, want 0 to %d", *s.RampSeconds, longestRamp)
	case s.MinReplicas == nil && s.MaxReplicas == nil:
		return errors.New(" has neither minReplicas nor maxReplicas")
	}
	return nil
}
